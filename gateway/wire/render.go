package wire

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/sdk/abi"
)

// AppendTo appends the frame as it goes out: as it came, or with what was put into it; as one
// block of a stream, as several, or as none if nothing is left in it.
//
// Clients take a delta to hold text or the piece of one call, and stop reading one that has
// a finish reason. So what does not fit into a chunk gets chunks of its own, before the one
// with the finish reason and otherwise behind it. These have the members of the chunk, but no
// usage and nothing else of its choices: a client would have those twice.
func (f *Frame) AppendTo(dst []byte) []byte {
	switch {
	case !f.Changed():
		return append(dst, f.Raw...)
	case f.Whole:
		const more = 1 << 10 // what is read from a text is seldom longer
		w := writer{f: f, out: slices.Grow(dst, len(f.Data)+more), left: f.left()}
		_ = w.patched() // of a completion nothing is dropped
		return w.out
	}
	w := writer{f: f, out: dst, left: f.left(), before: dataBefore, after: dataAfter}
	raw := f.Raw[originsSize(f.Raw):]                        // which are of what came, and not of what it has become
	if at := bytes.Index(raw, f.Data); at >= 0 && !f.extra { // the data came on one line
		w.before, w.after = raw[:at], raw[at+len(f.Data):]
	}
	w.write()
	return w.out
}

// Bytes is the frame as it goes out. Those of one that goes out as it came are its own: they are
// not to be changed, and valid no longer than the frame.
func (f *Frame) Bytes() []byte {
	if !f.Changed() {
		return slices.Clip(f.Raw)
	}
	return f.AppendTo(nil)
}

// writer writes a frame of a stream that has changed.
type writer struct {
	f             *Frame
	out           []byte
	before, after []byte        // the data of a block
	from          int           // where the data of the block at hand begins
	left          [][]abi.Event // by choice, what is to be written of its events
	ends          bool          // nothing may come behind the frame's own chunk
	base          base          // of further chunks
}

// What is around the data of a block.
var dataBefore, dataAfter = []byte("data: "), []byte("\n\n")

// left is the events of each choice.
func (f *Frame) left() [][]abi.Event {
	left := make([][]abi.Event, len(f.choices))
	for i := range f.choices {
		if c := f.Change(i); c.text {
			left[i] = c.events
		}
	}
	return left
}

// write writes the frame, and the further chunks that its changes take.
func (w *writer) write() {
	f := w.f
	w.ends = f.extra || f.Finishes() || w.bodiless()
	for i := range f.choices {
		if w.ahead(i) {
			w.further(func() {
				w.choice(i, func() {
					b := newBody(f, i, nil)
					w.out = b.append(w.out, f.choices[i].Body)
				}, "")
			})
		}
	}
	for w.ends && w.pending() {
		w.text()
	}
	for i := range f.choices {
		w.late(i)
	}
	if f.extra {
		for i := range f.choices {
			if finish := f.changes[i].finish; finish != "" {
				w.further(func() { w.choice(i, func() { w.out = append(w.out, "{}"...) }, finish) })
			}
		}
		return
	}
	pending, start := w.pending(), len(w.out)
	w.begin()
	if says := w.patched(); says || pending {
		w.end()
	} else {
		w.out = w.out[:start]
	}
	for w.pending() {
		w.text()
	}
}

// bodiless reports whether a choice has events and no delta to put them in.
func (w *writer) bodiless() bool {
	for i := range w.left {
		if len(w.left[i]) > 0 && w.f.choices[i].Body.Empty() {
			return true
		}
	}
	return false
}

// late writes the entries of a choice that have chunks of their own.
func (w *writer) late(place int) {
	late := w.f.changes[place].late
	for k := range late {
		w.further(func() {
			w.choice(place, func() {
				w.out = late[k].append(append(w.out, `{"tool_calls":[`...), nil, true)
				w.out = append(w.out, "]}"...)
			}, "")
		})
	}
}

// pending reports whether there are events left that a client sees.
func (w *writer) pending() bool {
	for _, events := range w.left {
		for i := range events {
			if events[i].Kind != abi.CallEnd {
				return true
			}
		}
	}
	return false
}

// take takes those of a choice's events that go into one delta. In a chunk with several
// choices each delta takes all.
func (w *writer) take(place int) []abi.Event {
	events := w.left[place]
	n := len(events)
	if len(w.left) == 1 && !w.f.Whole {
		n = group(events)
	}
	w.left[place] = events[n:]
	return events[:n]
}

// group is how many of the events go into one delta.
func group(events []abi.Event) int {
	shown := false // a client sees something of the events before
	for i := range events {
		e := &events[i]
		if shown && (e.Kind == abi.CallStart || isText(e) && !isText(&events[i-1])) {
			return i
		}
		shown = shown || e.Kind != abi.CallEnd
	}
	return len(events)
}

// isText reports whether an event is a text of the model: content or reasoning.
func isText(e *abi.Event) bool { return e.Kind == abi.Content || e.Kind == abi.Reasoning }

// begin begins a block.
func (w *writer) begin() {
	w.out = append(w.out, w.before...)
	w.from = len(w.out)
}

// end ends a block, with its data on one line. Where it came on several the line ends stand
// between values of JSON.
func (w *writer) end() {
	for data := w.out[w.from:]; ; {
		at := bytes.IndexByte(data, '\n')
		if at < 0 {
			break
		}
		data[at] = ' '
		data = data[at:]
	}
	w.out = append(w.out, w.after...)
}

