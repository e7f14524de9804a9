package pythonic

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// Calls reads calls that are all of a text, one behind the other or in a list. It reports false if
// there is anything else. No schema says what their arguments mean, so that only literals are read.
func Calls(text []byte, maxDepth int) ([]callobject.Call, bool) {
	p, err := Lines().New(sdk.Options{MaxDepth: maxDepth, Guess: true})
	if err != nil {
		return nil, false
	}
	var out sdk.Out
	p.Feed(text, &out)
	if out.Ended() {
		return nil, false
	}
	p.Finish(sdk.Stop, &out)
	events, err := abi.DecodeEvents(nil, out.Take())
	if err != nil {
		return nil, false
	}
	return collect(events)
}

// collect puts the calls of events together.
func collect(events []sdk.Event) (calls []callobject.Call, ok bool) {
	for _, e := range events {
		last := len(calls) - 1
		switch e.Kind {
		case abi.CallStart:
			calls = append(calls, callobject.Call{Name: e.Name})
		case abi.Args:
			calls[last].Args = append(calls[last].Args, e.Text...)
		case abi.Repair:
			calls[last].Repaired = true
		case abi.Malformed, abi.Cut:
			return nil, false
		}
	}
	return calls, len(calls) > 0
}
