package guard

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/ledger"
)

// coverage tells whether a call of this turn did what an answer claims.
type coverage struct {
	turn   *turn
	wish   *wish
	tools  []tool
	answer *reading
}

// by reports whether a call of this turn did what is claimed. Any call covers the
// claim to have found something out. left is a tool that was called for one of the things that the
// claim names, and not for another.
func (v *coverage) by(c *claim) (left string, covered bool) {
	switch {
	case len(v.turn.calls) == 0:
		return "", false
	case c.looksUp():
		return "", true
	case v.turn.ledger.Changed():
		left = v.partial(c)
		return left, left == ""
	}
	if left = v.leftOut(c); left != "" {
		return left, false
	}
	related := false
	for i := range v.turn.calls {
		t := &v.turn.calls[i].tool
		if did(t, c) {
			return "", true
		}
		related = related || t.vague || c.actions&shaping != 0 && t.actions&making != 0
	}
	if c.general {
		return "", v.wish.actions&changes == 0
	}
	return "", related
}

// did reports whether a call of a tool does what is claimed.
func did(t *tool, c *claim) bool {
	switch {
	case t.vague:
		return false
	case c.general:
		return t.actions&(changes|anything) != 0
	case c.actions == 0:
		return c.verbs&t.verbs != 0 || t.actions&anything != 0
	}
	return t.actions&(c.actions&changes|anything) != 0
}

// partial returns the tool that is missing where a successful change does not cover a claim: a
// thing that the user named was left out, or there are more acts than changes, and the user's
// message asks for what only a tool does that was not called. What else a summary tells is a side
// effect.
func (v *coverage) partial(c *claim) string {
	if tool := v.leftOut(c); tool != "" {
		return tool
	}
	if tool := v.idLeftOut(c); tool != "" {
		return tool
	}
	done := v.turn.behind(c)
	if done.told {
		return ""
	}
	missing := ""
	for i := range v.tools {
		t := &v.tools[i]
		if !v.turn.names[t.name] && !t.handsOver && t.actions&(changes|anything) != 0 && v.isLeft(c, t, &done) {
			missing = t.name
		}
	}
	return missing
}

// isLeft reports whether a tool that was not called does what is claimed, and what the user asked for
// besides what the changes of this turn have done.
func (v *coverage) isLeft(c *claim, t *tool, done *behind) bool {
	apart := t.things.without(done.about).without(shared(v.tools))
	named := c.verbs&t.verbs != 0
	if !named && (t.actions&c.actions&changes == 0 || done.does && !c.things.meets(apart)) {
		return false
	}
	// Of one thing that was asked for, the change may have been it, whatever its tool is called.
	more := v.wish.acts > done.changes
	return (v.wish.joins || more) && v.wish.own.verbs&t.verbs != 0 || v.wish.joins && (v.wish.own.things.meets(apart) || named && more)
}

// leftOut returns the tool that was called for one of the things that a claim lists, and
// not for another, or "": "I've blocked ann@mail.example and bob@mail.example" behind one
// call with one address. Nothing is said of tools that can do anything, and of calls
// whose arguments name none of the things.
func (v *coverage) leftOut(c *claim) string {
	if c.looksUp() || c.general {
		return ""
	}
	names := listed(v.answer, c.sentence)
	if len(names) < 2 {
		return ""
	}
	tool, said := v.turn.saidTo(c)
	if tool == "" {
		return ""
	}
	in, out := false, false
	for _, n := range names {
		if strings.Contains(said, strings.ToLower(n.text)) {
			in = true
		} else {
			out = true
		}
	}
	if in && out {
		return tool
	}
	return ""
}

const (
	// maxIDs bounds the ids of a sentence that are looked for.
	maxIDs = 8
	// maxListGap is how many bytes are between two ids of a list: " and #".
	maxListGap = 12
)

// idLeftOut returns the last tool that changed something, if a claim has two ids of the user's
// message of which the calls that changed something know one and not the other: "orders W11 and
// W12 have been cancelled".
func (v *coverage) idLeftOut(c *claim) string {
	s := &v.answer.sentences[c.sentence]
	part, end := string(s.part()), 0
	var ids []string
	ledger.EachValue(part, func(word string, hash uint64) bool {
		at := end + strings.Index(part[end:], word)
		apart := len(ids) > 0 && at-end > maxListGap
		kind := idKind(word)
		if kind == 0 || len(ids) > 0 && kind != idKind(ids[0]) || !hasValue(v.wish.text, hash) {
			return true
		}
		if apart && kind != anAddress { // "W11 has been cancelled; W12 is still open"
			return false
		}
		ids, end = append(ids, word), at+len(word)
		return len(ids) < maxIDs
	})
	if len(ids) < 2 {
		return ""
	}
	tool := ""
	found := v.turn.ledger.Brings(ids, func(c *ledger.Call) bool {
		changed := v.turn.ledger.HasChanged(c)
		if changed && tool == "" {
			tool = c.Name
		}
		return changed
	})
	if slices.Contains(found, true) && slices.Contains(found, false) {
		return tool
	}
	return ""
}

// hasValue reports whether a text has a word or a number, by its hash.
func hasValue(text string, hash uint64) (found bool) {
	ledger.EachValue(text, func(_ string, h uint64) bool {
		found = h == hash
		return !found
	})
	return found
}

// The kinds of ids: a number, one with letters, an address.
const (
	aNumber = 1 + iota
	aCode
	anAddress
)

// idKind is that of the name of one thing: a number with digits enough that is no year, letters with
// digits, or an address. It is 0 for any other word.
func idKind(word string) int {
	const digits = 3
	letters := strings.IndexFunc(word, func(r rune) bool { return r < '0' || r > '9' }) >= 0
	year := len(word) == 4 && (word[:2] == "19" || word[:2] == "20")
	switch {
	case strings.ContainsAny(word, ".,:") || len(word) < digits || year:
		return 0
	case strings.IndexByte(word, '@') > 0:
		return anAddress
	case !letters:
		return aNumber
	case strings.ContainsAny(word, "0123456789"):
		return aCode
	}
	return 0
}