// text writes a chunk with nothing but events.
func (w *writer) text() {
	w.further(func() {
		for i := range w.left {
			if len(w.left[i]) > 0 {
				events := w.take(i)
				w.choice(i, func() {
					b := newBody(w.f, i, events)
					w.out = b.append(w.out, Span{})
				}, "")
			}
		}
	})
}

// ahead reports whether a choice's own delta goes out in a chunk of its own, in front of all
// that has to come before its end: calls are numbered in the order in which they begin.
func (w *writer) ahead(place int) bool {
	choice := &w.f.choices[place]
	return w.ends && !choice.Body.Empty() && w.f.changes[place].further(choice)
}

// further writes a chunk like the frame's with other choices.
func (w *writer) further(choices func()) {
	if w.base.data == nil {
		w.base = newBase(w.f)
	}
	w.begin()
	w.out = w.base.open(w.out)
	choices()
	w.out = w.base.close(w.out)
	w.end()
}

// choice writes a choice of a further chunk.
func (w *writer) choice(place int, delta func(), finish string) {
	if w.out[len(w.out)-1] == '}' {
		w.out = append(w.out, ',')
	}
	w.out = AppendInt(append(w.out, `{"index":`...), w.f.choices[place].Index)
	w.out = append(w.out, `,"delta":`...)
	delta()
	w.out = append(w.out, `,"finish_reason":`...)
	if finish == "" {
		w.out = append(w.out, "null}"...)
		return
	}
	w.out = append(append(append(w.out, '"'), finish...), `"}`...)
}

// patched writes the frame's own chunk with what it has become. It reports whether that says
// anything, or never was about what the choices say.
func (w *writer) patched() (says bool) {
	f := w.f
	f.look()
	p := patch{writer: w, says: len(f.choices) == 0 || !f.usage.IsNull(f.Data)}
	for i := range f.choices {
		if f.choices[i].Finish.Start < f.choices[i].Body.Start { // as some servers write them
			p.finish(i)
			p.body(i)
		} else {
			p.body(i)
			p.finish(i)
		}
	}
	w.out = append(w.out, f.Data[p.from:]...)
	return p.says || !p.edited
}

// patch writes a chunk anew, from its beginning to its end.
type patch struct {
	*writer
	from   int  // what is before it has been written
	says   bool // something in it does
	edited bool // a body was
}

// put writes something in the place of a part of the chunk.
func (p *patch) put(at Span, with ...string) {
	p.out = append(p.out, p.f.Data[p.from:at.Start]...)
	for _, s := range with {
		p.out = append(p.out, s...)
	}
	p.from = at.End
}

// body writes the body of a choice, with what was put into it.
func (p *patch) body(place int) {
	at, c := p.f.choices[place].Body, &p.f.changes[place]
	switch {
	case at.Empty(): // nobody knows what that is
		p.says = true
	case p.ahead(place):
		p.put(at, "{}")
		p.edited = true
	case c.text || c.calls:
		p.put(at)
		start := len(p.out)
		b := newBody(p.f, place, p.take(place))
		p.out = b.append(p.out, at)
		p.edited, p.says = true, p.says || len(p.out)-start > len("{}")
	case c.reasoning != "":
		p.put(c.key, `"`, c.reasoning, `"`)
		p.says = true
	default:
		b := at.Of(p.f.Data)
		p.says = p.says || len(b) < 2 || b[0] != '{' || !Blank(b[1:len(b)-1])
	}
}

// finish writes the finish reason of a choice: another one, if one was put.
func (p *patch) finish(place int) {
	choice, c := &p.f.choices[place], &p.f.changes[place]
	p.says = p.says || choice.Reason != ""
	if c.finish != "" && (choice.Reason != "" || p.f.Whole && !choice.Finish.Empty()) {
		p.put(choice.Finish, `"`, c.finish, `"`)
	}
}

// base is a chunk without its choices, to write further ones by.
type base struct {
	data        []byte
	list, usage Span
}

// maxBase is how many bytes a chunk may have of which further ones are made. Of a larger one
// they have the few members that clients read: many may be made of it, and what it holds
// besides must not multiply.
const maxBase = 16 << 10

// newBase is that of a frame.
func newBase(f *Frame) base {
	f.look()
	if len(f.Data) <= maxBase {
		return base{f.Data, f.list, f.usage}
	}
	small := []byte{'{'}
	Members(f.Data, 0, func(key []byte, v Span) bool {
		switch string(key) {
		case "id", "object", "created", "model":
			if v.End-v.Start <= maxBase/4 {
				small = append(AppendKey(small, string(key)), v.Of(f.Data)...)
			}
		}
		return true
	})
	small = AppendKey(small, "choices")
	at := len(small)
	return base{append(small, "[]}"...), Span{at, at + len("[]")}, Span{}}
}

// open appends what stands in front of the choices, and close what stands behind them.
func (b *base) open(dst []byte) []byte {
	return append(b.part(dst, 0, b.list.Start), '[')
}

func (b *base) close(dst []byte) []byte {
	return b.part(append(dst, ']'), b.list.End, len(b.data))
}

// part appends a part of the chunk, without its usage.
func (b *base) part(dst []byte, from, to int) []byte {
	if u := b.usage; !u.IsNull(b.data) && u.Start >= from && u.End <= to {
		return append(append(append(dst, b.data[from:u.Start]...), "null"...), b.data[u.End:to]...)
	}
	return append(dst, b.data[from:to]...)
}

// Bare is the data of the frame without its choices and its usage.
func (f *Frame) Bare() []byte {
	b := newBase(f)
	return b.close(b.open(nil))
}
