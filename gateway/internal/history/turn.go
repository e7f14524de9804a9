package history

import (
	"bytes"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// turn is a message and the results behind it.
type turn struct {
	head    wire.Span // the message; empty at the conversation's beginning
	first   int       // index of its first call
	results []result
}

// result is a message of the role tool.
type result struct {
	at, id wire.Span
	call   int // the call that it belongs to, from 1; 0 is none
}

// endTurn repairs the results that were collected, and the calls that have none.
func (r *repairer) endTurn() {
	matched := r.match()
	if r.needs.Pairs {
		r.pair(matched)
		return
	}
	for i := range r.turn.results {
		r.rename(&r.turn.results[i])
	}
}

// match finds the calls of the turn's results, and returns how many of the results,
// from the first, stand in front of or are the last one that belongs to a call.
func (r *repairer) match() (matched int) {
	unanswered := len(r.calls) - r.turn.first
	unnamed := -1
	for i := range r.turn.results {
		res := &r.turn.results[i]
		id, _ := conversation.Decode(r.text, res.id)
		if len(id) == 0 {
			if unnamed < 0 {
				unnamed = i
			}
			continue
		}
		if n := r.ids[string(id)].waiting; n > r.turn.first || n > 0 && !r.needs.Pairs {
			r.answer(res, n)
			matched = i + 1
			if n > r.turn.first {
				unanswered--
			}
		}
	}
	if unnamed < 0 || unanswered != 1 {
		return matched
	}
	for i := r.turn.first; i < len(r.calls); i++ {
		if !r.calls[i].answered {
			r.answer(&r.turn.results[unnamed], i+1)
		}
	}
	return max(matched, unnamed+1)
}

// answer notes that a result belongs to call n, which is the one that waits under
// its id.
func (r *repairer) answer(res *result, n int) {
	c := &r.calls[n-1]
	c.answered = true
	k := r.ids[c.id]
	k.waiting = c.under
	r.ids[c.id] = k
	res.call = n
}

// pair has the turn's calls and results belong together: missing results are added
// behind those that are there, and results without a call become user messages. Such
// a message must not stand between results, so one that would is put behind them:
// matched is how many results stand up to the last that has a call.
func (r *repairer) pair(matched int) {
	behind := r.turn.head.End
	var moved []byte
	for i := range r.turn.results[:matched] {
		res := &r.turn.results[i]
		if res.call > 0 {
			r.rename(res)
		} else {
			r.edit(wire.Span{Start: behind, End: res.at.End}, nil)
			moved = r.appendAsUser(append(moved, ','), res)
		}
		behind = res.at.End
	}
	if added := append(r.missing(), moved...); len(added) > 0 {
		r.edit(wire.Span{Start: behind, End: behind}, added)
	}
	for i := range r.turn.results[matched:] {
		res := &r.turn.results[matched+i]
		r.edit(res.at, r.appendAsUser(nil, res))
	}
}

// missing is a result for each call of the turn that has none.
func (r *repairer) missing() (results []byte) {
	for i := r.turn.first; i < len(r.calls); i++ {
		if c := &r.calls[i]; !c.answered {
			results = wire.AppendQuoted(append(results, `,{"role":"tool","tool_call_id":`...), c.upstream)
			results = append(results, `,"content":"No result: the call was interrupted."}`...)
			r.count(KindResult)
		}
	}
	return results
}

// rename gives a result the id that its call has upstream.
func (r *repairer) rename(res *result) {
	id, _ := conversation.Decode(r.text, res.id)
	var want string
	switch latest := r.ids[string(id)].latest; {
	case res.call > 0:
		want = r.calls[res.call-1].upstream
	case len(id) == 0: // any of several calls, or none
		return
	case latest > 0: // a further result
		want = r.calls[latest-1].upstream
	case r.needs.IDs.fits(string(id)) && !r.ids[string(id)].taken:
		return
	default: // as a call of this id would get it
		want = r.fresh(string(id))
	}
	if want == string(id) {
		return
	}
	r.set(res.at, res.id, "tool_call_id", wire.AppendQuoted(nil, want))
	if len(id) == 0 || r.ids[string(id)].latest == 0 {
		r.count(KindID)
	}
}

// appendAsUser writes a result as a user message. It says what it is, since
// the words are not the user's. Members that are not about its being a result stay.
func (r *repairer) appendAsUser(dst []byte, res *result) []byte {
	r.count(KindOrphan)
	var content wire.Span
	dst = append(dst, `{"role":"user"`...)
	wire.Members(r.text[:res.at.End], res.at.Start, func(key []byte, v wire.Span) bool {
		switch string(wire.Key(key)) {
		case "role", "tool_call_id":
		case "content":
			content = v
		default:
			dst = append(append(append(dst, `,"`...), key...), `":`...)
			dst = append(dst, v.Of(r.text)...)
		}
		return true
	})
	dst = append(dst, `,"content":`...)
	return append(r.appendContent(dst, res, content), '}')
}

// appendContent writes the content of a result with words before it that say what
// it is.
func (r *repairer) appendContent(dst []byte, res *result, content wire.Span) []byte {
	intro := "Result of an earlier tool call:"
	if id, _ := conversation.Decode(r.text, res.id); len(id) > 0 {
		intro = "Result of an earlier tool call (id " + string(id) + "):"
	}
	if content.IsNull(r.text) {
		return wire.AppendQuoted(dst, intro+" none.")
	}
	raw := content.Of(r.text)
	switch raw[0] {
	case '"':
		dst = wire.AppendQuoted(dst, intro+" ")
		return append(dst[:len(dst)-1], raw[1:]...)
	case '[':
		dst = append(wire.AppendQuoted(append(dst, `[{"type":"text","text":`...), intro), '}')
		if !wire.Blank(raw[1 : len(raw)-1]) {
			dst = append(dst, ',')
		}
		return append(dst, bytes.TrimLeft(raw[1:], " \t\r\n")...)
	}
	return wire.AppendQuoted(dst, intro+" "+string(raw)) // no content that the reference knows, but nothing is lost
}
