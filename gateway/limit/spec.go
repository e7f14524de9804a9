package limit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spec is one limit as operators write it, in the configuration and in the admin API: exactly one of Requests,
// Tokens, Concurrency and USD.
type Spec struct {
	// Requests is how many answers may be asked for in Per, and Tokens how many tokens may be used: in Per, or as a
	// budget where that is a window.
	Requests int `json:"requests,omitempty"`
	Tokens   int `json:"tokens,omitempty"`
	// Concurrency is how many requests may run at a time.
	Concurrency int `json:"concurrency,omitempty"`
	// USD is a budget in US dollars.
	USD float64 `json:"usd,omitempty"`
	// Per is a time of 1s to 744h, or a window: day, week, month or total.
	Per string `json:"per,omitempty"`
	// Burst is how many may come at once; 0 is all of Requests or Tokens.
	Burst int `json:"burst,omitempty"`
	// Models are patterns of the models that alone count; nil is all.
	Models []string `json:"models,omitempty"`
	// OnExceed is "finish", which "" is too, or "cut".
	OnExceed string `json:"on_exceed,omitempty"`
	// RedisAway is "local_share", "closed" or "open"; "" is [ByKind].
	RedisAway string `json:"redis_away,omitempty"`
}

var policies = map[string]Policy{"": ByKind, "local_share": LocalShare, "closed": Closed, "open": Open} //nolint:gochecknoglobals // a table

// Limit is the limit for a scope. The spec is good.
func (s *Spec) Limit(of Scope) Limit {
	out := Limit{Scope: of, Burst: int64(s.Burst), Away: policies[s.RedisAway], Cut: s.OnExceed == "cut"}
	if w := Window(s.Per); w.known() {
		out.Window = w
	} else {
		out.Per, _ = time.ParseDuration(s.Per)
	}
	switch {
	case s.Requests > 0:
		out.Kind, out.Max = Requests, int64(s.Requests)
	case s.Concurrency > 0:
		out.Kind, out.Max = Concurrency, int64(s.Concurrency)
	case s.USD > 0:
		out.Kind, out.Max = Money, int64(math.Round(s.USD*USD))
	default:
		out.Kind, out.Max = Tokens, int64(s.Tokens)
		if out.Window != "" {
			out.Kind = Quota
		}
	}
	return out
}

// Bounds of the numbers in a spec. The configuration's have the same.
const (
	maxRequests    = 1_000_000_000
	maxTokens      = 2_000_000_000
	maxConcurrency = 1_000_000
	minUSD, maxUSD = 0.000001, 4_500_000
)

// Range is what is wrong with the sizes of a spec's numbers and with its words; "" if nothing is.
func (s *Spec) Range() string {
	for _, n := range []struct {
		name      string
		value, of int
	}{{"requests", s.Requests, maxRequests}, {"tokens", s.Tokens, maxTokens}, {"concurrency", s.Concurrency, maxConcurrency}, {"burst", s.Burst, maxTokens}} {
		if n.value < 0 || n.value > n.of {
			return fmt.Sprintf("%s: %d is out of range; it may be from 1 to %d", n.name, n.value, n.of)
		}
	}
	switch {
	case s.USD != 0 && !(s.USD >= minUSD && s.USD <= maxUSD):
		return fmt.Sprintf("usd: %s is out of range; it may be from %f to %d", plainly(s.USD), minUSD, maxUSD)
	case s.OnExceed != "" && s.OnExceed != "finish" && s.OnExceed != "cut":
		return fmt.Sprintf("on_exceed is finish or cut, not %.40q", s.OnExceed)
	}
	if _, ok := policies[s.RedisAway]; !ok {
		return fmt.Sprintf("redis_away is local_share, closed or open, not %.40q", s.RedisAway)
	}
	return ""
}

