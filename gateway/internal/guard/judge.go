package guard

import (
	"strings"

	"github.com/callgate/callgate/internal/plaintext"
)

// Judge judges an answer that is over, or the part of it that is there.
func (k *Case) Judge(a Answer) Verdict {
	why := reasons{signals: k.room.signals[:0]}
	defer func() { k.room.signals = why.signals[:0] }()
	if k.demand.isMissing(a.Calls) {
		why.tool = k.demand.tool()
		why.add(SignalRequired, 0.99, why.tool)
	}
	if len(a.Calls) > 0 {
		v := k.conclude(&why, nil)
		if v.Ghost { // tool_choice demands another tool than was called
			v.Tool, v.Demand = why.tool, true
		}
		return v
	}
	k.prepare()
	e := k.read(a)
	defer k.free(&e)
	failed := k.turn.contradicted(&why, e.read, e.claims, k.hasToldFailure)
	if failed != nil {
		why.tool = failed.name
	}
	if k.demand.isIdle() {
		return k.conclude(&why, failed)
	}
	e.due = k.talk.due(&k.wish, &k.turn, e.read.language)
	if k.hasRejected(a.Rejected) {
		e.due.act = true
	}
	k.weigh(&why, &e)
	v := k.conclude(&why, failed)
	if v.Ghost {
		r := remedy{&k.demand, k.talk.tools, pointer{&k.wish, e.due.proposal}, e.claims, &why}
		r.add(&v)
	}
	return v
}

// hasRejected reports whether a tool that changes something was called for the answer before.
func (k *Case) hasRejected(tool string) bool {
	if tool == "" {
		return false
	}
	t := k.talk.tools.get(tool)
	return t.actions&(changes|anything) != 0 && !k.turn.ledger.ReadsOnly(tool)
}

// evidence is an answer as it was read.
type evidence struct {
	text   string
	cut    bool // its end is missing
	read   *reading
	echo   *echo
	claims []claim
	due    obligation
}

// read reads an answer, and with the first one what the user wants.
func (k *Case) read(a Answer) evidence {
	e := evidence{text: cutText(a.Text), cut: a.Finish == "length", echo: &k.room.echo}
	e.read = k.talk.answer(e.text)
	if k.wish.read == nil {
		k.talk.readWish(&k.wish, k.room.said[:0], e.read.language)
	}
	*e.echo = echo{said: k.wish.said, words: e.echo.words[:0]}
	e.claims = findClaims(k.room.claims[:0], e.read, e.echo)
	return e
}

// free gives back what was read of an answer.
func (k *Case) free(e *evidence) {
	k.guard.lexicons.free(e.read)
	if e.due.proposal != nil {
		k.guard.lexicons.free(e.due.proposal)
	}
	k.room.claims = e.claims[:0]
}

// weigh finds the signals of an answer that could have called a tool. Each gets what it needs and no
// more; those that depend on others come behind them.
func (k *Case) weigh(to *reasons, e *evidence) {
	alone, tools := len(k.turn.calls) == 0, k.talk.tools.tools
	figures := countUnsourced(e.read.text, k.talk.chat.Text)
	acts := actWeigher{
		wish: &k.wish, tools: tools, turn: &k.turn, answer: e.read, echo: e.echo,
		toldBack: k.wish.isTelling() && sharesFigure(e.read.text, []byte(k.wish.text)),
		due:      e.due.act,
		demanded: len(k.demand.unmet) > 0 || k.demand.forced(),
	}
	if alone {
		to.add(SignalToolsUnused, 0.15, "")
	}
	k.demand.weighIntents(to, &k.wish, k.talk.tools)
	if c, found := k.talk.tools.calls.find(e.text, &e.read.plain); found {
		weighCallText(to, c, &k.wish)
	}
	if alone && figures > 0 {
		if word, found := invented(e.read, &k.wish, k.talk.chat.Text); found {
			acts.referred = true
			to.add(SignalUnsourced, referenceWeight, word)
		}
	}
	k.weighClaims(to, &acts, e, figures)
	dueWeigher{&k.turn, tools, e.read, e.echo, pointer{&k.wish, e.due.proposal}, figures}.weigh(to, &e.due)
	if alone && figures > 0 && len(k.history.tools()) == 0 {
		u := unsourced{e.read, &k.wish, tools, figures}
		u.weigh(to)
	}
	if !e.cut {
		promises{&k.wish, tools, &k.turn}.weigh(to, e.read)
	}
	against{e.read, &k.wish, len(k.demand.unmet) > 0, alone && k.talk.isPlayed(e.text)}.weigh(to)
}

// weighClaims weighs what the answer claims, and states that tell the same.
func (k *Case) weighClaims(to *reasons, acts *actWeigher, e *evidence, figures int) {
	owed, repeated := acts.owed(), false
	if len(e.claims) > 0 {
		w := claimWeigher{
			told:    newNarration(acts, e.claims, e.due.act),
			covered: coverage{&k.turn, &k.wish, acts.tools, e.read},
			past:    past{&k.history, acts, e.due.act, figures},
			looks:   lookups{&k.history, figures},
			acts:    acts,
		}
		repeated = w.weigh(to, e.claims, owed)
	}
	if !repeated {
		weighStates(to, acts, owed)
	}
}

// maxShown bounds what is shown of a failed result, in bytes.
const maxShown = 600

// conclude adds the signals up. failed is the call that contradicts the answer, or nil.
func (k *Case) conclude(why *reasons, failed *called) Verdict {
	v := Verdict{Score: combine(why.signals), Signals: append([]Signal(nil), why.signals...), Contradiction: failed != nil}
	if v.Contradiction {
		v.Tool, v.Result = why.tool, plaintext.Excerpt(k.turn.ledger.Said(failed.call), maxShown)
	}
	v.Ghost = v.Score >= k.guard.threshold && !v.Contradiction
	if v.Ghost || v.Contradiction {
		v.Changed = k.turn.ledger.Changed()
	}
	return v
}

// maxText bounds what is read of an answer: claims stand at its beginning or its end.
const maxText = 32 << 10

// cutText keeps the beginning and the end of a very long text, with the fences that are
// open there, and leaves reasoning at its beginning out.
func cutText(text string) string {
	text = strings.TrimSpace(text)
	if rest, found := strings.CutPrefix(text, "<think>"); found {
		if _, answer, closed := strings.Cut(rest, "</think>"); closed {
			text = answer
		}
	}
	if len(text) <= maxText {
		return text
	}
	head, tail := text[:maxText/2], text[len(text)-maxText/2:]
	if strings.Count(head, "```")%2 == 1 {
		head += "\n```"
	}
	if strings.Count(tail, "```")%2 == 1 {
		tail = "```\n" + tail
	}
	return strings.ToValidUTF8(head+"\n"+tail, "")
}
