package responses

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// machine writes the items of a response. One is open at most: what belongs to another one
// waits until that is over, so that no event comes out of its order.
type machine struct {
	events
	req       *Request
	summary   *gateway.Summary
	open      *item
	waiting   []*item
	calls     []*item  // all of them, to find one by its index
	last      *item    // the call that the last piece of a call was of
	natives   []*item  // of types that chat completions have no form for
	runs      []*item  // calls that the gateway has made
	approvals []string // ids of calls that wait for the client's word
	items     []Item   // those that are over
	output    []byte   // the same as elements
	thoughts  thoughts
	thought   []byte // the text of the reasoning that is over
	size      int    // of what is kept until the end, about
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
	case len(m.calls) > maxCalls:
		return gateway.Errorf(gateway.Unavailable, "answer_too_large", "The upstream's answer has more than %d calls.", maxCalls)
	case m.size > maxAnswer && !m.quiet:
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
	m.size += len(piece) + len(logprobs)
	if m.open != nil && m.open.kind == kind && m.open.part == part && len(m.waiting) == 0 {
		m.put(piece, logprobs)
		return
	}
	if len(m.waiting) == 0 && (m.open == nil || m.open.mayEnd()) { // nothing to wait for
		m.switchTo(&item{kind: kind, part: part, text: piece, logprobs: logprobs})
		return
	}
	if n := len(m.waiting); n == 0 || m.waiting[n-1].kind != kind || m.waiting[n-1].part != part {
		m.waiting = append(m.waiting, &item{kind: kind, part: part})
	}
	last := m.waiting[len(m.waiting)-1]
	last.text = append(last.text, piece...)
	last.logprobs = appendElements(last.logprobs, logprobs)
	m.advance()
}

// appendElements appends elements behind others.
func appendElements(b, more []byte) []byte {
	if len(more) > 0 && len(b) > 0 {
		b = append(b, ',')
	}
	return append(b, more...)
}

// addElement does so with an element that nobody changes any more: the first of a list is the list.
func addElement(b, element []byte) []byte {
	if len(b) == 0 {
		return slices.Clip(element)
	}
	return appendElements(b, element)
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

// mayEnd reports whether the item can be over.
func (it *item) mayEnd() bool {
	return (it.call == nil || it.call.args.complete(it.text)) && (it.ran == nil || it.ran.over) && (it.native == nil || it.native.over)
}

// switchTo ends what is open and opens an item that has waited, or the part of a message.
func (m *machine) switchTo(next *item) {
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
		m.startPart()
	} else if m.open.part != next.part {
		m.closePart()
		m.open.part = next.part
		m.startPart()
	}
	m.put(text, logprobs)
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
	m.size += itemSize
	it.index = len(m.items)
	it.id = itemID(prefix, m.req.id, it.index)
	if it.kind == ranItem && it.ran.Kind == served.Approval {
		it.id = approvalItem + it.ran.ID
	}
	m.open = it
	if m.quiet {
		return
	}
	m.raw("response.output_item.added", it.place(), it.json(inProgress, ""))
}

