package flow

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/guard"
)

// Judging makes what judges answers that are over, for callgate guard: it takes the body of a
// request and the text of an answer that called nothing. A body that the gateway would refuse is an
// error.
func Judging(s gateway.GuardSettings) func(request []byte, answer string) (gateway.Verdict, error) {
	g := guard.New(s)
	return func(request []byte, answer string) (gateway.Verdict, error) {
		r, err := gateway.ParseRequest(request)
		if err != nil {
			return gateway.Verdict{}, err
		}
		c := r.Reading.Choice()
		k := g.Begin(r.Reading.Ledger(), r.Reading.Tools().Names, guard.Choice{None: c.None, Required: c.Required, Tool: c.Tool})
		return k.Judge(guard.Answer{Text: answer, Finish: "stop", Done: true}), nil
	}
}
