package wire

import (
	"slices"

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

// change is what goes out in the place of a part of a choice.
type change struct {
	text, seen bool // events stand for its content, or were only seen in it
	events     []abi.Event
	calls      bool // entries stand for its tool_calls
	entries    []Entry
	late       []Entry
	finish     string
	reasoning  string // what its reasoning is called
	key        Span   // of its reasoning
	split      string // what reasoning is called that the events bring
	emptied    bool   // its body went out in a chunk before
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

// change returns the change of a choice, by its place.
func (f *Frame) change(place int) *change {
	for len(f.changes) <= place {
		f.changes = append(f.changes, change{})
	}
	return &f.changes[place]
}

// own gives the change memory of its own.
func (c *change) own() {
	c.events = slices.Clone(c.events)
	c.entries, c.late = slices.Clone(c.entries), slices.Clone(c.late)
}

// PutText puts events in the place of a choice's text: content, reasoning and the calls that
// were read from it, each with its index, name and id. No events leave nothing of the text.
// reasoning is the name of the member that their reasoning goes to.
func (f *Frame) PutText(place int, events []abi.Event, reasoning string) {
	c := f.change(place)
	c.text, c.events, c.split = true, events, reasoning
}

// SeeText is PutText for whoever reads the frame behind the caller, and does not change what
// goes out.
func (f *Frame) SeeText(place int, events []abi.Event) {
	c := f.change(place)
	c.seen, c.events = true, events
}

// PutCalls puts entries in the place of a choice's tool_calls, but those that say nothing.
func (f *Frame) PutCalls(place int, entries []Entry) {
	c := f.change(place)
	c.calls = true
	c.entries = slices.DeleteFunc(entries, func(e Entry) bool { return !e.says(f.Data) })
}

// SetEvents puts other events in the place of those that were put or seen.
func (f *Frame) SetEvents(place int, events []abi.Event) { f.changes[place].events = events }

// PutLate puts entries in front of the choice's finish reason, in chunks of their own:
// clients take a delta to hold the piece of one call, and stop reading one that has a
// finish reason.
func (f *Frame) PutLate(place int, entries []Entry) {
	f.change(place).late = entries
}

// PutFinish gives a choice that has a finish reason another one.
func (f *Frame) PutFinish(place int, reason string) { f.change(place).finish = reason }

// PutReasoningName gives the choice's own reasoning another member's name, if the body has
// no member of that name. It reports whether there was something to rename.
func (f *Frame) PutReasoningName(place int, name string) bool {
	key := f.reasoningKey(place, name)
	if key.Empty() {
		return false
	}
	c := f.change(place)
	c.reasoning, c.key = name, key
	return true
}

// Changed reports whether the frame goes out with other bytes than it came with.
func (f *Frame) Changed() bool {
	for i := range f.changes {
		if c := &f.changes[i]; c.text || c.calls || len(c.late) > 0 || c.finish != "" || c.reasoning != "" {
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

// Entries are what was put in the place of a choice's tool_calls, and in front of its end. ok
// is false where they go out as they came.
func (f *Frame) Entries(place int) (entries, late []Entry, ok bool) {
	if place >= len(f.changes) {
		return nil, nil, false
	}
	c := &f.changes[place]
	return c.entries, c.late, c.calls
}
