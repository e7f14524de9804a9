package responses

import (
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/served"
)

// machine writes the items of a response. One is open at most: what belongs to another one
// waits until that is over, so that no event comes out of its order.
type machine struct {
	events
	response string // its id
	summary  *gateway.Summary
	open     *item
	waiting  []*item
	calls    calls
	theirs   theirs
	natives  natives
	runs     runs
	listed   map[string]bool // servers whose tools the history has listed
	thinking thinking
	output   output
}

// newMachine makes the machine of the answer to a request.
func newMachine(r *Request, summary *gateway.Summary, e events) machine {
	asked := r.Includes(encryptedReasoning)
	return machine{
		events: e, response: r.id, summary: summary, listed: r.ownTools.listed,
		calls:    calls{tools: &r.tools, response: r.id},
		thinking: thinking{vault: r.vault(), asked: asked, stored: r.Save != nil},
		output:   output{asked: asked},
	}
}

const (
	// maxAnswer is how many bytes of a streamed answer are kept for its last event.
	maxAnswer = 32 << 20
	// maxCalls is how many calls an answer may have, and itemSize what an item takes besides
	// its text.
	maxCalls = 1024
	itemSize = 512
)

// tooLarge is the error of an answer that is too much to keep; nil if it is not.
func (m *machine) tooLarge() error {
	switch {
	case len(m.calls.all) > maxCalls:
		return gateway.Errorf(gateway.Unavailable, "answer_too_large", "The upstream's answer has more than %d calls.", maxCalls)
	case m.output.size > maxAnswer && !m.quiet:
		return gateway.Errorf(gateway.Unavailable, "answer_too_large", "The upstream's answer is longer than the %d MiB that a streamed response may have.", maxAnswer>>20)
	}
	return nil
}

// drain writes what waits and ends what is open, the last item with a status.
func (m *machine) drain(status string) {
	for len(m.waiting) > 0 {
		next := m.waiting[0]
		m.waiting = m.waiting[1:]
		if next.call != nil && next.call.name == "" {
			m.summary.Warn("call_dropped:no_name")
			continue
		}
		m.switchTo(next)
	}
	if m.open != nil {
		m.close(status)
	}
	m.pending()
}

// say takes a piece of a text, of reasoning or of a refusal.
func (m *machine) say(kind itemKind, part partKind, piece, logprobs []byte) {
	if len(piece) == 0 {
		return
	}
	m.output.size += len(piece) + len(logprobs)
	if m.open != nil && m.open.kind == kind && m.open.part == part && len(m.waiting) == 0 {
		m.put(piece, logprobs)
		return
	}
	if len(m.waiting) == 0 && (m.open == nil || m.open.mayEnd()) { // nothing to wait for
		m.switchTo(&item{kind: kind, openPart: openPart{part: part, text: piece, logprobs: logprobs}})
		return
	}
	if n := len(m.waiting); n == 0 || m.waiting[n-1].kind != kind || m.waiting[n-1].part != part {
		m.waiting = append(m.waiting, &item{kind: kind, openPart: openPart{part: part}})
		m.output.size += itemSize
	}
	last := m.waiting[len(m.waiting)-1]
	last.text = append(last.text, piece...)
	last.logprobs = appendElements(last.logprobs, logprobs)
	m.advance()
}

// advance writes of what waits as much as may come now.
func (m *machine) advance() {
	for len(m.waiting) > 0 {
		next := m.waiting[0]
		if next.call != nil && next.call.name == "" || m.open != nil && !m.open.mayEnd() {
			return
		}
		m.waiting = m.waiting[1:]
		m.switchTo(next)
	}
}

// switchTo ends what is open and opens an item that has waited, or the part of a message.
func (m *machine) switchTo(next *item) {
	if next.begun {
		m.goOn(next)
		return
	}
	text, logprobs := next.text, next.logprobs
	if m.open == nil || m.open.kind != next.kind || next.kind >= callItem || next.fresh {
		if m.open != nil {
			m.close(completed)
		}
		if next.kind != reasoningItem {
			m.pending()
		}
		switch next.kind {
		case ranItem:
			m.startRan(next)
			return
		case nativeKind:
			m.startNative(next)
			return
		}
		part := next.part
		next.text, next.logprobs, next.part = nil, nil, noPart
		m.start(next)
		next.part = part
		m.partAdded(next)
	} else if m.open.part != next.part {
		m.closePart()
		m.open.part = next.part
		m.partAdded(m.open)
	}
	m.put(text, logprobs)
}

