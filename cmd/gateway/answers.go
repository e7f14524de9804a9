package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/metrics"
)

// answerStores are where answers are kept. One that no route uses is not made.
type answerStores struct {
	memory *answers.Memory
	shared *answers.Shared
	// readers stands for the parsers' files: with other parsers the same text may be
	// another answer. It matters for what outlives the process.
	readers string
}

// newAnswerStores makes the stores that the configuration's routes use. Those in a Redis use
// the one that gateways share what they know by.
func newAnswerStores(cfg *config.Config, others *sharing, log *slog.Logger) (s *answerStores, err error) {
	s = &answerStores{}
	used := map[string]bool{cfg.DefaultRoute().AnswerCache: true}
	for name := range cfg.Models {
		used[cfg.Route(name).AnswerCache] = true
	}
	if used["memory"] {
		if s.memory, err = answers.NewMemory(int(cfg.AnswerStore.Memory)); err != nil {
			return nil, err
		}
	}
	if used["redis"] {
		if s.readers, err = readers(cfg); err != nil {
			return nil, err
		}
		s.shared = answers.NewShared(others.redis, int(cfg.AnswerStore.Largest), log) // it is there, or the configuration would be refused
	}
	return s, nil
}

// into sets the policies of all routes, and that of names without one.
func (s *answerStores) into(cfg *config.Config, policies map[string]gateway.RoutePolicy, other *gateway.RoutePolicy) {
	for name, p := range policies {
		p.Answers = s.policy(cfg, name, cfg.Route(name))
		policies[name] = p
	}
	other.Answers = s.policy(cfg, "", cfg.DefaultRoute())
}

func (s *answerStores) policy(cfg *config.Config, name string, r config.ResolvedRoute) gateway.AnswerPolicy {
	p := gateway.AnswerPolicy{TTL: r.AnswerCacheTTL, Largest: int(cfg.AnswerStore.Largest)}
	switch r.AnswerCache {
	case "memory":
		p.Store = s.memory
	case "redis":
		p.Store = s.shared
	default:
		return gateway.AnswerPolicy{}
	}
	p.Fingerprint = version + s.readers + cfg.Fingerprint(name)
	return p
}

// measure lets the metrics read how the stores do.
func (s *answerStores) measure(o *metrics.Options) {
	if s.memory != nil {
		o.AnswerMemory = s.memory.Stats
	}
	if s.shared != nil {
		o.AnswerRedis = s.shared.Stats
	}
}

// readers hashes the files that parsers are made of.
func readers(cfg *config.Config) (string, error) {
	files, err := filepath.Glob(filepath.Join(cfg.Plugins.Dir, "*.wasm"))
	if err != nil {
		return "", fmt.Errorf("plugins.dir: %w", err)
	}
	for _, p := range cfg.Parsers {
		if p.ResponseTemplate != "" {
			files = append(files, p.ResponseTemplate)
		}
	}
	slices.Sort(files)
	all := sha256.New()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(data)
		all.Write(sum[:])
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}
