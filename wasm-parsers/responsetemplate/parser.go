package responsetemplate

import (
	"unicode/utf8"

	"github.com/callgate/callgate/sdk"
)

// maxRegion is how long the text of a region may be that is read as a whole.
const maxRegion = 1 << 20

// maxMarker is how long a marker may be.
const maxMarker = 4 << 10

// parser reads one output with a template. All places are counted from the start
// of the output; buf holds what is still needed, from place off on.
type parser struct {
	t       *template
	depth   int // how deep JSON may nest
	buf     []byte
	off     int
	opens   *machine
	closers map[*field]*machine
	reason  sdk.Reason
	plain   plain
	spent   int // bytes that transforms have written

	region      // the open region
	trusted int // closing markers before this place are not doubted a second time
}

// region is where the parser is. Outside a region field is nil.
type region struct {
	*field

	start   int // of the opening marker
	body    int // behind the opening marker
	names   []string
	values  []node
	json    *jsonText
	spoiled bool // too long to be read; its text is content
	doubted bool // a closing marker lay inside a JSON string
	from    int  // the first such marker
	to      int
}

func newParser(t *template, depth int) *parser {
	p := &parser{t: t, depth: depth, opens: newMachine(t.open), closers: map[*field]*machine{}}
	p.opens.maxAge = maxMarker
	if t.first != nil {
		p.enter(region{field: t.first})
		p.plain.behind(t.first.role, 0)
	}
	return p
}

// Feed reads the next bytes.
func (p *parser) Feed(b []byte, out *sdk.Out) {
	p.buf = append(p.buf, b...)
	for p.step(out, false) {
	}
	p.compact()
}

// Finish reads what is left. The region is the whole output.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	p.reason = reason
	for p.step(out, true) {
	}
	out.End(p.total())
}

func (p *parser) total() int { return p.off + len(p.buf) }

func (p *parser) bytes(from, to int) []byte { return p.buf[from-p.off : to-p.off] }

// compact forgets text that has been given out, but for the last character,
// which a search may have to know.
func (p *parser) compact() {
	if n := p.plain.given - p.off - utf8.UTFMax; n > len(p.buf)/2 {
		p.off += n
		p.buf = p.buf[:copy(p.buf, p.buf[n:])]
	}
}

// step reads to the next marker and reports whether there is more to read.
func (p *parser) step(out *sdk.Out, end bool) bool {
	if p.endless() {
		return p.stepJSON(out, end)
	}
	m := p.machine()
	found := m.search(p.buf, p.off, false)
	hold := m.hold()
	if !found && end {
		found = m.search(p.buf, p.off, true)
	}
	// If the end of the output closes the region, what is held may be half a marker.
	atEnd := found && end && p.waits() && m.best[0] == p.total()
	if found && !atEnd {
		hold = m.best[0]
	}
	if p.read(hold, out) {
		return true
	}
	if found && (!atEnd || p.reason == sdk.Stop && !p.jsonDone(hold)) {
		p.marker(m, out)
		return true
	}
	return end && p.unfinished(hold, out)
}

// read reads the text up to the next marker, or what may be one. It reports true
// if the region ended with a mistake in it.
func (p *parser) read(hold int, out *sdk.Out) bool {
	if p.waits() {
		return p.collect(hold, out)
	}
	p.plain.give(p, hold, out)
	return false
}

// waits tells whether the region's text is kept until it is complete.
func (r *region) waits() bool { return r.field != nil && r.structured && !r.spoiled }

// endless tells whether the region ends with its JSON.
func (r *region) endless() bool { return r.waits() && r.closes == nil && r.json != nil }

// machine is the one that looks for the next marker.
func (p *parser) machine() *machine {
	if p.field == nil || p.closes == nil {
		return p.opens
	}
	m := p.closers[p.field]
	if m == nil {
		m = newMachine(p.close)
		m.maxAge = maxMarker
		p.closers[p.field] = m
	}
	return m
}

// enter opens a region, or leaves it if r has no field, and goes on at r.body.
func (p *parser) enter(r region) {
	p.region = r
	if r.field != nil && r.structured && r.content.name == contentJSON {
		p.json = newJSONText(r.content, r.body, p.depth)
	}
	p.goOn(r.body)
}

// goOn looks for the next marker from a place on.
func (p *parser) goOn(at int) {
	prev := rune(-1)
	if at > p.off {
		prev, _ = utf8.DecodeLastRune(p.buf[:at-p.off])
	}
	p.machine().reset(at, prev)
}

// marker reads a marker that was found.
func (p *parser) marker(m *machine, out *sdk.Out) {
	if p.field != nil {
		from, to := m.best[0], m.end
		if p.closes == nil {
			to = from
		} else if p.doubt(from, to) {
			return
		}
		closing := p.closing(m)
		p.leave(from, to, closing, out)
		if p.field != nil || m != p.opens {
			return
		}
	}
	p.open(m, out)
}

// open begins the region of an opening marker.
func (p *parser) open(m *machine, out *sdk.Out) {
	f := p.t.opened[m.number]
	r := region{field: f, start: m.best[0], body: m.end}
	r.names, r.values = p.groups(m, f.opens)
	if !f.structured {
		p.plain.before(p, f.role, r.start, out)
		p.plain.behind(f.role, r.body)
	}
	p.enter(r)
}

// groups are the named groups of a match of pat.
func (p *parser) groups(m *machine, pat *pattern) (names []string, values []node) {
	for i, name := range pat.groups {
		n := node{}
		if b, ok := m.group(i, p.buf, p.off); ok {
			n = node{kind: text, text: string(b)}
		}
		names, values = append(names, name), append(values, n)
	}
	return names, values
}

// closing are the groups of the marker that closes the region, behind those of
// the one that opened it.
func (p *parser) closing(m *machine) region {
	r := p.region
	if p.closes != nil {
		names, values := p.groups(m, p.closes)
		r.names, r.values = append(r.names, names...), append(r.values, values...)
	}
	return r
}