// plainly writes a number without an exponent, unless it is a very large one.
func plainly(n float64) string {
	if math.Abs(n) < 1e15 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// Problem is what is wrong with a spec, but for [Spec.Range]; "" if nothing is.
func (s *Spec) Problem() string {
	kinds := 0
	for _, n := range []bool{s.Requests > 0, s.Tokens > 0, s.Concurrency > 0, s.USD > 0} {
		if n {
			kinds++
		}
	}
	window := Window(s.Per).known()
	switch {
	case kinds != 1:
		return "a limit has exactly one of requests, tokens, concurrency and usd; write for example {requests: 60, per: 1m}"
	case s.Burst > 0 && (window || s.Concurrency > 0):
		return fmt.Sprintf("burst: %d is for requests and tokens in a time such as 1m; leave it out", s.Burst)
	case s.OnExceed != "" && !window:
		return fmt.Sprintf("on_exceed: %s is for budgets, usd and tokens per day, week, month or total; leave it out", s.OnExceed)
	case s.Models != nil && len(s.Models) == 0:
		return "models is empty, so nothing would count; leave it out for all models"
	case slices.Contains(s.Models, ""):
		return "models has the names of models, with * for any text; an empty one is none"
	}
	return s.timeProblem(window)
}

// timeProblem is what is wrong with its time.
func (s *Spec) timeProblem(window bool) string {
	if s.Concurrency > 0 {
		if s.Per != "" {
			return fmt.Sprintf("per: %.40q is not for concurrency, which is at a time; leave it out", s.Per)
		}
		return ""
	}
	d, err := time.ParseDuration(s.Per)
	rate := err == nil && d >= time.Second && d <= 744*time.Hour
	switch {
	case s.Per == "":
		return "per is missing: in which time, for example per: 1m, or per: month"
	case s.USD > 0 && !window:
		return fmt.Sprintf("the window of a budget is day, week, month or total, not %.40q; write for example {usd: 10, per: month}", s.Per)
	case s.Requests > 0 && window:
		return fmt.Sprintf("per: requests have a time such as 24h, and no window such as %s", s.Per)
	case !window && !rate:
		return fmt.Sprintf("per is a time from 1s to 744h, such as 1m, or for tokens day, week, month or total, not %.40q", s.Per)
	}
	return ""
}

// same is the place of an earlier spec of a list that counts the same as that at a place; -1 for none. All are good.
func same(list []Spec, at int) int {
	one := list[at].Limit(Scope{Models: strings.Join(list[at].Models, ",")})
	name := one.name()
	return slices.IndexFunc(list[:at], func(s Spec) bool {
		l := s.Limit(Scope{Models: strings.Join(s.Models, ",")})
		return l.name() == name
	})
}

// Check is what is wrong with the spec at a place of a list, of which those in front are good; "" if nothing is.
func Check(list []Spec, at int) string {
	s := &list[at]
	if problem := s.Range(); problem != "" {
		return problem
	}
	if problem := s.Problem(); problem != "" {
		return problem
	}
	l := s.Limit(Scope{Of: "key"})
	if err := l.Check(); err != nil {
		return err.Error()
	}
	if n := same(list, at); n >= 0 {
		return fmt.Sprintf("it counts the same as number %d of the list (from 0 on); leave one of them out", n)
	}
	return ""
}

// String is the limit as [ParseSpec] reads it.
func (s *Spec) String() string {
	var b strings.Builder
	switch {
	case s.Requests > 0:
		fmt.Fprintf(&b, "requests=%d", s.Requests)
	case s.Concurrency > 0:
		fmt.Fprintf(&b, "concurrency=%d", s.Concurrency)
	case s.USD > 0:
		b.WriteString("usd=" + strconv.FormatFloat(s.USD, 'f', -1, 64))
	default:
		fmt.Fprintf(&b, "tokens=%d", s.Tokens)
	}
	if s.Per != "" {
		b.WriteString("/" + s.Per)
	}
	if s.Burst > 0 {
		fmt.Fprintf(&b, ",burst=%d", s.Burst)
	}
	for _, m := range s.Models {
		b.WriteString(",models=" + m)
	}
	if s.OnExceed != "" {
		b.WriteString(",on_exceed=" + s.OnExceed)
	}
	if s.RedisAway != "" {
		b.WriteString(",redis_away=" + s.RedisAway)
	}
	return b.String()
}

// ParseSpec reads a limit as commands have it: requests=60/1m, usd=10/month, concurrency=4, and behind commas
// burst=10, models=gpt-* (as often as need be), on_exceed=cut, redis_away=closed. It does not check it.
func ParseSpec(text string) (s Spec, err error) {
	for i, part := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return s, fmt.Errorf("the limit %q is not written as requests=60/1m, tokens=100000/1m, usd=10/month or concurrency=4", text)
		}
		var known bool
		if i == 0 {
			value, s.Per, _ = strings.Cut(value, "/")
			known, err = s.setKind(name, value)
		} else {
			known, err = s.setMore(name, value)
		}
		if !known {
			return s, fmt.Errorf("the limit %q has no %q at this place: write for example requests=60/1m,burst=10", text, name)
		}
		if err != nil {
			return s, fmt.Errorf("the value of %s in the limit %q is not a number that fits; write for example requests=60/1m or usd=2.5/month", name, text)
		}
	}
	return s, nil
}

// setKind sets what is counted; known is false for no such word.
func (s *Spec) setKind(name, value string) (known bool, err error) {
	switch name {
	case "requests":
		s.Requests, err = strconv.Atoi(value)
	case "tokens":
		s.Tokens, err = strconv.Atoi(value)
	case "concurrency":
		s.Concurrency, err = strconv.Atoi(value)
	case "usd":
		if s.USD, err = strconv.ParseFloat(value, 64); math.IsNaN(s.USD) || math.IsInf(s.USD, 0) {
			err = strconv.ErrRange
		}
	default:
		return false, nil
	}
	return true, err
}

// setMore sets what else a limit may have.
func (s *Spec) setMore(name, value string) (known bool, err error) {
	switch name {
	case "burst":
		s.Burst, err = strconv.Atoi(value)
	case "models":
		s.Models = append(s.Models, value)
	case "on_exceed":
		s.OnExceed = value
	case "redis_away":
		s.RedisAway = value
	default:
		return false, nil
	}
	return true, err
}
