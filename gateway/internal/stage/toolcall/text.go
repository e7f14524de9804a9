package toolcall

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// textCall is the call that is read from the text of a choice at present.
type textCall struct {
	name  string
	index int // towards the client
	args  []byte
	held  []abi.Event // where it waits until it is complete
	// strict says that it does.
	strict bool
	shown  bool   // somebody has seen its beginning
	ended  bool   // it is complete
	behind []byte // the first of the text behind it
}

// events judges the calls that were read from the text of a frame, and gives them their
// names, indexes and ids.
func (s *stage) events(f *wire.Frame) error {
	for i := range f.Choices() {
		events, ok := f.Events(i)
		if !ok || len(events) == 0 {
			continue
		}
		out, err := s.choice(f.Choices()[i].Index, i).judge(s.validator, events)
		if err != nil {
			return err
		}
		f.Change(i).SetEvents(out)
	}
	return s.validator.err()
}

// judge returns those of the events that may go on. Where the policy is strict a call waits
// until it is complete.
func (c *choice) judge(v *validator, events []abi.Event) ([]abi.Event, error) {
	t := &c.read
	out := events[:0]
	if v.waits() || len(c.calls) > 0 { // what was held may be more than what came
		out = nil
	}
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			c.begins(v, &e)
		case abi.Args:
			t.args = append(t.args, e.Text...)
		case abi.CallEnd:
			if !t.complete(v, c) {
				continue
			}
			out = append(out, t.held...)
			t.held, t.ended = nil, true
		case wire.Void, abi.Cut:
			v.drop(t.name)
			if e.Kind == wire.Void && t.shown { // a client must not run half a call
				return nil, &gateway.Error{Kind: gateway.BadCall,
					Message: "The model's tool call turned out to be broken after its beginning had been sent."}
			}
			t.held = nil
			continue
		default:
			t.between(e.Text)
			out = append(out, e)
			continue
		}
		e.Index = t.index
		if t.strict && e.Kind != abi.CallEnd {
			t.held = append(t.held, e)
			continue
		}
		t.shown = t.shown || e.Kind == abi.CallStart
		out = append(out, e)
	}
	return out, nil
}

// between keeps the beginning of the text behind a call.
func (t *textCall) between(text string) {
	if t.ended && len(t.behind) < maxBetween {
		t.behind = append(t.behind, text...)
	}
}

// begins gives the beginning of a call the name of the tool that is meant, its index and its
// id: the model's own, if it wrote one that is free.
func (c *choice) begins(v *validator, e *abi.Event) {
	name, problem := v.name(e.Name)
	switch {
	case problem != nil:
		v.refuse(e.Name, "", problem)
	case name != e.Name:
		v.outcome.Fault(repair.UnknownTool)
		v.outcome.Repaired("name")
		v.outcome.Flawed(gateway.Flaw{Tool: name, Class: "name", Mended: true})
	}
	t := &c.read
	if t.ended && isOr(t.behind) && problem == nil {
		if p := v.doubtful(alternative()); p != nil {
			v.refuse(name, "", p)
		}
	}
	*t = textCall{name: name, index: c.number(), args: t.args[:0], strict: v.strictFor(name) || len(c.calls) > 0 && !v.report}
	e.Name = name
	if !v.report {
		e.ID, _ = v.id(c.index, e.ID, name)
	}
}

// complete checks a call that is complete, and puts the values in place of its references. It
// reports false if the call does not go on, or was made before. Parsers write strict JSON, in which a key that the
// model wrote twice is still there twice.
func (t *textCall) complete(v *validator, c *choice) bool {
	args := string(t.args)
	_, _, p := repair.JSON(t.args, maxDepth)
	if p == nil {
		if args, p = v.settle(t.name, args); p == nil {
			p = v.doubtful(swallows(v.offered, t.name, args))
		}
	}
	if p != nil && v.refuse(t.name, string(t.args), p) {
		t.held = nil
		return false
	}
	if c.fromText(v, t, args) {
		t.held = nil
		return false
	}
	if len(t.held) > 0 && args != string(t.args) {
		t.held = append(t.held[:1], abi.Event{Kind: abi.Args, Index: t.index, Text: args})
	}
	return true
}
