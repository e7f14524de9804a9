package cli

import (
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
)

// rules are those of the models of the configuration.
func rules(cfg *config.Config) map[string][]flow.Rule {
	out := map[string][]flow.Rule{}
	for name, m := range cfg.Models {
		for i, resolved := range cfg.RuleTargets(name) {
			own := m.Rules[i]
			w := own.When
			out[name] = append(out[name], flow.Rule{When: flow.Condition{
				Metadata: wordLists(w.Metadata), Headers: wordLists(w.Headers), Languages: w.Language,
				Tools: switches[w.Tools], Stream: switches[w.Stream], MinSize: int(w.Size.Min), MaxSize: int(w.Size.Max),
			}, Targets: targets(resolved, own.Targets)})
		}
	}
	return out
}

// aliases are the names that stand for others.
func aliases(cfg *config.Config) map[string]string {
	out := map[string]string{}
	for name, m := range cfg.Models {
		if m.Alias != "" {
			out[name] = m.Alias
		}
	}
	return out
}

var switches = map[config.Switch]flow.Answer{"": flow.Either, config.True: flow.Yes, config.False: flow.No}

func wordLists(table map[string]config.Words) map[string][]string {
	out := map[string][]string{}
	for name, words := range table {
		out[name] = words
	}
	return out
}
