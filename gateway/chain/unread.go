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
	return m.offered(func(name string) []string {
		return []string{`"` + name + `"`, `'` + name + `'`, name + "(", name + "{", name + " {"}
	})
}

// breaksOff reports whether the output has ended in a marker, or behind it, and no parser could decide about it. Alone
// it may be a word, but for one behind calls or in front of a tool's name.
func (m *machine) breaksOff(k *meaning, e end) bool {
	if !e.final || k == nil || k.endToken || m.text.noTools {
		return false
	}
	return m.text.report.Calls > 0 || m.offered(func(name string) []string { return []string{name} })
}

// offered reports whether the text that waits has the name of a tool in one of the forms.
func (m *machine) offered(forms func(name string) []string) bool {
	return slices.ContainsFunc(m.parsers.offers.all(), func(t abi.Tool) bool {
		return t.Name != "" && slices.ContainsFunc(forms(t.Name), func(form string) bool { return bytes.Contains(m.in.buf, []byte(form)) })
	})
}

// beginsMarkup reports whether text that a parser gave back behind calls begins with more than words: with
// a call that is not whole.
func beginsMarkup(text []byte) bool {
	body := chars.SkipSpace(bytes.TrimLeft(chars.SkipSpace(text), ",;"))
	return len(body) > 0 && bytes.IndexByte([]byte("<[]{"), body[0]) >= 0
}

// leftover looks in the content of an answer for a call that no parser has read: the name of a tool between
// signs that stand around one in markup, and not in prose. Where pieces are cut makes no difference.
type leftover struct {
	offers *offers
	room   [1 << 10]byte
	length int
	fenced bool // the room begins in a block of code
	found  bool
}

// overlap is how many bytes of a full room are looked at again with those behind them: a name and what is
// around it.
const overlap = 192

// fenceMark begins and ends a block of code.
const fenceMark = "```"

// add takes the next piece of content in.
func (l *leftover) add(text []byte) {
	for len(text) > 0 && !l.found {
		n := copy(l.room[l.length:], text)
		l.length += n
		text = text[n:]
		if l.length < len(l.room) {
			return
		}
		l.look()
		gone := len(l.room) - overlap
		if bytes.Count(l.room[:gone+len(fenceMark)-1], []byte(fenceMark))%2 == 1 {
			l.fenced = !l.fenced
		}
		l.length = copy(l.room[:], l.room[gone:])
	}
}

// look looks at what is in the room.
func (l *leftover) look() {
	text := l.room[:l.length]
	if !l.found && bytes.ContainsAny(text, "<[{|&") { // one of which no markup can do without
		l.found = slices.ContainsFunc(l.offers.all(), func(t abi.Tool) bool { return t.Name != "" && l.calls(text, []byte(t.Name)) })
	}
}

// forget forgets what was content so far.
func (l *leftover) forget() { l.length, l.fenced, l.found = 0, false, false }

// calls reports whether a text calls a tool.
func (l *leftover) calls(text, tool []byte) bool {
	for at := 0; ; at += len(tool) {
		i := bytes.Index(text[at:], tool)
		if i < 0 {
			return false
		}
		at += i
		if before := text[:at]; isCalled(before, text[at+len(tool):]) && !l.inCode(before) {
			return true
		}
	}
}

// inCode reports whether what comes behind a text is code.
func (l *leftover) inCode(text []byte) bool {
	inBlock := l.fenced != (bytes.Count(text, []byte(fenceMark))%2 == 1)
	return inBlock || bytes.Count(text[bytes.LastIndexByte(text, '\n')+1:], []byte("`"))%2 == 1
}

// isCalled reports whether a tool's name is called by what stands before it and behind it.
func isCalled(before, behind []byte) bool {
	next := chars.SkipSpace(behind)
	switch {
	case isTagged(before, behind):
		return true
	case len(next) == 0, endsIn(before, "response:"): // of a result, which a model makes up at times
		return false
	}
	head := chars.TrimEnd(bytes.TrimSuffix(before, []byte("functions.")))
	switch next[0] {
	case '"', '\'':
		return isNamed(head, next)
	case '(':
		return endsIn(head, "[", ">", "|")
	case ':': // and the number of a call
		return beginsWith(bytes.TrimLeft(next[1:], "0123456789"), "<", "|", "&lt;")
	}
	begins := bytes.IndexByte(before[len(head):], '\n') >= 0 || len(head) == 0
	return beginsWith(next, "<", "｜", ">", "[", "{", "&lt;") && begins || beginsWith(next, "✿") && endsIn(head, ":") ||
		(endsIn(head, "<", ">", "|", "｜", "[", "]", "=", "/", "&gt;") || endsIn(before, ":")) && marks(next, head)
}

// marks reports whether what stands behind a name that markup stands before is markup too, and no table.
func marks(next, head []byte) bool {
	return beginsWith(next, "<", "｜", ">", "[", "{", "&lt;", fenceMark) || next[0] == '|' && !endsIn(head, "|")
}

// isTagged reports whether a tag that begins a call stands before a name.
func isTagged(before, behind []byte) bool {
	const longest = 64
	if !endsIn(before, ">") || len(behind) == 0 || isWord(behind[0]) || behind[0] == '_' {
		return false
	}
	tag := before[max(len(before)-longest, 0):]
	at := bytes.LastIndexByte(tag, '<')
	return at >= 0 && tag[at+1] != '/' && bytes.Contains(tag[at:], []byte("tool_call"))
}

func beginsWith(text []byte, signs ...string) bool {
	return slices.ContainsFunc(signs, func(s string) bool { return bytes.HasPrefix(text, []byte(s)) })
}

func endsIn(text []byte, signs ...string) bool {
	return slices.ContainsFunc(signs, func(s string) bool { return bytes.HasSuffix(text, []byte(s)) })
}

// isNamed reports whether a name in quotation marks, with those before and behind it, is the value of an attribute,
// or of a key in an object that holds another, as arguments are.
func isNamed(before, behind []byte) bool {
	const near = 40
	if !endsIn(before, string(behind[:1])) {
		return false
	}
	before, behind = chars.TrimEnd(before[:len(before)-1]), behind[1:]
	return endsIn(before, "=") && beginsWith(behind, ">", " ", "<", "&gt;") ||
		endsIn(before, ":") && bytes.IndexByte(behind[:min(len(behind), near)], '{') >= 0
}
