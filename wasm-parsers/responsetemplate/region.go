package responsetemplate

import "github.com/callgate/callgate/sdk"

// allowance is what transforms may write besides a multiple of what was read.
const (
	allowance  = 1 << 20
	allowTimes = 16
)

// collect reads the text of a region that is read as a whole. It reports true if
// the region could not go on.
func (p *parser) collect(hold int, out *sdk.Out) bool {
	if p.json != nil {
		p.json.advance(p.buf, p.off, min(hold, p.body+maxRegion), false)
		if p.json.bad && p.doubted {
			p.rewind(p.json.pos, out)
			return true
		}
	}
	if hold-p.body <= maxRegion {
		return false
	}
	if p.doubted {
		p.rewind(p.body+maxRegion, out)
		return true
	}
	p.spoiled = true
	p.plain.give(p, hold, out)
	return false
}

// doubt passes over a closing marker that lies inside a JSON value: it is taken for
// text of a string as long as the JSON can be read. The end of the output does not.
func (p *parser) doubt(from, to int) bool {
	if p.json == nil || p.spoiled || p.json.complete || p.json.bad || from < p.trusted || from == to {
		return false
	}
	if !p.doubted {
		p.doubted, p.from, p.to = true, from, to
	}
	p.json.advance(p.buf, p.off, to, false)
	p.goOn(to)
	return true
}

// rewind goes back to the first closing marker that was doubted, because the JSON
// turned out to be none. What was read is read a second time, but not a third:
// markers before high are not doubted again.
func (p *parser) rewind(high int, out *sdk.Out) {
	p.trusted = high
	r := p.region
	r.json = nil
	p.leave(p.from, p.to, r, out)
}

// leave ends the region, whose text goes up to from, and goes on at to.
func (p *parser) leave(from, to int, r region, out *sdk.Out) {
	switch {
	case p.spoiled:
		p.plain.raw(p, to, out)
	case !p.structured:
		p.plain.give(p, from, out)
		p.plain.behind(p.role, to)
	default:
		p.value(from, to, &r, out)
	}
	p.enter(region{body: to})
}

// value reads the text of a region as the template says, or gives all of the
// region out as content if it cannot be read so.
func (p *parser) value(from, to int, r *region, out *sdk.Out) {
	n, repaired, ok := p.readContent(from, r)
	if ok {
		n, ok = p.transformed(n, to, r)
	}
	var found []call
	if ok && r.role == toCalls {
		found, ok = calls(&n, p.depth)
	}
	if !ok {
		p.plain.raw(p, to, out)
		return
	}
	p.plain.before(p, r.role, r.start, out)
	for i := range found {
		found[i].write(repaired, out)
	}
	if r.role != toCalls && n.kind != missing && n.kind != null {
		p.plain.put(r.role, []byte(n.string()), out)
	}
	p.plain.behind(r.role, to)
}

func (p *parser) readContent(from int, r *region) (n node, repaired, ok bool) {
	b := p.bytes(r.body, from)
	if r.json != nil {
		r.json.advance(p.buf, p.off, from, true)
		n, repaired, ok = r.content.fromJSON(r.json, b)
	} else {
		n, repaired, ok = r.content.read(b, p.depth)
	}
	if ok && n.raw == nil && n.kind != text {
		n.raw = n.appendJSON(nil)
	}
	return n, repaired, ok
}

// transformed applies the transforms to a value: that of the items first.
func (p *parser) transformed(n node, at int, r *region) (node, bool) {
	left := allowance + allowTimes*at - p.spent
	before := left
	defer func() { p.spent += before - left }()
	e := env{names: r.names, values: r.values, content: n, left: &left}
	if r.each != nil {
		var ok bool
		if n, ok = e.renderEach(r.each); !ok {
			return n, false
		}
	}
	if r.transform != nil {
		e.content = n
		return e.render(r.transform)
	}
	return n, true
}

// renderEach applies a transform to each item of a list, or to what is none.
func (e *env) renderEach(t *node) (node, bool) {
	list := e.content
	if list.kind != array {
		return e.render(t)
	}
	n := node{kind: array, items: make([]node, len(list.items))}
	for i := range list.items {
		e.content = list.items[i]
		var ok bool
		if n.items[i], ok = e.render(t); !ok {
			return n, false
		}
	}
	return n, true
}

// stepJSON reads a region that has no closing marker and ends with its JSON.
func (p *parser) stepJSON(out *sdk.Out, end bool) bool {
	limit := p.body + maxRegion
	j := p.json
	j.advance(p.buf, p.off, min(p.total(), limit), end)
	switch {
	case j.complete:
		at := j.end
		j.bad = false // what follows is not of the region
		p.leave(at, at, p.region, out)
	case j.bad:
		p.giveUp(max(j.pos, p.body), out)
	case p.total() > limit:
		p.giveUp(limit, out)
	case end:
		return p.unfinished(p.total(), out)
	default:
		return false
	}
	return true
}

// giveUp makes content of the region up to a place and goes on there.
func (p *parser) giveUp(at int, out *sdk.Out) {
	p.plain.raw(p, at, out)
	p.enter(region{body: at})
}

// unfinished reads what the end of the output leaves open. What follows hold may
// be the beginning of a closing marker. It reports whether there is more to read.
func (p *parser) unfinished(hold int, out *sdk.Out) bool {
	all := p.total()
	switch {
	case !p.waits():
		p.plain.finish(p, all, out)
		return false
	case p.jsonDone(hold):
		p.leave(hold, all, p.region, out)
	case p.reason == sdk.Length && p.role == toCalls:
		out.Cut()
	case p.doubted:
		p.rewind(all, out)
		return true
	case p.closes == nil && p.json == nil:
		p.leave(all, all, p.region, out)
	default:
		p.plain.raw(p, all, out)
	}
	return false
}

// jsonDone reports whether the region is JSON and, up to hold, a whole object or
// array; of a number or a word more may have been to come.
func (p *parser) jsonDone(hold int) bool {
	if p.json == nil {
		return false
	}
	p.json.advance(p.buf, p.off, hold, false)
	return p.json.ok()
}
