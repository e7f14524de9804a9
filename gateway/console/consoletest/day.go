// Package consoletest makes a day of mixed traffic for tests of the operator's page: five models of four
// providers and the requests of four teams, of which some are repaired in many ways, claimed without a
// call, retried, sent elsewhere and failed. It goes through the real history, by a clock of its own.
package consoletest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/history"
	"github.com/callgate/callgate/gateway/internal/guard"
)

// Noon is the end of the day that is made: a moment at which a browser's clock may stand too.
var Noon = time.Date(2026, 11, 23, 15, 20, 0, 0, time.UTC)

// Sort is what sort of day it is.
type Sort int

// The sorts.
const (
	Troubled Sort = iota // with an outage that lasts, broken answers and a budget near its end
	Calm                 // with what happens every day
	Empty                // the gateway has just begun
)

// model is how a model of a provider behaves.
type model struct {
	provider, model string
	share           float64 // of all requests
	first, each     time.Duration
	textual         bool    // its calls come as text
	sloppy          float64 // answers that have to be repaired
	broken          float64 // and those that cannot be
	ghosts          float64
	flaky           float64 // attempts that fail
	price           float64 // of 1,000 tokens
	caches          float64 // of a prompt's tokens
}

var models = []model{
	{"openai", "gpt-5.1-mini", 0.30, 420 * time.Millisecond, 2 * time.Second, false, 0.004, 0.0004, 0.003, 0.004, 0.0011, 0.55},
	{"anthropic", "claude-haiku-4.5", 0.18, 510 * time.Millisecond, 2600 * time.Millisecond, false, 0.002, 0.0002, 0.001, 0.006, 0.0026, 0.7},
	{"local-vllm", "Qwen/Qwen3-32B", 0.34, 160 * time.Millisecond, 1700 * time.Millisecond, true, 0.11, 0.012, 0.02, 0.003, 0.0002, 0.4},
	{"local-vllm", "mistral-small-3.2", 0.06, 120 * time.Millisecond, 1200 * time.Millisecond, true, 0.05, 0.004, 0.008, 0.003, 0.0001, 0.35},
	{"sglang", "deepseek-v3.2", 0.12, 340 * time.Millisecond, 3500 * time.Millisecond, true, 0.03, 0.003, 0.004, 0.01, 0.0004, 0.3},
}

var spare = &models[0]

// teams have short names, and one as long as a name may be, without a place to break it at.
var teams = []string{"support", "search", "ad-studio", "reports_of_sales_and_service_in_all_countries_to_the_whole_board"}

// repairs are what is repaired, and the fault of each.
var repairs = []struct{ repair, fault string }{
	{"args_json", "invalid_json"}, {"args_json", "invalid_json"}, {"args_json", "invalid_json"}, {"args_types", "schema_mismatch"}, {"args_types", "schema_mismatch"},
	{"name", "unknown_name"}, {"finish_reason", ""}, {"finish_reason", ""}, {"args_encoding", "invalid_json"}, {"answer_fence", "answer_json"}, {"id", "bad_id"}, {"args_empty", "empty_args"}, {"args_split", "invalid_json"},
}

// clock is what the history takes for now.
type clock struct{ at time.Time }

// History is a day that ends at a moment.
func History(sort Sort, end time.Time) *history.History {
	c := &clock{end}
	if sort != Empty {
		c.at = end.Add(-24*time.Hour - 17*time.Minute)
	}
	var names []string
	for _, m := range models {
		names = append(names, m.model)
	}
	h := history.New(history.Options{Now: func() time.Time { return c.at }, Models: names})
	if sort == Empty {
		return h
	}
	d := &day{sort: sort, end: end, random: rand.New(rand.NewPCG(19, 7))} //nolint:gosec // the same day each time
	for c.at.Before(end) {
		hour := float64(c.at.Hour()) + float64(c.at.Minute())/60
		busy := 0.25 + 0.75*math.Exp(-(hour-14)*(hour-14)/20) // most in the afternoon
		c.at = c.at.Add(time.Duration(d.random.ExpFloat64() / busy * float64(7*time.Second)))
		if c.at.Before(end) {
			r, paid := d.request(c.at)
			h.Request(&r, paid)
		}
	}
	c.at = end
	return h
}

// day makes requests.
type day struct {
	sort   Sort
	end    time.Time
	random *rand.Rand
	n      int
}

func (d *day) chance(p float64) bool { return d.random.Float64() < p }

// spread is a duration about another.
func (d *day) spread(about time.Duration) time.Duration {
	return time.Duration(float64(about) * math.Exp(d.random.NormFloat64()*0.5))
}

func (d *day) pick() *model {
	x := d.random.Float64()
	for i := range models {
		if x -= models[i].share; x < 0 {
			return &models[i]
		}
	}
	return &models[0]
}

