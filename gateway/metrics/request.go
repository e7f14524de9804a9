package metrics

import (
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// Request counts a request that is over. The HTTP server calls it once for each. It
// keeps nothing of r.
func (m *Metrics) Request(r gateway.Record) {
	failure := telemetry.ErrorType(r)
	code := failure
	if code == "" {
		code = ok
	}
	var provider, model string
	if r.Summary != nil {
		provider, model = r.Summary.Provider, r.Summary.Model
	}
	m.requests.at(labels{r.Route, provider, model, code}).Inc()
	m.duration.at(labels{r.Route, provider, streamed(r.Stream)}).Observe(seconds(r.Took))
	if r.Summary == nil {
		return
	}
	s := r.Summary
	m.countRule(s.Route)
	if s.AnswerCache != "" {
		m.answerCache.at(labels{string(s.AnswerCache)}).Inc()
	}
	m.overhead.Observe(seconds(s.Overhead))
	m.genDuration.at(labels{telemetry.Chat, provider, model, failure}).Observe(seconds(r.Took))
	if s.Replayed() { // what there is to say of the answer was counted when it was made
		return
	}
	if s.FirstToken > 0 {
		m.firstToken.at(labels{provider, model}).Observe(seconds(s.FirstToken))
		m.genFirst.at(labels{telemetry.Chat, provider, model}).Observe(seconds(s.FirstToken))
	}
	m.countAttempts(s.Attempts)
	m.countTools(s)
	m.countGuards(r.Route, s)
	m.countWarnings(s.Warnings)
	m.countTokens(s)
	m.countCaches(r.Route, s)
}

func (m *Metrics) countAttempts(attempts []gateway.Attempt) {
	for i, a := range attempts {
		m.attempts.at(labels{a.Provider, string(a.Reason), a.Outcome}).Inc()
		if a.Took > 0 { // what a circuit breaker kept back took no time, and says nothing about the upstream's
			m.attemptTime.at(labels{a.Provider}).Observe(seconds(a.Took))
		}
		if a.RetryAfter > 0 {
			m.retryAfter.Observe(seconds(a.RetryAfter))
		}
		if a.Wait > 0 {
			m.retryWait.at(labels{a.Provider}).Observe(seconds(a.Wait))
		}
		switch a.Reason {
		case gateway.Fallback:
			if i > 0 {
				m.fallbacks.at(labels{attempts[i-1].Provider, a.Provider}).Inc()
			}
		case gateway.Reask:
			m.reasks.at(labels{a.Outcome}).Inc()
		}
	}
}

func (m *Metrics) countTools(s *gateway.Summary) {
	add(m.calls, labels{s.Model, "native"}, s.Native)
	add(m.calls, labels{s.Model, "text"}, s.Calls)
	for class, n := range s.Faults {
		add(m.faults, labels{class}, n)
	}
	for kind, n := range s.Repairs {
		add(m.repairs, labels{kind}, n)
	}
}

// countWarnings counts them by what stands before the first colon. What follows may be
// a client's own word, such as the name of a field that was dropped.
func (m *Metrics) countWarnings(warnings []string) {
	for _, w := range warnings {
		kind, rest, _ := strings.Cut(w, ":")
		m.warnings.at(labels{kind}).Inc()
		if kind != "plugin" {
			continue
		}
		plugin, reason := rest, "" // "plugin:NAME:reason", and a name may have colons
		if i := strings.LastIndexByte(rest, ':'); i >= 0 {
			plugin, reason = rest[:i], rest[i+1:]
		}
		m.pluginFailures.at(labels{plugin, reason}).Inc()
	}
}

func (m *Metrics) countTokens(s *gateway.Summary) {
	u := s.Usage
	add(m.tokens, labels{s.Provider, "prompt"}, u.Input)
	add(m.tokens, labels{s.Provider, "completion"}, u.Output)
	add(m.tokens, labels{s.Provider, "cached"}, u.CacheRead)
	observe(m.genTokens, labels{telemetry.Chat, s.Provider, s.Model, telemetry.Input}, u.Input)
	observe(m.genTokens, labels{telemetry.Chat, s.Provider, s.Model, telemetry.Output}, u.Output)
}

// add adds a number that an upstream may have given. A counter panics if it is made
// smaller, and one that was made huge is of no use any more.
func add(f *counters, l labels, n int) {
	if n > 0 {
		f.at(l).Add(float64(min(n, telemetry.MaxTokens)))
	}
}

// observe is add for a histogram.
func observe(f *histograms, l labels, n int) {
	if n > 0 {
		f.at(l).Observe(float64(min(n, telemetry.MaxTokens)))
	}
}

// seconds is d for a histogram. A clock that was set back must not make its sum smaller.
func seconds(d time.Duration) float64 { return max(d, 0).Seconds() }

func streamed(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
