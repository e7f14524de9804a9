package cli

import (
	"log/slog"
	"time"

	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/metrics"
)

// answerStores are where answers are kept. One that no route uses is not made.
type answerStores struct {
	memory *answers.Memory
	shared *answers.Shared
	seen   answerStoresSeen
}

// answerStoresSeen are those that the metrics read.
type answerStoresSeen struct{ memory, shared bool }

// prepare makes the stores that the configuration's routes use and that are not there yet. Those in
// a Redis use the one that gateways share what they know by.
func (s *answerStores) prepare(cfg *config.Config, others *sharing, log *slog.Logger) (err error) {
	used := map[string]bool{cfg.DefaultRoute().AnswerCache: true}
	for name := range cfg.Models {
		used[cfg.Route(name).AnswerCache] = true
	}
	if used["memory"] && s.memory == nil {
		if s.memory, err = answers.NewMemory(int(cfg.AnswerStore.Memory)); err != nil {
			return err
		}
	}
	if used["redis"] && s.shared == nil {
		s.shared = answers.NewShared(others.redis, int(cfg.AnswerStore.Largest), log) // it is there, or the configuration would be refused
	}
	return nil
}

// into sets the policies of all routes, and that of names without one.
func (s *answerStores) into(cfg *config.Config, policies map[string]flow.RoutePolicy, other *flow.RoutePolicy) {
	prints := cfg.Fingerprints()
	for name, p := range policies {
		p.Answers = s.policy(cfg, prints.Of(name), cfg.Route(name))
		policies[name] = p
	}
	other.Answers = s.policy(cfg, prints.Of(""), cfg.DefaultRoute())
}

func (s *answerStores) policy(cfg *config.Config, fingerprint string, r config.ResolvedRoute) flow.AnswerPolicy {
	p := flow.AnswerPolicy{TTL: time.Duration(r.AnswerCacheTTL), Largest: int(cfg.AnswerStore.Largest)}
	switch r.AnswerCache {
	case "memory":
		p.Store = s.memory
	case "redis":
		p.Store = s.shared
	default:
		return flow.AnswerPolicy{}
	}
	p.Fingerprint = programVersion() + " " + fingerprint
	return p
}

// measure lets the metrics read how the stores do that they do not read yet.
func (s *answerStores) measure(o *metrics.Options) {
	if s.memory != nil && !s.seen.memory {
		o.AnswerMemory, s.seen.memory = s.memory.Stats, true
	}
	if s.shared != nil && !s.seen.shared {
		o.AnswerRedis, s.seen.shared = s.shared.Stats, true
	}
}
