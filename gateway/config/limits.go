package config

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/limit"
)

// Limit is one limit of a key, a team or a model: exactly one of Requests, Tokens, Concurrency and USD.
type Limit struct {
	// Requests is how many answers models may be asked for in Per; each round of a request that runs
	// tools counts.
	Requests int `yaml:"requests" omit:"true" eg:"60" min:"1" max:"1000000000" doc:"How many answers models may be asked for within per; each round of a request that runs tools counts."`
	// Tokens is how many tokens may be used in Per, in and out: a rate, or a budget where Per is a window.
	Tokens int `yaml:"tokens" omit:"true" eg:"100000" min:"1" max:"2000000000" doc:"How many tokens may be used, in and out: in the time per, or, where that is day, week, month or total, as a budget."`
	// Concurrency is how many requests may run at a time.
	Concurrency int `yaml:"concurrency" omit:"true" eg:"4" min:"1" max:"1000000" doc:"How many requests may run at the same time."`
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
	OnExceed string `yaml:"on_exceed" omit:"true" enum:"finish,cut" eg:"cut" doc:"What happens to a stream that exceeds a budget: finish lets it run to its end, cut ends it with finish_reason length. Default: finish."`
	// RedisAway says what holds while the Redis is away: "local_share" is what is left, divided by the number of gateways,
	// "closed" refuses, "open" does not limit. Default: local_share, but closed for budgets behind 30 s.
	RedisAway string `yaml:"redis_away" omit:"true" enum:"local_share,closed,open" eg:"closed" doc:"What applies while Redis is down: local_share gives each gateway what is left, divided by the number of gateways; closed refuses; open does not limit. Default: local_share; for budgets closed once 30s have passed."`
}

// AssumedPrice is what models without a price are taken to cost.
type AssumedPrice struct {
	// Input is the price of prompts, in US dollars for a million tokens, as Output.
	Input float64 `yaml:"input" eg:"5" min:"0.000001" max:"1000000" doc:"US dollars per million tokens of input."`
	// Output is that of answers.
	Output float64 `yaml:"output" eg:"15" min:"0.000001" max:"1000000" doc:"US dollars per million tokens of output."`
}

// IsZero reports whether nothing is assumed.
func (a AssumedPrice) IsZero() bool { return a == AssumedPrice{} }

// Of is the limit for a scope.
func (l *Limit) Of(s limit.Scope) limit.Limit { return l.Spec().Limit(s) }

// Spec is the limit as it is made at run time too.
func (l *Limit) Spec() *limit.Spec { return (*limit.Spec)(l) }

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
	good := map[int]limit.Limit{}
	for i := range list {
		l, p := &list[i], at.At(i)
		if r.isBad(p) {
			continue
		}
		if slices.ContainsFunc([]string{"requests", "tokens", "concurrency", "usd", "per", "burst"}, func(key string) bool { return r.isBad(p.Key(key)) }) {
			continue // that is said already
		}
		if problem := l.Spec().Problem(); problem != "" {
			r.add(p, "%s", problem)
			continue
		}
		one := l.Of(limit.Scope{Of: "key", Models: strings.Join(l.Models, ",")})
		if err := one.Check(); err != nil {
			r.add(p, "%s", err)
			continue
		}
		for n := range i {
			if other, ok := good[n]; ok && other.Counts(&one) {
				r.add(p, "it counts the same as number %d of the list (from 0 on); leave one of them out", n)
				break
			}
		}
		good[i] = one
	}
}
