package chain

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// strayMarkup warns of markup that was left out since it marks nothing.
const strayMarkup = "stray_markup"

// toolResponse begins the result of a call, which the gateway's clients write and no model.
const toolResponse = "<|tool_response>"

// endOf is the marker that a region of calls ends with, or "" where it ends with something else.
func endOf(region []byte) string {
	const shortest, longest = 5, 64
	region = chars.TrimEnd(region)
	if len(region) == 0 {
		return ""
	}
	from := -1
	switch region[len(region)-1] {
	case '>':
		from = bytes.LastIndexByte(region, '<')
	case ']':
		from = bytes.LastIndexByte(region, '[')
	}
	if from < 0 || len(region)-from < shortest || len(region)-from > longest {
		return ""
	}
	for _, b := range region[from+1 : len(region)-1] {
		if !isWord(b) && b < 0x80 && bytes.IndexByte([]byte("_/|:-"), b) < 0 || b == '{' || b == '.' {
			return ""
		}
	}
	const minimax = "]<]minimax[>["
	if bytes.HasSuffix(region[:from], []byte(minimax)) {
		from -= len(minimax)
	}
	return string(region[from:])
}

// calledIn notes what may come once more behind a region of calls: its end, or all of it but its
// beginning, as LFM2 writes at times.
func (m *machine) calledIn(r *region, text []byte) {
	const longest = 1 << 14
	m.stray, m.echo, m.sofar.called = endOf(text), "", true
	if m.stray == "" || len(text) > longest || r.reading == nil {
		return
	}
	if open := longestPrefix(r.reading.judge.candidate.Triggers, text); open > 0 {
		m.echo = string(chars.TrimSpace(text[open:]))
	}
}

// expected is the marker that text behind the region in front may begin with, or what stands between its own.
func (m *machine) expected(text []byte) string {
	marker := m.stray
	if len(text) > 1 && text[1] == '|' && strings.HasSuffix(m.stray, "|>") && m.stray[1] != '|' { // of Gemma
		marker = toolResponse
	}
	if len(text) > 0 && len(m.echo) > len(m.stray) && text[0] == m.echo[0] && text[0] != marker[0] {
		return m.echo
	}
	return marker
}

// repeated drops the end of the region in front where it comes once more, that with the calls in
// front of it, and the beginning of a result behind it. It reports whether more text is needed to tell.
func (m *machine) repeated(final bool) (wait bool) {
	const maxSpace = 64
	for {
		text := m.in.whole(final)
		body := chars.SkipSpace(text)
		space := len(text) - len(body)
		if len(body) == 0 && !final && space <= maxSpace {
			return true
		}
		marker := m.expected(body)
		n := min(len(body), len(marker))
		switch {
		case len(body) == 0, space > maxSpace, string(body[:n]) != marker[:n], n < len(marker) && final:
			m.stray, m.echo = "", ""
			return false
		case n < len(marker):
			return true
		}
		if marker == toolResponse && len(chars.SkipSpace(body[n:])) == 0 {
			if !final {
				return true
			}
			m.stray = "" // it ends the output
			return false
		}
		if m.thought != nil {
			m.thought.raw = append(m.thought.raw, text[:space+n]...)
		}
		m.in.skip(space + n)
		m.text.report.warn(strayMarkup)
		m.text.out.edge(abi.Content)
	}
}
