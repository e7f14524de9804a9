package chain

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// endsUnread reports whether the end of a call that stands here ends one that was not read.
func (m *machine) endsUnread() bool {
	return !m.reasoning.open && !m.sofar.invents && m.text.at.endsValue() && !m.text.at.fenced()
}

// broken reports whether a region that a parser has read and given back was a call that is not
// whole. What has a marker was meant as one. Other text is if the output has ended in the middle of
// it, and it names a tool.
func (m *machine) broken(r *region, e end) bool {
	k := m.parsers.plan.literals[r.found]
	if r.warned || r.declined == 0 && !m.breaksOff(k, e) {
		return false
	}
	if r.found != "" && k.fence == "" {
		return !r.site.quoted && !r.site.fenced
	}
	if !e.final || e.reason != abi.Stop || !r.ended {
		return false
	}
	return slices.ContainsFunc(m.parsers.offers.all(), func(t abi.Tool) bool {
		forms := [...]string{`"` + t.Name + `"`, `'` + t.Name + `'`, t.Name + "(", t.Name + "{", t.Name + " {"}
		return slices.ContainsFunc(forms[:], func(form string) bool { return bytes.Contains(m.in.buf, []byte(form)) })
	})
}

// breaksOff reports whether the output has ended in a marker that no parser could decide about. Alone it may be
// a word, but for one behind calls.
func (m *machine) breaksOff(k *meaning, e end) bool {
	return e.final && m.text.report.Calls > 0 && k != nil && !k.endToken
}

// beginsMarkup reports whether text that a parser gave back behind calls begins with more than words: with
// a call that is not whole.
func beginsMarkup(text []byte) bool {
	body := chars.SkipSpace(bytes.TrimLeft(chars.SkipSpace(text), ",;"))
	return len(body) > 0 && bytes.IndexByte([]byte("<[]{"), body[0]) >= 0
}
