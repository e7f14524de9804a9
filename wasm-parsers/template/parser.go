package template

import (
	"bytes"
	"unicode/utf8"

	"github.com/callgate/callgate/sdk"
)

// parser reads one output. Places are counted from the start of the output; buf
// holds what is still needed, from place off on.
type parser struct {
	t       *template
	options sdk.Options
	buf     []byte
	off     int
	pos     int // the text before is given out, or is markup
	scan    *scanner
	outside *watch            // what is looked for outside of regions
	closes  map[*field]*watch // what is looked for inside
	reread  int               // bytes that were read again
	spent   bool              // too many were: no marker is looked for any more
	regions bool              // a region was opened
	prose   bool              // the text in front of the next region is no framing

	region  // the open one; field is nil outside
	content texts
	thought texts
}

// region is a part of the output between two markers.
type region struct {
	*field
	start  int // of the opening marker
	body   int // behind it
	values []value
	keys   []string
	watch  *stringWatch // of a region of JSON
	passed int          // the end of the first closing marker that was passed over, or 0
}

func newParser(t *template, o sdk.Options) *parser {
	p := &parser{t: t, options: o, closes: map[*field]*watch{}}
	var markers []marker
	for _, f := range t.fields {
		if f.open != nil {
			markers = append(markers, marker{f.open, f, true})
		}
	}
	if t.implicit != nil && t.implicit.close != nil {
		markers = append(markers, marker{t.implicit.close, t.implicit, false})
	}
	p.outside = newWatch(markers, maxMarker)
	p.scan = newScanner(p.outside)
	p.begin()
	return p
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	p.buf = append(p.buf, text...)
	p.read(out, false, false)
	p.give(p.hold(), out)
	p.compact()
}

// Finish implements sdk.Parser. The region is the whole output.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	for again := true; again; {
		p.read(out, true, reason == sdk.Length)
		again = p.end(reason, out)
	}
	out.End(p.total())
}

func (p *parser) total() int { return p.off + len(p.buf) }

func (p *parser) bytes(from, to int) []byte { return p.buf[from-p.off : to-p.off] }

// read acts on every marker in the text.
func (p *parser) read(out *sdk.Out, ends, cut bool) {
	for !p.spent && p.scan.next(p.buf, p.off, ends, cut) {
		m := p.scan.found
		switch {
		case m.opens:
			p.open(&m, out)
		case p.field == nil:
			p.give(m.start, out)
			p.begin()
			p.goOn(m.end)
		case p.watch != nil && p.watch.inside(p.buf, p.off, m.start):
			if !p.passOver(&m) {
				return
			}
		default:
			p.close(&m, out)
		}
	}
}

// hold is the place up to which the text is known not to be a marker.
func (p *parser) hold() int {
	if p.spent {
		return p.total()
	}
	return p.scan.hold()
}

// goOn looks for what comes next from a place on.
func (p *parser) goOn(at int) {
	p.reread += max(0, p.scan.pos-at)
	p.spent = p.spent || p.reread > rescanTimes*p.scan.pos+rescanFree
	p.pos = max(p.pos, at)
	p.scan.turn(p.markers(), p.buf, p.off, at)
}

// markers are what is looked for where the parser is.
func (p *parser) markers() *watch {
	if p.field == nil {
		return p.outside
	}
	w := p.closes[p.field]
	if w == nil {
		var markers []marker
		if p.field.close != nil {
			markers = []marker{{p.field.close, p.field, false}}
		}
		w = newWatch(markers, maxMarker)
		p.closes[p.field] = w
	}
	return w
}

// open begins a region.
func (p *parser) open(m *found, out *sdk.Out) {
	p.leave(m.start, out)
	p.regions = true
	p.region = region{field: m.field, start: m.start, body: m.end}
	p.takeGroups(m)
	if m.field.role == toCalls && m.field.content.name == contentJSON {
		p.watch = &stringWatch{c: m.field.content, at: m.end}
	}
	p.begin()
	p.goOn(m.end)
	if p.whole() {
		p.pos = m.start // the marker is given back if the region cannot be read
	}
}

// takeGroups keeps the named groups of a marker. It copies them, as buf moves.
func (p *parser) takeGroups(m *found) {
	for i, name := range m.machine.prog.groups {
		if b, ok := m.group(i, p.buf, p.off); ok {
			p.keys, p.values = append(p.keys, name), append(p.values, value{kind: isText, text: string(b)})
		}
	}
}

// whole tells whether the region is read as a whole.
func (p *parser) whole() bool { return p.field != nil && p.role == toCalls }

// passOver takes a closing marker inside a string of JSON for a part of the string.
// It reports false at the end of the text.
func (p *parser) passOver(m *found) bool {
	at := m.end
	if at == m.start { // it matched nothing, in front of something
		_, size := utf8.DecodeRune(p.bytes(at, p.total()))
		at += size
	}
	if at == m.start {
		return false
	}
	if p.passed == 0 {
		p.passed = m.end
	}
	p.scan.turn(p.markers(), p.buf, p.off, at)
	return true
}

