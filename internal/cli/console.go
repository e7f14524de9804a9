package cli

import (
	"maps"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/console"
	"github.com/callgate/callgate/gateway/httpapi"
)

// console is the operator's page, which shows in a browser what the admin API gives.
func (sys *system) console(cfg *config.Config, admin httpapi.AdminConfig) (*console.Console, error) {
	return console.New(console.Options{
		Breakers: admin.Breakers, Reset: admin.Reset, Targets: admin.Targets, Caches: admin.Caches,
		Plugins: func() console.Plugins { return sys.parsers.shown(cfg.Plugins.Dir) },
		Ready:   sys.parsers.ready, Source: sys.parsers, Version: programVersion(), Log: admin.Log,
	})
}

// shown is what the operator's page says of plugins.
func (p *parsers) shown(dir string) console.Plugins {
	out := console.Plugins{Dir: dir, Parsers: p.host.Parsers(), Custom: slices.Sorted(maps.Keys(p.custom))}
	if p.folder != nil {
		out.Files = p.folder.Files()
	}
	return out
}

// Spec implements playground.Source.
func (p *parsers) Spec(parser, reasoning string) (gateway.ParserSpec, error) {
	return p.specFor(nameOrNames{parser}, reasoning)
}

// Candidates implements playground.Source.
func (p *parsers) Candidates(spec gateway.ParserSpec) []chain.Candidate {
	return p.candidates(p.host.Parsers(), spec)
}
