package reference

import (
	"strconv"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// place is a reference in a call's arguments.
type place struct {
	rule  *rule
	path  string // such as items[2].id
	at    wire.Span
	value scalar
}

// places finds the references in arguments.
type places struct {
	text  []byte
	found []place
	// odd says that something could not be looked at: a value of another form than the
	// rule says, or one too many.
	odd bool
}

// readArguments returns the place of the object that arguments are. ok is false for
// what is none, or none that all parsers of JSON read alike.
func readArguments(args []byte) (at wire.Span, ok bool) {
	at, ok = wire.Value(args, 0)
	return at, ok && conversation.IsStrictObject(args)
}

// find walks a rule's steps from a value on. What is missing or null is no reference.
func (p *places) find(r *rule, at wire.Span, steps []step, path string) {
	switch {
	case at.IsNull(p.text):
	case len(steps) == 0:
		value, ok := readScalar(at.Of(p.text))
		if !ok || r.source == nil || len(p.found) == maxPlaces {
			p.odd = true
			return
		}
		p.found = append(p.found, place{rule: r, path: path, at: at, value: value})
	case steps[0].element:
		if p.text[at.Start] != '[' {
			p.odd = true
			return
		}
		wire.Elements(p.text[:at.End], at.Start, func(n int, element wire.Span) bool {
			p.find(r, element, steps[1:], path+"["+strconv.Itoa(n)+"]")
			return len(p.found) < maxPlaces || !p.odd
		})
	case !conversation.IsObject(p.text, at):
		p.odd = true
	default:
		name := steps[0].name
		if path != "" {
			path += "."
		}
		p.find(r, conversation.Member(p.text, at, name), steps[1:], path+cut(name))
	}
}
