package responsetemplate

import "github.com/callgate/callgate/sdk"

// maxSpace is how much white space waits for what follows it; more of it is text.
const maxSpace = 64 << 10

// plain gives out text that is passed on as it comes. White space that touches a
// marker is part of the markup, unless the marker is of a region of content, which
// may stand in the middle of a sentence.
type plain struct {
	given int  // the text before this place was given out or is markup
	seen  int  // the text from given to here is white space
	lead  bool // a marker precedes
	keep  bool // the white space is longer than any markup's
}

// before gives out white space in front of a region if that is not markup.
func (t *plain) before(p *parser, region role, at int, out *sdk.Out) {
	if region == toContent && !t.lead {
		t.put(p.t.rest.role, p.bytes(t.given, at), out)
	}
}

// behind goes on behind a marker of a region.
func (t *plain) behind(region role, at int) {
	*t = plain{given: at, seen: at, lead: region != toContent}
}

// raw gives out the text up to a place as it is, as content.
func (t *plain) raw(p *parser, to int, out *sdk.Out) {
	out.Content(p.bytes(t.given, to))
	*t = plain{given: to, seen: to}
}

// give gives out the text up to a place, but for white space at its end.
func (t *plain) give(p *parser, to int, out *sdk.Out) {
	if p.spoiled {
		t.raw(p, to, out)
		return
	}
	if t.lead {
		t.given += space(p.bytes(t.given, to), 0)
		t.seen = t.given
		t.lead = t.given == to
	}
	last := to
	for last > t.seen && isSpace(p.buf[last-1-p.off]) {
		last--
	}
	if last > t.seen {
		t.put(p.textRole(), p.bytes(t.given, last), out)
		t.given, t.keep = last, false
	}
	t.seen = to
	if t.keep = t.keep || to-t.given > maxSpace; t.keep {
		t.put(p.textRole(), p.bytes(t.given, to), out)
		t.given = to
	}
}

// finish gives out all text up to the end of the output.
func (t *plain) finish(p *parser, to int, out *sdk.Out) {
	t.give(p, to, out)
	t.put(p.textRole(), p.bytes(t.given, to), out)
	t.given = to
}

// put gives out text of a role.
func (t *plain) put(r role, b []byte, out *sdk.Out) {
	switch r {
	case toReasoning:
		out.Reasoning(b)
	case dropped:
	default:
		out.Content(b)
	}
}

// textRole says what becomes of the text where the parser is.
func (p *parser) textRole() role {
	if p.field == nil {
		return p.t.rest.role
	}
	return p.role
}
