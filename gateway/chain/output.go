package chain

import (
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// writer is the text that was read, what goes out of it, and what there is to say of that.
type writer struct {
	at      place
	out     output
	report  Report
	block   codeBlock
	made    made
	left    leftover
	noTools bool // the request offers none
}

// write gives out text but for white space that may turn out to touch markup.
func (w *writer) write(kind abi.Kind, text []byte) {
	w.at.read(text)
	w.put(kind, text)
}

// put is write for text whose place was read already.
func (w *writer) put(kind abi.Kind, text []byte) {
	if w.block.state != noBlock && w.inBlock(kind, text) {
		return
	}
	w.report.Reasoned = w.report.Reasoned || kind == abi.Reasoning
	w.say(kind, text)
}

// say gives out text that nothing waits for.
func (w *writer) say(kind abi.Kind, text []byte) {
	if kind == abi.Content {
		w.left.add(text)
	}
	w.out.write(kind, text)
}

// finish gives out what waits at the end of the output.
func (w *writer) finish() {
	w.endBlock(true)
	w.out.finish()
}

// passed notes content that was given out past write, all of it.
func (w *writer) passed(text []byte) {
	w.at.read(text)
	w.left.add(text)
	w.out.sides[0].wrote = true
}

// give gives an event of a parser out. In the answer to a request without tools a call is text.
func (w *writer) give(e *abi.Event, parser string) {
	switch {
	case e.Kind == abi.Content, e.Kind == abi.Reasoning:
		w.write(e.Kind, []byte(e.Text))
	case w.noTools && e.Kind == abi.Args:
		w.write(abi.Content, []byte(e.Text))
	case w.noTools && e.Kind == abi.CallStart:
		w.out.edge(abi.Content)
		w.report.warn("call_without_tools")
	case w.noTools:
	default:
		w.giveCall(e, parser)
	}
}

// giveCall gives an event of a call out, unless the call was made before.
func (w *writer) giveCall(e *abi.Event, parser string) {
	switch w.made.read(e) {
	case isHeld:
		return
	case isTwice:
		w.report.warn("call_repeated")
		w.out.edge(abi.Content)
		return
	case isOver:
		for _, h := range w.made.take() {
			w.call(&h, parser)
		}
	}
	w.call(e, parser)
}

// call gives an event of a call out.
func (w *writer) call(e *abi.Event, parser string) {
	w.report.note(e, parser)
	w.block.call()
	w.left.add([]byte{'\n'})
	if e.Kind != abi.Repair {
		w.out.call(e)
	}
}

// void takes the open call back and reports whether there was one.
func (w *writer) void() bool {
	if len(w.made.take()) > 0 {
		return true
	}
	return w.out.void()
}

// output collects a chain's events and keeps the rules of white space: what touches markup
// goes, except that two pieces of content with markup between them stay as far apart as the
// model wrote the first gap; all else stays.
type output struct {
	events batch
	sides  [2]side  // content's, reasoning's
	kind   abi.Kind // of the last text
	trim   bool     // markup was the last thing: white space behind it goes
	marked bool     // there was markup
	next   int      // index of the next call
	open   int      // index of the open call, -1 if none
}

// side is what output knows of content, or of reasoning.
type side struct {
	white []byte // white space that may yet touch markup
	wrote bool   // something was written before it
	gap   bool   // there was none before the markup, so what comes behind it stays
}

// side is that of a kind.
func (o *output) side(kind abi.Kind) *side {
	if kind == abi.Reasoning {
		return &o.sides[1]
	}
	return &o.sides[0]
}

// write adds text of a kind. White space at its end waits, since markup may follow that it belongs to.
func (o *output) write(kind abi.Kind, text []byte) {
	s := o.side(kind)
	o.kind = kind
	if o.trim {
		lead := len(text) - len(chars.SkipSpace(text))
		if s.gap && s.wrote {
			s.white = append(s.white, text[:lead]...)
		}
		if text = text[lead:]; len(text) == 0 {
			return
		}
		o.trim = false
	}
	said := chars.TrimEnd(text)
	if len(said) > 0 {
		o.events.text(kind, s.white, said)
		s.white, s.wrote = s.white[:0], true
	}
	s.white = append(s.white, text[len(said):]...)
}

// edge notes that markup stood here; text of kind next follows.
func (o *output) edge(next abi.Kind) {
	content, reasoning := &o.sides[0], &o.sides[1]
	o.trim, o.marked, o.kind = true, true, next
	reasoning.white, reasoning.gap = reasoning.white[:0], true
	if !content.wrote {
		content.white = content.white[:0]
	}
	content.gap = len(content.white) == 0
}

// holding reports whether there is white space of which it is not known yet
// whether it stays.
func (o *output) holding() bool { return len(o.sides[0].white) > 0 || len(o.sides[1].white) > 0 }

// settle lets white space of content go that a reader has as it was written.
func (o *output) settle() { o.sides[0].white = o.sides[0].white[:0] }

// wasReasoning makes all content so far reasoning: the answer begins here.
func (o *output) wasReasoning() {
	o.events.add(abi.Event{Kind: wire.WasReasoning})
	o.sides[0].wrote = false
	o.settle()
}

// finish gives out white space at the end, unless it touches markup.
func (o *output) finish() {
	if s := o.side(o.kind); !o.trim && len(s.white) > 0 {
		o.events.text(o.kind, nil, s.white)
	}
	o.sides[0].white, o.sides[1].white = nil, nil
}

// call gives out an event of a call, with the chain's own index.
func (o *output) call(e *abi.Event) {
	o.edge(abi.Content)
	if e.Kind == abi.CallStart {
		o.open = o.next
		o.next++
	}
	e.Index = o.open
	o.events.add(*e)
	if e.Kind == abi.CallEnd || e.Kind == abi.Cut {
		o.open = -1
	}
}

// void takes the open call back and reports whether there was one.
func (o *output) void() bool {
	if o.open < 0 {
		return false
	}
	o.events.add(abi.Event{Kind: wire.Void, Index: o.open})
	o.open = -1
	return true
}

// batch is a list of events. Texts behind each other become one event, up to a length: an event
// for each byte that might have begun markup would take eighty times the memory of the text.
type batch struct {
	list   []abi.Event
	joined []byte // the text of the last event, once there is more of it than one piece
}

// maxJoined is how long the text of a joined event may be, in bytes.
const maxJoined = 64 << 10

// add adds an event.
func (b *batch) add(e abi.Event) {
	switch e.Kind {
	case abi.Content, abi.Reasoning, abi.Args:
		if b.goesOn(e.Kind, e.Index) {
			b.joined = append(b.joined, e.Text...)
			return
		}
	default:
		b.seal()
	}
	b.append(e)
}

// firstEvents is for how many events there is room with the first one: an answer that is plain
// has none.
const firstEvents = 8

// append adds an event.
func (b *batch) append(e abi.Event) {
	if b.list == nil {
		b.list = make([]abi.Event, 0, firstEvents)
	}
	b.list = append(b.list, e)
}

// text adds a text of two pieces.
func (b *batch) text(kind abi.Kind, head, tail []byte) {
	if b.goesOn(kind, 0) {
		b.joined = append(append(b.joined, head...), tail...)
		return
	}
	b.append(abi.Event{Kind: kind, Text: string(head) + string(tail)})
}

// goesOn reports whether a text joins the last event, and has that ready for it or closed.
func (b *batch) goesOn(kind abi.Kind, index int) bool {
	if n := len(b.list); n > 0 && b.list[n-1].Kind == kind && b.list[n-1].Index == index {
		if last := b.list[n-1].Text; len(b.joined) == 0 && len(last) < maxJoined {
			b.joined = append(b.joined, last...)
		}
		if n := len(b.joined); n > 0 && n < maxJoined {
			return true
		}
	}
	b.seal()
	return false
}

// seal closes the text that pieces were joined to: nothing more is joined to it.
func (b *batch) seal() {
	if len(b.joined) > 0 {
		b.list[len(b.list)-1].Text = string(b.joined)
		b.joined = b.joined[:0]
	}
}

// take takes the events out.
func (b *batch) take() []abi.Event {
	events := b.events()
	b.list = nil
	return events
}

// events are those that were added.
func (b *batch) events() []abi.Event {
	b.seal()
	return b.list
}

// reset forgets the events and keeps their memory.
func (b *batch) reset() { b.list, b.joined = b.list[:0], b.joined[:0] }
