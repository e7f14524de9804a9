package plugins

import (
	"log/slog"
	"sync/atomic"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/sdk/abi"
)

// State says whether a parser is used.
type State string

// The states of a parser.
const (
	StateOK          State = "ok"
	StateQuarantined State = "quarantined" // it is not, or a single response is trying it
)

// Info describes a loaded parser.
type Info struct {
	abi.Parser
	Plugin string // Source.Name of its module
	SHA256 string // of the module
	Size   int    // bytes of the module
	State  State
	Opened uint64 // regions it was opened for
	Failed uint64 // responses it failed in
	Times  Times  // that it worked on a region
}

// parser is one parser of a module.
type parser struct {
	abi.Parser
	mod     *module
	num     int // in the module
	breaker *breaker.Breaker
	opened  atomic.Uint64
	failed  atomic.Uint64
	times   times
}

func newParser(m *module, num int, cfg Config) *parser {
	p := &parser{Parser: m.manifest.Parsers[num], mod: m, num: num}
	p.breaker = breaker.New(breaker.Settings{
		Name: p.Name, Failures: cfg.Failures, Open: cfg.Quarantine,
		OnChange: func(c breaker.Change) {
			log := cfg.Log.With(slog.String("parser", p.Name), slog.String("plugin", m.name))
			switch c.To {
			case breaker.Open:
				log.Warn("parser is quarantined", "for", cfg.Quarantine, "reason", c.Reason)
			case breaker.HalfOpen:
				log.Info("quarantined parser is tried")
			case breaker.Closed:
				log.Info("parser is used again")
			}
		},
	})
	return p
}

func (p *parser) info() Info {
	i := Info{
		Parser: p.Parser, Plugin: p.mod.name, SHA256: p.mod.sha256, Size: p.mod.size,
		State: StateOK, Opened: p.opened.Load(), Failed: p.failed.Load(), Times: p.times.percentiles(),
	}
	if p.breaker.State() != breaker.Closed {
		i.State = StateQuarantined
	}
	return i
}

// error makes an Error of what went wrong.
func (p *parser) error(err error) *Error {
	f := asFailure(err)
	return &Error{Parser: p.Name, Plugin: p.mod.name, Kind: f.kind, Err: f.err}
}
