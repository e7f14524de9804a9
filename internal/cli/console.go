package cli

import (
	"maps"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/console"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/folder"
)

// console is the operator's page, which shows in a browser what the admin API gives.
func (v *edition) console(p *process, admin httpapi.AdminConfig) (*console.Console, error) {
	return console.New(console.Options{
		Breakers: admin.Breakers, Reset: admin.Reset, ResetParser: v.parsers.host.Reset, Targets: admin.Targets, Caches: admin.Caches,
		Plugins: func() console.Plugins { return v.parsers.shown(v.config.Plugins.Dir) },
		Tools:   v.tools.Status, Quality: p.quality.Snapshot, Rollouts: admin.Rollouts, SetArm: admin.SetArm,
		Keys: admin.Keys, Ready: v.parsers.ready, Source: v.parsers, History: p.accounts.history, Concerns: func() []console.Concern { return append(p.concerns(), v.rollouts.concerns()...) }, Budgets: p.budgets, Version: programVersion(), Log: admin.Log,
	})
}

// shown is what the operator's page says of plugins.
func (p *parsers) shown(dir string) console.Plugins {
	out := console.Plugins{Dir: dir, Custom: slices.Sorted(maps.Keys(p.custom))}
	for _, info := range p.host.Parsers() {
		out.Parsers = append(out.Parsers, console.Parser{
			Name: info.Name, Plugin: info.Plugin, Version: info.Version, Example: info.Example, Priority: info.Priority,
			State:  level(info.State, map[plugins.State]console.Level{plugins.StateOK: console.Good, plugins.StateQuarantined: console.Bad}),
			Opened: info.Opened, Failed: info.Failed, P50: info.Times.P50, P90: info.Times.P90, P99: info.Times.P99,
		})
	}
	if p.folder != nil {
		for _, f := range p.folder.Files() {
			state := level(f.State, map[folder.State]console.Level{folder.Loaded: console.Good, folder.Refused: console.Bad})
			out.Files = append(out.Files, console.File{Name: f.Name, SHA256: f.SHA256, State: state, Since: f.Since, Reason: f.Reason})
		}
	}
	return out
}

// level is a state as the operator's page shows it; one that is not in levels is fair.
func level[S ~string](state S, levels map[S]console.Level) console.State {
	l, known := levels[state]
	if !known {
		l = console.Fair
	}
	return console.State{Level: l, Word: string(state)}
}

// Spec implements playground.Source.
func (p *parsers) Spec(parser, reasoning string) (gateway.ParserSpec, error) {
	return p.specFor(nameOrNames{parser}, reasoning)
}

// Candidates implements playground.Source.
func (p *parsers) Candidates(spec gateway.ParserSpec) []chain.Candidate {
	return p.candidates(p.host.Parsers(), spec)
}
