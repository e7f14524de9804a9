package config

import (
	"math"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/limit"
)

// Limit is one limit of a key, a team or a model: exactly one of Requests, Tokens, Concurrency and USD.
type Limit struct {
	// Requests is how many answers models may be asked for in Per; each round of a request that runs
	// tools counts.
	Requests int `yaml:"requests" omit:"true" eg:"60" min:"1" max:"1000000000" doc:"How many answers models may be asked for in the time per; each round of a request that runs tools counts."`
	// Tokens is how many tokens may be used in Per, in and out: a rate, or a budget where Per is a window.
	Tokens int `yaml:"tokens" omit:"true" eg:"100000" min:"1" max:"2000000000" doc:"How many tokens may be used, in and out: in the time per, or, where that is day, week, month or total, as a budget."`
	// Concurrency is how many requests may run at a time.
	Concurrency int `yaml:"concurrency" omit:"true" eg:"4" min:"1" max:"1000000" doc:"How many requests may run at a time."`
	// USD is a budget in US dollars for the window Per. The prices of all models that it may be spent on
	// must be known.
	USD float64 `yaml:"usd" omit:"true" eg:"10" min:"0.000001" max:"4500000" doc:"Budget in US dollars for the window per: day, week, month or total. The prices of all models that it may be spent on must be known (prices, assume_price)."`
	// Per is a time such as 1m of Requests and Tokens, 1s to 744h, or the window of a budget: day, week,
	// month or total, in UTC.
	Per string `yaml:"per" omit:"true" eg:"1m" doc:"Time of requests and tokens, 1s to 744h; or the window of a budget of tokens or usd, in UTC: day, week (from Monday on), month, or total, which never ends."`
	// Burst is how many may come at once. Default: all of Requests or Tokens.
	Burst int `yaml:"burst" omit:"true" eg:"10" min:"1" max:"2000000000" doc:"How many of requests or tokens may come at once. Default: all of them."`
	// Models are patterns of the models that alone count. Default: all.
	Models []string `yaml:"models" omit:"true" eg:"[gpt-*]" doc:"Models that alone count, together, by the names that clients use, with * for any text. Default: all."`
	// OnExceed says what becomes of an answer that comes while a budget ends: "finish" (the default) or
	// "cut", which ends it as if its model had no more tokens.
	OnExceed string `yaml:"on_exceed" omit:"true" enum:"finish,cut" eg:"cut" doc:"What becomes of a stream that outgrows a budget: finish lets it come to its end, cut ends it with finish_reason length. Default: finish."`
	// RedisAway says what holds while the Redis is away: "local_share" is what is left, divided by the number of gateways,
	// "closed" refuses, "open" does not limit. Default: local_share, but closed for budgets behind 30 s.
	RedisAway string `yaml:"redis_away" omit:"true" enum:"local_share,closed,open" eg:"closed" doc:"What holds while the Redis is away: local_share is what is left, divided by the number of gateways; closed refuses; open does not limit. Default: local_share; for budgets closed once 30s have passed."`
}

// AssumedPrice is what models without a price are taken to cost.
type AssumedPrice struct {
	// Input is the price of prompts, in US dollars for a million tokens, as Output.
	Input float64 `yaml:"input" eg:"5" min:"0.000001" max:"1000000" doc:"US dollars for a million tokens of input."`
	// Output is that of answers.
	Output float64 `yaml:"output" eg:"15" min:"0.000001" max:"1000000" doc:"US dollars for a million tokens of output."`
}

// IsZero reports whether nothing is assumed.
func (a AssumedPrice) IsZero() bool { return a == AssumedPrice{} }

var (
	aways   = map[string]limit.Policy{"": limit.ByKind, "local_share": limit.LocalShare, "closed": limit.Closed, "open": limit.Open}
	windows = []limit.Window{limit.Day, limit.Week, limit.Month, limit.Total}
)

// Of is the limit for a scope.
func (l *Limit) Of(s limit.Scope) limit.Limit {
	out := limit.Limit{Scope: s, Burst: int64(l.Burst), Away: aways[l.RedisAway], Cut: l.OnExceed == "cut"}
	if w := limit.Window(l.Per); slices.Contains(windows, w) {
		out.Window = w
	} else {
		d, _ := time.ParseDuration(l.Per)
		out.Per = d
	}
	switch {
	case l.Requests > 0:
		out.Kind, out.Max = limit.Requests, int64(l.Requests)
	case l.Concurrency > 0:
		out.Kind, out.Max = limit.Concurrency, int64(l.Concurrency)
	case l.USD > 0:
		out.Kind, out.Max = limit.Money, int64(math.Round(l.USD*limit.USD))
	default:
		out.Kind, out.Max = limit.Tokens, int64(l.Tokens)
		if out.Window != "" {
			out.Kind = limit.Quota
		}
	}
	return out
}

