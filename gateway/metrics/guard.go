package metrics

import (
	"github.com/callgate/callgate/gateway"
)

// guardMetrics are those of what is watched over in requests and answers.
func (m *Metrics) guardMetrics(k maker) {
	open := func(name string) label { return label{name, newValues()} }
	m.verdicts = k.counters("callgate_guard_verdicts_total",
		"Answers that the execution guard has judged, also those that were thrown away: ok, ghost or contradiction.",
		label{name: "route"}, label{name: "verdict"})
	m.signals = k.counters("callgate_guard_signals_total",
		"Signals in answers that were found to lack a call, or to contradict a result.", open("signal"))
	m.corrections = k.counters("callgate_tool_corrections_total",
		"Answers that were thrown away and asked for again, by what was wrong with their calls.", open("reason"))
	m.rounds = k.histogram("callgate_tool_rounds",
		"Rounds of tools since the user's last message, of requests that have any.", roundBuckets())
	m.roundsStopped = k.counters("callgate_tool_loops_total",
		"Requests that have reached a limit of the loop guard, by the reason.", label{name: "reason"})
	m.prefixChanges = k.counters("callgate_prefix_changed_total",
		"Requests whose beginning differs from that of the request before, by the first part that differs.", label{name: "route"}, label{name: "part"})
	m.references = k.counters("callgate_tool_references_total",
		"Arguments that referred to an earlier result, by how it was found.", label{name: "how"})
}

// roundBuckets are the bounds for rounds of tools; the limit is 15 by default.
func roundBuckets() []float64 { return []float64{1, 2, 3, 5, 8, 12, 15, 20, 30, 50, 100} }

func (m *Metrics) countGuards(route string, s *gateway.Summary) {
	for _, c := range s.Corrections {
		m.corrections.at(labels{c.Reason}).Inc()
		if c.Verdict != nil {
			m.countVerdict(route, c.Verdict)
		}
	}
	if n := len(s.Corrections); s.Guard != nil && (n == 0 || s.Corrections[n-1].Verdict != s.Guard) {
		m.countVerdict(route, s.Guard)
	}
	if r := s.Rounds; r != nil {
		m.rounds.Observe(float64(r.Rounds))
		if r.Stop != "" {
			m.roundsStopped.at(labels{string(r.Stop)}).Inc()
		}
	}
	if c := s.PrefixChange; c != nil {
		m.prefixChanges.at(labels{route, string(c.Part)}).Inc()
	}
	for _, d := range s.References {
		m.references.at(labels{string(d.How)}).Inc()
	}
}

func (m *Metrics) countVerdict(route string, v *gateway.Verdict) {
	switch {
	case v.Ghost:
		m.verdicts.at(labels{route, "ghost"}).Inc()
	case v.Contradiction:
		m.verdicts.at(labels{route, "contradiction"}).Inc()
	default:
		m.verdicts.at(labels{route, "ok"}).Inc()
		return
	}
	for i := range v.Signals { // not v.For, which allocates
		if s := &v.Signals[i]; s.Weight >= 0 {
			m.signals.at(labels{s.Name}).Inc()
		}
	}
}