// goOn opens an item again that the upstream's own events have begun, with what has come of it since.
func (m *machine) goOn(it *item) {
	if m.open != nil {
		m.close(completed)
	}
	m.open, it.begun = it, false
	if it.kind == nativeKind {
		m.sayNative(it)
		return
	}
	piece := slices.Clone(it.text[it.ahead:])
	it.text = it.text[:it.ahead]
	m.put(piece, nil)
}

// start opens an item.
func (m *machine) start(it *item) {
	prefix := "fc_"
	switch {
	case it.kind == reasoningItem:
		prefix = "rs_"
	case it.kind == messageItem:
		prefix = "msg_"
	case it.kind == ranItem && it.ran.Kind == served.Listed:
		prefix = "mcpl_"
	case it.kind == ranItem:
		prefix = "mcp_"
	case it.call.tool.custom:
		prefix = "ctc_"
	}
	m.output.size += itemSize
	it.index = m.output.begin()
	it.id = itemID(prefix, m.response, it.index)
	if it.kind == ranItem && it.ran.Kind == served.Approval {
		it.id = approvalItem + it.ran.ID
	}
	m.open = it
	it.beside = m.theirs.beside(it)
	m.added(it)
}

// put writes a piece of the open item.
func (m *machine) put(piece, logprobs []byte) {
	if len(piece) == 0 {
		return
	}
	it := m.open
	if len(it.half) > 0 || hasHalf(piece) {
		piece, it.half = whole(append(it.half, piece...))
	}
	if m.quiet && it.text == nil { // of a whole answer, which stays there until it is written
		it.text = slices.Clip(piece)
	} else {
		it.text = append(it.text, piece...)
	}
	it.logprobs = appendElements(it.logprobs, logprobs)
	if len(piece) > 0 || len(logprobs) > 0 {
		m.delta(it, piece, logprobs)
	}
}

// endText ends the text of the open item.
func (m *machine) endText() {
	if it := m.open; len(it.half) > 0 { // the other half has not come
		it.half = nil
		m.put([]byte(replacement), nil)
	}
}

// closePart ends the open part of the open item.
func (m *machine) closePart() {
	it := m.open
	m.endText()
	switch {
	case it.kind == callItem:
		m.closeCall()
		return
	case it.kind == ranItem:
		m.ranDone(it)
		return
	case it.kind == nativeKind, it.part == noPart: // there is none
		return
	}
	part := it.partJSON(it.text)
	m.partDone(it, part)
	if it.kind == reasoningItem {
		m.thinking.text = it.text
	}
	it.endPart(addElement(it.parts, part))
}

// closeCall ends a call's arguments.
func (m *machine) closeCall() {
	it := m.open
	if it.call.tool.custom {
		it.text = customInput(it.text)
	}
	if !it.told {
		m.callDone(it)
	}
}

// note adds an annotation, JSON, to the text that is open. It reports whether there is one.
func (m *machine) note(annotation []byte) bool {
	it := m.open
	if it == nil || it.kind != messageItem || it.part != textPartKind || len(m.waiting) > 0 {
		return false
	}
	m.annotated(it, annotation)
	it.notes = appendElements(it.notes, annotation)
	it.noted++
	return true
}

// close ends the open item.
func (m *machine) close(status string) {
	it := m.open
	if m.quiet && it.kind == messageItem { // nobody hears of the part: it is written with the item
		m.endText()
	} else {
		m.closePart()
	}
	m.open, it.over = nil, true
	it.beside = m.theirs.beside(it)
	shown, kept := "", ""
	if it.kind == reasoningItem {
		shown, kept = m.thinking.seal()
	}
	item := it.json(status, shown)
	stored := item
	if kept != shown {
		stored = it.json(status, kept)
	}
	m.done(it, item)
	m.output.add(it.index, Item{ID: it.id, Type: it.typeName(), JSON: stored}, item)
	it.text, it.parts = nil, nil
}

// pending writes thoughts that no reasoning was said with, if somebody keeps them.
func (m *machine) pending() {
	if m.thinking.isKept() {
		m.start(&item{kind: reasoningItem})
		m.close(completed)
	}
}
