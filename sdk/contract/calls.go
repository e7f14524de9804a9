package contract

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Call is a complete call.
type Call struct{ Name, ID, Args string }

// Calls gives the calls among events that were ended.
func Calls(events []sdk.Event) []Call {
	var done []Call
	var call Call
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			call = Call{Name: e.Name, ID: e.ID}
		case abi.Args:
			call.Args += e.Text
		case abi.CallEnd:
			done = append(done, call)
		}
	}
	return done
}

// Begins reports whether got are the first calls of whole.
func Begins(whole, got []Call) bool {
	return len(got) <= len(whole) && slices.Equal(got, whole[:len(got)])
}

// BeginsCut is Begins, but the last of got may lack the last arguments that whole has.
func BeginsCut(whole, got []Call) bool {
	last := len(got) - 1
	if last < 0 || Begins(whole, got) {
		return true
	}
	if len(got) > len(whole) || !Begins(whole, got[:last]) {
		return false
	}
	g, w := got[last], whole[last]
	return g.Name == w.Name && g.ID == w.ID && strings.HasPrefix(w.Args, strings.TrimSuffix(g.Args, "}"))
}