// startPart opens a part of the open item, if it has parts.
func (m *machine) startPart() {
	it := m.open
	if m.quiet {
		return
	}
	switch it.kind {
	case reasoningItem:
		it.before = wire.AppendInt(append(it.head(), `,"summary_index":`...), it.closed)
		m.raw("response.reasoning_summary_part.added", it.before, []byte(`,"part":`), it.partJSON(nil))
	case messageItem:
		it.before = wire.AppendInt(append(it.head(), `,"content_index":`...), it.closed)
		m.raw("response.content_part.added", it.before, []byte(`,"part":`), it.partJSON(nil))
	default:
		it.before = it.head()
	}
	it.before = append(it.before, `,"delta":"`...)
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
	switch {
	case len(piece) == 0 && len(logprobs) == 0:
	case m.quiet:
	case it.kind == reasoningItem:
		m.text("response.reasoning_summary_text.delta", it.before, piece, `"`)
	case it.kind == callItem && it.call.tool.custom: // its input is known when the arguments are
	case it.kind == callItem:
		m.text("response.function_call_arguments.delta", it.before, piece, `"`)
	case it.part == refusalPartKind:
		m.text("response.refusal.delta", it.before, piece, `"`)
	case len(logprobs) == 0:
		m.text("response.output_text.delta", it.before, piece, `","logprobs":[]`)
	default:
		m.raw("response.output_text.delta", it.before, piece, []byte(`","logprobs":[`), logprobs, []byte{']'})
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
	at := it.before[:max(0, len(it.before)-len(`,"delta":"`))]
	part := it.partJSON(it.text)
	switch {
	case it.kind == callItem:
		m.closeCall(at)
		return
	case it.kind == ranItem:
		m.closeRan()
		return
	case it.kind == nativeKind:
		return
	case it.part == noPart: // there is none
		return
	case it.kind == reasoningItem:
		if !it.told {
			m.raw("response.reasoning_summary_text.done", at, []byte(`,"text":"`), it.text, []byte{'"'})
		}
		m.raw("response.reasoning_summary_part.done", at, []byte(`,"part":`), part)
	case it.part == refusalPartKind:
		if !it.told {
			m.raw("response.refusal.done", at, []byte(`,"refusal":"`), it.text, []byte{'"'})
		}
		m.raw("response.content_part.done", at, []byte(`,"part":`), part)
	default:
		if !it.told {
			m.raw("response.output_text.done", at, []byte(`,"text":"`), it.text, []byte(`","logprobs":[`), it.logprobs, []byte{']'})
		}
		m.raw("response.content_part.done", at, []byte(`,"part":`), part)
	}
	it.parts = addElement(it.parts, part)
	it.closed++
	if it.kind == reasoningItem {
		m.thought = it.text
	}
	it.text, it.logprobs, it.part, it.notes, it.noted, it.told = nil, nil, noPart, nil, 0, false
}

// note adds an annotation, JSON, to the text that is open. It reports whether there is one.
func (m *machine) note(annotation []byte) bool {
	it := m.open
	if it == nil || it.kind != messageItem || it.part != textPartKind || len(m.waiting) > 0 {
		return false
	}
	if !m.quiet {
		at := it.before[:len(it.before)-len(`,"delta":"`)]
		m.raw("response.output_text.annotation.added", at, wire.AppendInt([]byte(`,"annotation_index":`), it.noted), []byte(`,"annotation":`), annotation)
	}
	it.notes = appendElements(it.notes, annotation)
	it.noted++
	return true
}

// closeCall ends a call's arguments.
func (m *machine) closeCall(at []byte) {
	it := m.open
	switch {
	case it.told && it.call.tool.custom:
		it.text = customInput(it.text)
		return
	case it.told:
		return
	case !it.call.tool.custom:
		m.raw("response.function_call_arguments.done", at, []byte(`,"name":`), wire.AppendQuoted(nil, it.call.tool.name), []byte(`,"arguments":"`), it.text, []byte{'"'})
		return
	}
	it.text = customInput(it.text)
	if rest := it.text[min(it.sent, len(it.text)):]; len(rest) > 0 {
		m.raw("response.custom_tool_call_input.delta", at, []byte(`,"delta":"`), rest, []byte{'"'})
	}
	m.raw("response.custom_tool_call_input.done", at, []byte(`,"input":"`), it.text, []byte{'"'})
}

// customInput is the input of a custom tool, of arguments with that one member; arguments of
// another form are the input themselves.
func customInput(args []byte) []byte {
	plain := wire.AppendDecoded(nil, slices.Concat([]byte{'"'}, args, []byte{'"'}))
	if jsontext.Value(plain).IsValid() {
		if input := object(plain).get("input"); isObject(bytes.TrimSpace(plain)) && isString(input) {
			return inner(input)
		}
	}
	return args
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
	shown, kept := "", ""
	if it.kind == reasoningItem {
		shown, kept = m.seal()
	}
	item := it.json(status, shown)
	stored := item
	if kept != shown {
		stored = it.json(status, kept)
	}
	if !m.quiet {
		m.raw("response.output_item.done", it.place(), item)
	}
	m.output = addElement(m.output, item)
	m.items = append(m.items, Item{ID: it.id, Type: it.typeName(), JSON: stored})
	it.text, it.parts = nil, nil
}

// seal seals what there is of the reasoning that has ended: as the client gets it, and as it is
// stored.
func (m *machine) seal() (shown, kept string) {
	include, content := m.req.Includes(encryptedReasoning), m.thoughts.seal(m.thought)
	signed := !m.thoughts.isEmpty()
	if !jsontext.Value(content).IsValid() { // an upstream's own fault
		content, signed = (&thoughts{}).seal(m.thought), false
	}
	m.thoughts, m.thought = thoughts{}, nil
	if m.req.options.Sealer == nil || !include && (!signed || !m.req.Stored) {
		return "", ""
	}
	kept = m.req.vault().seal(content)
	if include {
		shown = kept
	}
	return shown, kept
}

// pending writes thoughts that no reasoning was said with, if somebody keeps them.
func (m *machine) pending() {
	if m.thoughts.isEmpty() || m.req.options.Sealer == nil || !m.req.Stored && !m.req.Includes(encryptedReasoning) {
		return
	}
	m.start(&item{kind: reasoningItem})
	m.close(completed)
}
