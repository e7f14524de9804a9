package wire

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// Kinds of events of a text that was read, besides those of abi.
const (
	// Void takes call Index back: its text follows as content. A reader that has shown the
	// call already has to say that it is broken.
	Void abi.Kind = 0x80
	// WasReasoning says that all content before it, as far as it has not gone out, was
	// reasoning, whose start marker was in the prompt.
	WasReasoning abi.Kind = 0x81
)

// Change is what goes out in the place of parts of a choice.
type Change struct {
	text, seen bool // events stand for its content, or were only seen in it
	events     []abi.Event
	calls      bool // entries stand for its tool_calls
	entries    []Entry
	late       []Entry
	finish     string
	reasoning  string // what its reasoning is called
	key        Span   // of its reasoning
	split      string // what reasoning is called that the events bring
}

// Entry is an entry of tool_calls as it goes out.
type Entry struct {
	Kind EntryKind
	// From is the entry in the frame that it stands for, whose members that nobody here
	// knows go along; empty: there is none.
	From Span
	// Index is that of the call; a completion's entries have none.
	Index int
	// ID and Name are those of a call that begins.
	ID, Name string
	// Args is a piece of its arguments, or all of them.
	Args string

	more []abi.Event // with further pieces
}

// EntryKind says what of an entry is written anew.
type EntryKind uint8

// The kinds.
const (
	AsItCame   EntryKind = iota // nothing
	Renumbered                  // its index
	Begins                      // the beginning of a call, with a piece of its arguments
	GoesOn                      // a further piece
)

// Change returns the change of a choice, by its place.
func (f *Frame) Change(place int) *Change {
	for len(f.changes) <= place {
		f.changes = append(f.changes, Change{})
	}
	return &f.changes[place]
}

// own gives the change memory of its own.
func (c *Change) own() {
	c.events = slices.Clone(c.events)
	c.entries, c.late = slices.Clone(c.entries), slices.Clone(c.late)
}

// PutText puts events in the place of the choice's text: content, reasoning and the calls that
// were read from it, each with its index, name and id. No events leave nothing of the text.
// reasoning is the name of the member that their reasoning goes to.
func (c *Change) PutText(events []abi.Event, reasoning string) {
	c.text, c.events, c.split = true, events, reasoning
}

// SeeText is PutText for whoever reads the frame behind the caller, and does not change what
// goes out.
func (c *Change) SeeText(events []abi.Event) { c.seen, c.events = true, events }

// SetEvents puts other events in the place of those that were put or seen.
func (c *Change) SetEvents(events []abi.Event) { c.events = events }

// PutLate puts entries in front of the choice's finish reason, in chunks of their own:
// clients take a delta to hold the piece of one call, and stop reading one that has a
// finish reason.
func (c *Change) PutLate(entries []Entry) { c.late = entries }

// PutFinish gives the choice another finish reason, if it has one; in a whole answer also in the
// place of null.
func (c *Change) PutFinish(reason string) { c.finish = reason }

// changes reports whether anything goes out in another way.
func (c *Change) changes() bool {
	return c.text || c.calls || len(c.late) > 0 || c.finish != "" || c.reasoning != ""
}

// says reports whether a client would act on what the choice has become.
func (c *Change) says(choice *Choice) bool {
	text, calls := choice.SaysText, choice.calls
	if c.text {
		text = slices.ContainsFunc(c.events, func(e abi.Event) bool {
			return e.Kind == abi.CallStart || e.Kind == abi.Args || strings.TrimSpace(e.Text) != ""
		})
	}
	if c.calls {
		calls = len(c.entries) > 0
	}
	return text || calls || len(c.late) > 0 || choice.beside
}

// further reports whether calls go out behind those in the choice's own tool_calls, before its
// end.
func (c *Change) further(choice *Choice) bool {
	own := len(c.entries) > 0 || !c.calls && choice.calls
	return own && (len(c.late) > 0 || c.text && slices.ContainsFunc(c.events, func(e abi.Event) bool { return e.Kind == abi.CallStart }))
}

// PutCalls puts entries in the place of a choice's tool_calls, but those that say nothing.
func (f *Frame) PutCalls(place int, entries []Entry) {
	c := f.Change(place)
	c.calls = true
	c.entries = slices.DeleteFunc(entries, func(e Entry) bool { return !e.says(f.Data) })
}

// PutReasoningName gives the choice's own reasoning another member's name, if the body has
// no member of that name. It reports whether there was something to rename.
func (f *Frame) PutReasoningName(place int, name string) bool {
	var key Span
	found, taken := 0, false
	body := f.Choices()[place].Body
	c := cursor{b: f.Data[:body.End], i: body.Start}
	c.each('{', func(_ int, k []byte) bool {
		from := c.key
		v := c.value()
		taken = taken || string(k) == name
		if IsReasoning(string(k)) && !v.IsNull(f.Data) {
			found++
			key = Span{from, from + len(k) + len(`""`)}
		}
		return true
	})
	if taken || found != 1 {
		return false
	}
	p := f.Change(place)
	p.reasoning, p.key = name, key
	return true
}

// Changed reports whether the frame goes out with other bytes than it came with.
func (f *Frame) Changed() bool {
	for i := range f.changes {
		if f.changes[i].changes() {
			return true
		}
	}
	return f.extra
}

// Events are what was put in the place of a choice's text, or seen in it. ok is false where
// its text is its content, as it came.
func (f *Frame) Events(place int) (events []abi.Event, ok bool) {
	if place >= len(f.changes) || !f.changes[place].text && !f.changes[place].seen {
		return nil, false
	}
	return f.changes[place].events, true
}
