package responses

import "github.com/callgate/callgate/gateway/wire"

// added says that an item begins.
func (e *events) added(it *item) {
	if !e.quiet {
		e.raw("response.output_item.added", it.place(), it.json(inProgress, ""))
	}
}

// done says that an item is over, as which.
func (e *events) done(it *item, item []byte) {
	if !e.quiet {
		e.raw("response.output_item.done", it.place(), item)
	}
}

// partAdded says that a part of an item begins, if it has parts, and notes what stands in front of its pieces.
func (e *events) partAdded(it *item) {
	if e.quiet {
		return
	}
	it.before = it.partHead()
	switch it.kind {
	case reasoningItem:
		e.raw("response.reasoning_summary_part.added", it.before, []byte(`,"part":`), it.partJSON(nil))
	case messageItem:
		e.raw("response.content_part.added", it.before, []byte(`,"part":`), it.partJSON(nil))
	}
	it.before = append(it.before, deltaMember...)
}

// deltaMember is what a piece of a text stands behind.
const deltaMember = `,"delta":"`

// delta says a piece of an item's text.
func (e *events) delta(it *item, piece, logprobs []byte) {
	switch {
	case e.quiet:
	case it.kind == reasoningItem:
		e.text("response.reasoning_summary_text.delta", it.before, piece, `"`)
	case it.kind == callItem && it.call.tool.custom: // its input is known when the arguments are
	case it.kind == callItem:
		e.text("response.function_call_arguments.delta", it.before, piece, `"`)
	case it.part == refusalPartKind:
		e.text("response.refusal.delta", it.before, piece, `"`)
	case len(logprobs) == 0:
		e.text("response.output_text.delta", it.before, piece, `","logprobs":[]`)
	default:
		e.raw("response.output_text.delta", it.before, piece, []byte(`","logprobs":[`), logprobs, []byte{']'})
	}
}

// partDone says that the open part of an item is over, as which, and what its whole text is, unless the client has got that.
func (e *events) partDone(it *item, part []byte) {
	if e.quiet {
		return
	}
	at := it.beforeDelta()
	switch {
	case it.told:
	case it.kind == reasoningItem:
		e.raw("response.reasoning_summary_text.done", at, []byte(`,"text":"`), it.text, []byte{'"'})
	case it.part == refusalPartKind:
		e.raw("response.refusal.done", at, []byte(`,"refusal":"`), it.text, []byte{'"'})
	default:
		e.raw("response.output_text.done", at, []byte(`,"text":"`), it.text, []byte(`","logprobs":[`), it.logprobs, []byte{']'})
	}
	kind := "response.content_part.done"
	if it.kind == reasoningItem {
		kind = "response.reasoning_summary_part.done"
	}
	e.raw(kind, at, []byte(`,"part":`), part)
}

// annotated says an annotation of an item's open text.
func (e *events) annotated(it *item, annotation []byte) {
	if !e.quiet {
		e.raw("response.output_text.annotation.added", it.beforeDelta(), wire.AppendInt([]byte(`,"annotation_index":`), it.noted), []byte(`,"annotation":`), annotation)
	}
}

// callDone says the whole of a call's arguments, or of its input.
func (e *events) callDone(it *item) {
	if e.quiet {
		return
	}
	at := it.beforeDelta()
	if !it.call.tool.custom {
		e.raw("response.function_call_arguments.done", at, []byte(`,"name":`), wire.AppendQuoted(nil, it.call.tool.name), []byte(`,"arguments":"`), it.text, []byte{'"'})
		return
	}
	if rest := it.text[min(it.sent, len(it.text)):]; len(rest) > 0 {
		e.raw("response.custom_tool_call_input.delta", at, []byte(deltaMember), rest, []byte{'"'})
	}
	e.raw("response.custom_tool_call_input.done", at, []byte(`,"input":"`), it.text, []byte{'"'})
}

// ranAdded says all that is known of a tool that the gateway runs, behind the beginning of its item.
func (e *events) ranAdded(it *item) {
	head := it.head()
	switch it.ran.typeName() {
	case mcpList:
		e.raw("response.mcp_list_tools.in_progress", head)
	case mcpCall:
		e.raw("response.mcp_call.in_progress", head)
		if arguments := it.ran.arguments(); len(arguments) > len(`""`) {
			e.raw("response.mcp_call_arguments.delta", head, []byte(`,"delta":`), arguments)
		}
		e.raw("response.mcp_call_arguments.done", head, []byte(`,"arguments":`), it.ran.arguments())
	}
}

// ranDone says how the tool's work has ended.
func (e *events) ranDone(it *item) {
	end := ".completed"
	if it.ran.Error != nil || !it.ran.over {
		end = ".failed"
	}
	if kind := it.ran.typeName(); kind != mcpRequest {
		e.raw("response."+kind+end, it.head())
	}
}

// native says an event of an item of the upstream's own, at the place that the item has here.
func (e *events) native(it *item, event object) {
	kind := wire.Unquote(event.get("type"))
	if !isTheirs(kind) {
		return
	}
	members := wire.AppendOthers([]byte{'{'}, event, "type", "sequence_number", "output_index")
	b := wire.AppendInt([]byte(`,"output_index":`), it.index)
	if len(members) > 1 {
		b = append(append(b, ','), members[1:]...)
	}
	e.raw(kind, appendLine(nil, b))
}