// close ends a region at its closing marker.
func (p *parser) close(m *found, out *sdk.Out) {
	if !p.whole() {
		p.give(m.start, out)
		p.finishRegion(m.end)
		return
	}
	p.takeGroups(m)
	r := reader{depth: p.options.MaxDepth}
	if p.readCalls(&r, m.start, out) {
		p.finishRegion(m.end)
		return
	}
	if p.retry(out) {
		return
	}
	p.salvage(m.start, out)
	p.giveBack(m.end, out)
}

// retry takes the first closing marker that was passed over for one, after the
// JSON turned out to be none.
func (p *parser) retry(out *sdk.Out) bool {
	if p.passed == 0 || p.spent {
		return false
	}
	p.giveBack(p.passed, out)
	return true
}

// giveBack gives the region up to a place out as content, and goes on there.
func (p *parser) giveBack(to int, out *sdk.Out) {
	p.content.begin(nil)
	p.content.write(p.bytes(p.start, to), out.Content)
	p.finishRegion(to)
}

func (p *parser) finishRegion(at int) {
	p.region = region{}
	p.begin()
	p.goOn(at)
}

// begin begins a run of text.
func (p *parser) begin() {
	p.prose = false
	switch f := p.current(); {
	case f == nil:
		p.content.begin(nil)
	case f.role == toReasoning:
		p.thought.begin(f)
	case f.role == toContent:
		p.content.begin(f)
	}
}

// current is the field that takes the text, nil if none does.
func (p *parser) current() *field {
	if p.field != nil {
		return p.field
	}
	return p.t.implicit
}

// give gives out the text up to a place, as far as it is passed on as it comes.
func (p *parser) give(to int, out *sdk.Out) {
	if to <= p.pos || p.whole() {
		return
	}
	f := p.current()
	if f == nil {
		if p.prose = p.prose || p.spent || to-p.pos > maxFraming; !p.prose {
			return // it may be framing
		}
	}
	text := p.bytes(p.pos, to)
	p.pos = to
	switch {
	case f == nil || f.role == toContent:
		p.content.write(text, out.Content)
	case f.role == toReasoning:
		p.thought.write(text, out.Reasoning)
	}
}

// maxFraming is how long framing between two regions may be. Longer text is the
// model's.
const maxFraming = 1 << 10

// leave gives out the text in front of a region. Where no field takes what is left
// over it is framing, such as a header of the next message, if it has markup in it.
func (p *parser) leave(to int, out *sdk.Out) {
	p.give(to, out)
	if p.pos < to {
		p.giveFraming(to, out)
	}
	p.pos = to
}

func (p *parser) giveFraming(to int, out *sdk.Out) {
	if text := p.bytes(p.pos, to); !bytes.ContainsAny(text, "<[|") {
		p.content.write(text, out.Content)
	}
	p.pos = to
}

// end reads what the end of the output leaves open. It reports whether the text
// has to be read on from an earlier place.
func (p *parser) end(reason sdk.Reason, out *sdk.Out) bool {
	all := p.total()
	if p.whole() {
		return p.endRegion(reason, out)
	}
	if reason == sdk.Length && p.field == nil && p.begunCall() {
		p.give(p.scan.begun, out)
		out.Cut()
		return false
	}
	p.give(all, out)
	switch {
	case p.pos == all:
	case !p.regions:
		p.content.write(p.bytes(p.pos, all), out.Content) // the template does not fit
	default:
		p.giveFraming(all, out)
	}
	return false
}

// begunCall tells whether the output ends inside the opening marker of a call.
func (p *parser) begunCall() bool {
	if p.spent || p.scan.begun < 0 {
		return false
	}
	text := trim(p.bytes(p.scan.begun, p.total()))
	for _, f := range p.t.fields {
		if f.role == toCalls && f.open.opens != "" && bytes.HasPrefix(text, []byte(f.open.opens)) {
			return true
		}
	}
	return false
}

// endRegion reads a region of calls that the end of the output closes. Behind
// begun there may be a part of the closing marker. A token limit cuts what is not
// known to be complete: anything but JSON and a list of calls.
func (p *parser) endRegion(reason sdk.Reason, out *sdk.Out) bool {
	all := p.total()
	hold := all
	if !p.spent && p.scan.begun >= p.body {
		hold = p.scan.begun
	}
	if c := p.field.content.name; reason == sdk.Stop || c == contentJSON || c == contentCalls {
		for _, to := range []int{hold, all} {
			r := reader{depth: p.options.MaxDepth, open: p.field.close != nil || reason == sdk.Length}
			if p.readCalls(&r, to, out) {
				return false
			}
		}
	}
	switch {
	case reason == sdk.Length:
		p.salvage(all, out)
		out.Cut()
	case p.retry(out):
		return true
	default:
		p.salvage(all, out)
		p.giveBack(all, out)
	}
	return false
}

// compact forgets text that is not needed any more, but for what a lookbehind or
// an assertion may have to see.
func (p *parser) compact() {
	keep := p.pos - maxBehind
	if !p.spent {
		keep = min(p.pos, p.scan.pos) - maxBehind
	}
	if p.whole() {
		keep = min(keep, p.start-maxBehind)
	}
	if n := keep - p.off; n > len(p.buf)/2 {
		p.off += n
		p.buf = p.buf[:copy(p.buf, p.buf[n:])]
	}
}
