package cli

import (
	"fmt"

	"github.com/callgate/callgate/gateway/console"
)

// concerns are what is wrong with the process itself, for the operator's page: what it shares and
// stores. What is wrong with upstreams, parsers and tools the page sees by itself.
func (p *process) concerns() (out []console.Concern) {
	switch r := p.reloads.measured(); {
	case !r.Good:
		out = append(out, console.Concern{Level: console.Bad, What: "The changed configuration was refused, and the one before is still used. The log says what is wrong with it."})
	case r.Restart:
		out = append(out, console.Concern{Level: console.Fair, What: "The configuration has changed in what only a restart can apply. The log names the settings."})
	}
	if s := p.shared.snapshot(); s != nil && !s.Up && s.Error != "" {
		out = append(out, console.Concern{Level: console.Fair, What: "Gateways do not tell each other what they have learned: " + s.Error, Link: console.Path + "/caches", See: "Caches"})
	}
	if s := p.answers.shared; s != nil && s.Stats().Away {
		out = append(out, console.Concern{Level: console.Fair, What: "Answers are neither kept nor found: their Redis is away.", Link: console.Path + "/caches", See: "Caches"})
	}
	if m := p.memory.Stats(); m.Limit > 0 && m.Taken*10 > m.Limit*9 {
		out = append(out, console.Concern{Level: console.Fair, What: fmt.Sprintf("Requests in progress have %d %% of the memory that there is for them (limits.memory).", m.Taken*100/m.Limit)})
	}
	return out
}
