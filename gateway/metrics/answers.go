package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/callgate/callgate/gateway/answers"
)

// answerMetrics are those of answers that are kept. How the stores do is read when somebody
// looks.
func (m *Metrics) answerMetrics(k maker, o Options) {
	m.answerCache = k.counters("callgate_answer_cache_total",
		"Requests where answers are kept: hit, shared with one under way, miss, or bypass.", label{name: "outcome"})
	if read := o.AnswerMemory; read != nil {
		of := func(f func(answers.MemoryStats) float64) func() float64 { return func() float64 { return f(read()) } }
		k.gaugeFunc("callgate_answer_cache_bytes", "Bytes of the answers in memory.",
			of(func(s answers.MemoryStats) float64 { return float64(s.Bytes) }))
		k.gaugeFunc("callgate_answer_cache_entries", "Answers in memory.",
			of(func(s answers.MemoryStats) float64 { return float64(s.Entries) }))
		k.counterFunc("callgate_answer_cache_evicted_total", "Answers in memory that made room for others before they expired.",
			of(func(s answers.MemoryStats) float64 { return float64(s.Evicted) }))
	}
	if read := o.AnswerRedis; read != nil {
		of := func(f func(answers.SharedStats) float64) func() float64 { return func() float64 { return f(read()) } }
		k.gaugeFunc("callgate_answer_cache_redis_up", "Whether the last call for an answer in Redis was answered in time.",
			of(func(s answers.SharedStats) float64 {
				if s.Away {
					return 0
				}
				return 1
			}))
		k.counterFunc("callgate_answer_cache_redis_failures_total", "Calls for answers in Redis that failed or took too long.",
			of(func(s answers.SharedStats) float64 { return float64(s.Failures) }))
		k.counterFunc("callgate_answer_cache_redis_spared_total", "Calls for answers in Redis that were skipped because earlier ones had failed.",
			of(func(s answers.SharedStats) float64 { return float64(s.Spared) }))
		k.counterFunc("callgate_answer_cache_redis_foreign_total", "Values in Redis that this gateway did not write, or that were changed.",
			of(func(s answers.SharedStats) float64 { return float64(s.Foreign) }))
	}
}

// gaugeFunc and counterFunc are metrics that are read when somebody looks.
func (k maker) gaugeFunc(name, help string, read func() float64) {
	k.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

func (k maker) counterFunc(name, help string, read func() float64) {
	k.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}