// checkLimits checks all limits.
func (c *Config) checkLimits(r *report) {
	c.checkLimitList(r, path("key_limits"), c.KeyLimits)
	for i := range c.Keys {
		c.checkLimitList(r, path("keys").At(i).Key("limits"), c.Keys[i].Limits)
	}
	for _, name := range sortedKeys(c.Teams) {
		c.checkLimitList(r, path("teams").Key(name).Key("limits"), c.Teams[name].Limits)
	}
	for _, name := range sortedKeys(c.Models) {
		at := path("models").Key(name).Key("limits")
		c.checkLimitList(r, at, c.Models[name].Limits)
		for i, l := range c.Models[name].Limits {
			if len(l.Models) > 0 {
				r.add(at.At(i).Key("models"), "the limits of a model are for it alone; leave models out")
			}
		}
	}
	if a := c.AssumePrice; !a.IsZero() && (a.Input == 0 || a.Output == 0) {
		r.add("assume_price", "both prices are needed, in US dollars for a million tokens; write for example assume_price: {input: 5, output: 15}")
	}
}

func (c *Config) checkLimitList(r *report, at path, list []Limit) {
	var limits []limit.Limit
	for i := range list {
		l, p := &list[i], at.At(i)
		if r.isBad(p) {
			continue
		}
		if slices.ContainsFunc([]string{"requests", "tokens", "concurrency", "usd", "per", "burst"}, func(key string) bool { return r.isBad(p.Key(key)) }) {
			continue // that is said already
		}
		if problem := l.problem(); problem != "" {
			r.add(p, "%s", problem)
			continue
		}
		one := l.Of(limit.Scope{Of: "key"})
		if err := one.Check(); err != nil {
			r.add(p, "%s", err)
			continue
		}
		for n, other := range limits {
			if other.Kind == one.Kind && other.Window == one.Window && other.Per == one.Per && slices.Equal(list[n].Models, l.Models) {
				r.add(p, "it counts the same as number %d of the list (from 0 on); leave one of them out", n)
			}
		}
		limits = append(limits, one)
	}
}

// problem is what is wrong with a limit, but for the sizes of its numbers; "" if nothing is.
func (l *Limit) problem() string {
	kinds := 0
	for _, n := range []bool{l.Requests > 0, l.Tokens > 0, l.Concurrency > 0, l.USD > 0} {
		if n {
			kinds++
		}
	}
	window := slices.Contains(windows, limit.Window(l.Per))
	switch {
	case kinds != 1:
		return "a limit has exactly one of requests, tokens, concurrency and usd; write for example {requests: 60, per: 1m}"
	case l.Burst > 0 && (window || l.Concurrency > 0):
		return "burst is for requests and tokens in a time"
	case l.OnExceed != "" && !window:
		return "on_exceed is for budgets: usd, and tokens per day, week, month or total"
	case l.Models != nil && len(l.Models) == 0:
		return "models is empty, so nothing would count; leave it out for all models"
	case slices.Contains(l.Models, ""):
		return "models has the names of models, with * for any text; an empty one is none"
	}
	return l.timeProblem(window)
}

// timeProblem is what is wrong with its time.
func (l *Limit) timeProblem(window bool) string {
	if l.Concurrency > 0 {
		if l.Per != "" {
			return "concurrency is at a time; leave per out"
		}
		return ""
	}
	d, err := time.ParseDuration(l.Per)
	rate := err == nil && d >= time.Second && d <= 744*time.Hour
	switch {
	case l.Per == "":
		return "per is missing: in which time, for example per: 1m, or per: month"
	case l.USD > 0 && !window:
		return "the window of a budget is day, week, month or total; write for example {usd: 10, per: month}"
	case l.Requests > 0 && window:
		return "requests have a time such as 24h, and no window"
	case !window && !rate:
		return "per is a time from 1s to 744h, such as 1m, or for tokens day, week, month or total"
	}
	return ""
}