// request is a request at a moment.
func (d *day) request(at time.Time) (gateway.Record, history.Money) {
	d.n++
	m := d.pick()
	s := &gateway.Summary{Origin: gateway.Origin{Provider: m.provider, Model: m.model, Mode: gateway.Repair}, Route: &gateway.RouteChoice{Route: "assistant"}}
	r := gateway.Record{ID: fmt.Sprintf("req_%06d", d.n), Route: "assistant", Status: 200, Protocol: []string{"chat", "chat", "responses", "messages"}[d.random.IntN(4)], Stream: d.chance(0.7),
		Tenant: teams[d.random.IntN(len(teams))], Summary: s}
	if d.chance(0.006) {
		r.Status, r.Code, r.Summary = 401, "invalid_api_key", nil
		return r, history.Money{}
	}
	if d.chance(0.05) {
		s.AnswerCache, s.Age = gateway.AnswerHit, time.Hour
		r.Took = 2 * time.Millisecond
		return r, history.Money{Currency: "USD", SavedAnswers: m.price * 3}
	}
	m, failed := d.attempts(at, &r, m)
	for _, a := range s.Attempts {
		r.Took += a.Wait + a.Took
	}
	if failed != "" {
		r.Status, r.Code = 502, failed
		return r, history.Money{}
	}
	s.FirstToken = r.Took * m.first / m.each
	s.Overhead = d.spread(40 * time.Microsecond)
	d.answer(m, &r)
	if d.chance(0.004) {
		r.Status, r.Code = 499, "client_closed_request"
	}
	in, out := 400+d.random.IntN(6000), 20+d.random.IntN(700)
	s.Usage = gateway.Usage{Reported: true, CacheReported: true, Input: in, CacheRead: int(float64(in) * m.caches * d.random.Float64()), Output: out}
	cost := float64(in-s.Usage.CacheRead)/1000*m.price + float64(out)/1000*m.price*4
	return r, history.Money{Currency: "USD", Spent: cost, SavedPrompts: float64(s.Usage.CacheRead) / 1000 * m.price * 0.9}
}

// attempts are those of a request, and the model that answers, or why none does.
func (d *day) attempts(at time.Time, r *gateway.Record, m *model) (*model, string) {
	s := r.Summary
	try := func(m *model, reason gateway.Reason, outcome string, wait time.Duration) {
		took := d.spread(m.each)
		if outcome == "upstream_timeout" {
			took = 30 * time.Second
		}
		s.Attempts = append(s.Attempts, gateway.Attempt{Provider: m.provider, Model: m.model, Reason: reason, Outcome: outcome, Wait: wait, Took: took})
		s.Provider, s.Model = m.provider, m.model
	}
	out := d.isOut(at, m)
	trouble := []string{"upstream_error", "upstream_timeout", "upstream_rate_limited", "empty_completion"}[d.random.IntN(4)]
	switch {
	case out && d.chance(0.3): // its breaker is open
		try(m, gateway.First, "circuit_open", 0)
		s.Attempts[0].Took = 0
		try(spare, gateway.Fallback, "ok", 0)
		s.Warnings = []string{"circuit_open:sglang"}
	case out:
		try(m, gateway.First, "upstream_timeout", 0)
		try(m, gateway.Retry, "upstream_error", d.spread(200*time.Millisecond))
		if d.chance(0.6) {
			return m, "upstream_error"
		}
		try(spare, gateway.Fallback, "ok", 0)
	case d.chance(m.flaky):
		try(m, gateway.First, trouble, 0)
		switch x := d.random.Float64(); {
		case x < 0.3:
			return m, trouble
		case x < 0.7:
			try(m, gateway.Retry, "ok", d.spread(200*time.Millisecond))
		default:
			try(spare, gateway.Fallback, "ok", 0)
		}
	default:
		try(m, gateway.First, "ok", 0)
	}
	for i := range models {
		if models[i].provider == s.Provider && models[i].model == s.Model {
			m = &models[i]
		}
	}
	return m, ""
}

// isOut reports whether a model's provider is away.
func (d *day) isOut(at time.Time, m *model) bool {
	night := at.Hour() == 4 && at.Minute() < 20
	return d.sort == Troubled && m.provider == "sglang" && (night || at.After(d.end.Add(-26*time.Minute)))
}

// answer is what a model writes.
func (d *day) answer(m *model, r *gateway.Record) {
	s := r.Summary
	if d.chance(0.55) {
		s.Called = []string{"get_weather"}
		if m.textual {
			s.Calls, s.Changed, s.Parsers = 1, true, []string{"hermes"}
		} else {
			s.Native = 1
		}
	}
	broken := m.broken
	if d.sort == Calm {
		broken = 0
	}
	switch x := d.random.Float64(); {
	case x < m.sloppy:
		k := repairs[d.random.IntN(len(repairs))]
		s.Changed, s.Repairs = true, map[string]int{k.repair: 1}
		if k.fault != "" {
			s.Faults = map[string]int{k.fault: 1}
		}
	case x < m.sloppy+broken:
		s.Faults, s.Warnings = map[string]int{"schema_mismatch": 1}, []string{"schema_mismatch"}
	case x < m.sloppy+broken+m.ghosts:
		ghost := &gateway.Verdict{Ghost: true, Score: 0.86, Tool: "delete_task", Signals: []guard.Signal{{Name: guard.SignalToolsUnused, Weight: 0.2}, {Name: guard.SignalClaim, Weight: 0.5}}}
		if d.sort == Troubled && d.chance(0.2) {
			s.Guard = ghost
			return
		}
		s.Corrections = []gateway.Correction{{Tool: "delete_task", Reason: "tool_not_triggered", Verdict: ghost}}
		s.Attempts[len(s.Attempts)-1].Outcome = "tool_not_triggered"
		s.Attempts = append(s.Attempts, gateway.Attempt{Provider: s.Provider, Model: s.Model, Reason: gateway.Forced, Outcome: "ok", Took: d.spread(m.each)})
		r.Took += s.Attempts[len(s.Attempts)-1].Took
	}
}
