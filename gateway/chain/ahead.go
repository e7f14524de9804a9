package chain

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// maxAhead is how many bytes of markers that begin nothing wait.
const maxAhead = 128

// ahead is markers that wait for what is behind them.
type ahead struct {
	text   []byte
	broken bool // a parser has read one of them, and given it back as a call that is not whole
}

// take takes the text out. It is valid until there is a marker again.
func (a *ahead) take() []byte {
	text := a.text
	*a = ahead{text: text[:0]}
	return text
}

// opensAgain tells whether another marker stands right behind that of a region which nobody reads, and how
// far behind its beginning: models write what begins a call twice.
func (m *machine) opensAgain(r *region, final bool) (at int, v abi.Verdict) {
	if !m.mayRepeat(r) {
		return 0, abi.No
	}
	body := chars.SkipSpace(m.in.buf[len(r.found):])
	if at = len(m.in.buf) - len(body); at > len(r.found)+maxAhead {
		return 0, abi.No
	}
	for _, opener := range m.parsers.plan.literals[r.found].openers {
		switch common := min(len(opener), len(body)); {
		case string(body[:common]) != opener[:common]:
		case common == len(opener):
			return at, abi.Yes
		case !final:
			v = abi.Maybe
		}
	}
	if v == abi.No && r.found[len(r.found)-1] != '>' {
		return tagAgain(m.in.buf, final)
	}
	return at, v
}

// mayRepeat reports whether the marker of a region is one that models repeat, where it may be markup.
func (m *machine) mayRepeat(r *region) bool {
	n := len(r.found)
	if n == 0 || chars.IsLetter(r.found[0]) || r.site.quoted || r.site.fenced || m.thought != nil || len(m.tail) > 0 {
		return false
	}
	k := m.parsers.plan.literals[r.found]
	return k.fence == "" && !k.endToken && k.ends == nil && len(m.ahead.text)+n <= maxAhead && r.declined <= maxAhead
}

// tagAgain tells whether the tag that text begins with, which has a name in it, stands right behind itself, and how
// far behind its beginning.
func tagAgain(text []byte, final bool) (at int, v abi.Verdict) {
	end := 1 + bytes.IndexAny(text[1:min(len(text), maxAhead)], "<>\n")
	switch {
	case end == 0 && len(text) < maxAhead && !final:
		return 0, abi.Maybe
	case end == 0, text[end] != '>':
		return 0, abi.No
	}
	tag, body := text[:end+1], chars.SkipSpace(text[end+1:])
	common := min(len(tag), len(body))
	at = len(text) - len(body)
	switch {
	case at-len(tag) > maxAhead, string(body[:common]) != string(tag[:common]):
		return 0, abi.No
	case common == len(tag):
		return at, abi.Yes
	case final:
		return 0, abi.No
	}
	return 0, abi.Maybe
}

// waits reports whether more text is needed to tell whether the marker of a region that nobody reads comes once more.
func (m *machine) waits(r *region, final bool) bool {
	_, v := m.opensAgain(r, final)
	return v == abi.Maybe
}

// repeats keeps the marker of a region that nobody reads where it comes once more, and reports whether it does.
func (m *machine) repeats(r *region, e end) bool {
	next, v := m.opensAgain(r, e.final)
	if v == abi.Yes {
		m.keepAhead(next, m.broken(r, e))
	}
	return v == abi.Yes
}

// keepAhead keeps the marker that the text begins with up to the next one: it is no text if that begins a
// region. broken says that it was taken for a call which is not whole.
func (m *machine) keepAhead(next int, broken bool) {
	m.ahead.text = append(m.ahead.text, m.in.buf[:next]...)
	m.ahead.broken = m.ahead.broken || broken
	m.close()
	m.sofar.start = false
	m.in.skip(next)
}

// flushAhead gives out markers that begin nothing after all.
func (m *machine) flushAhead() {
	if len(m.ahead.text) == 0 {
		return
	}
	if m.ahead.broken {
		m.text.report.warn(BrokenCall)
	}
	text := m.ahead.take()
	m.say()
	m.text.write(m.reasoning.kind(), text)
}

// dropAhead leaves out markers that begin nothing, in front of a region that was read.
func (m *machine) dropAhead() {
	if len(m.ahead.take()) > 0 {
		m.text.report.warn(strayMarkup)
	}
}
