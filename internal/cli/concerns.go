package cli

import (
	"fmt"
	"strings"

	"github.com/callgate/callgate/gateway/console"
	"github.com/callgate/callgate/gateway/limit"
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

// budgets are how much is spent of the budgets that requests were weighed against, for the operator's
// page.
func (p *process) budgets() (out []console.Budget) {
	for _, b := range p.limits.Budgets() {
		name := "everybody" // a key's, where there are no keys
		if b.Scope.Name != "" {
			kind, _, _ := strings.Cut(b.Scope.Of, "_")
			name = kind + " " + b.Scope.Name
		}
		if b.Scope.Models != "" {
			name += ", models " + b.Scope.Models
		}
		one := console.Budget{Name: name, Spent: float64(b.Used), Limit: float64(b.Max), Unit: "tokens", Refused: b.Refused}
		if b.Kind == limit.Money {
			one.Spent, one.Limit, one.Unit = one.Spent/limit.USD, one.Limit/limit.USD, "USD"
		}
		if b.Window != limit.Total {
			one.Period = string(b.Window)
		}
		out = append(out, one)
	}
	return out
}
