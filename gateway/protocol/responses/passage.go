package responses

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/wire"
)

// passage is how far the events of an upstream of the API go on to the client as they came. Each is
// checked against those before it, and the machine is kept where they have come to, with the upstream's
// own items. From the first event on that is not as the API has it, or whose frame was changed, taken
// away or put in by the gateway, the machine writes what the chunks say.
type passage struct {
	state   passageState
	last    int             // the number of the last event
	going   bool            // response.in_progress was sent
	final   []byte          // the last event, or a whole answer
	numbers int             // of calls
	ids     map[string]bool // of items
	created int64           // what the client was told; 0: nothing
}

type passageState uint8

const (
	undecided passageState = iota
	passing
	ended
)

// pass takes a frame whose events go on as they came, and reports false if the frame is still to be read.
func (w *Writer) pass(f *wire.Frame) bool {
	p := &w.passage
	if p.state == ended || w.quiet {
		return false
	}
	list := f.Origins()
	if len(list) == 0 && (f.Data == nil || p.state == passing && isUsage(f)) { // a comment, or usage
		return false
	}
	if len(list) == 0 || p.state == undecided && w.phase != fresh || !w.passEvents(f, list) {
		w.stopPassing()
		return false
	}
	if f.Data != nil {
		w.readSide(f)
	}
	return true
}

// isUsage reports whether a chunk has no more than usage.
func isUsage(f *wire.Frame) bool {
	return !f.Failed() && len(f.Choices()) == 0 && object(f.Data).get("callgate") == nil
}

// passEvents sends the events of a frame on; it reports false at the first that is not the next one, or of which the
// chunk was changed.
func (w *Writer) passEvents(f *wire.Frame, list []wire.Origin) bool {
	p := &w.passage
	p.state = passing
	for i, o := range list {
		own := i == len(list)-1 && f.Data != nil // the chunk is made of it
		switch {
		case o.Data == nil && o.Number == p.last && !f.Changed():
			continue
		case o.Data == nil, o.Number != p.last+1, own && f.Changed(), !w.passEvent(o.Data):
			return false
		}
		p.last = o.Number
	}
	return true
}

// readSide reads what the end of the response needs of a chunk whose event goes on by itself.
func (w *Writer) readSide(f *wire.Frame) {
	for i := range f.Choices() {
		if c := &f.Choices()[i]; c.Reason != "" {
			w.finish = c.Reason
		}
	}
	if raw := f.Usage(); raw != nil {
		w.counts = readCounts(raw)
	}
}

// stopPassing lets the machine go on from where the upstream's events have come to.
func (w *Writer) stopPassing() {
	p := &w.passage
	before := p.state
	p.state, p.final = ended, nil
	if before != passing {
		return
	}
	if w.phase == begun && !p.going {
		w.raw("response.in_progress", w.appendResponse([]byte(`,"response":`), ending{status: inProgress}, 0))
	}
	switch it := w.open; {
	case it == nil || !it.told:
	case it.kind == callItem:
		w.close(completed)
	default:
		w.closePart()
	}
}

// came is an event of an upstream by its members.
type came struct {
	kind, id              string
	at, number, noted     int // the output_index, and those of the part and of the annotation
	sequence              wire.Span
	response, item, part  object
	piece, text, logprobs []byte // what a delta adds, what the whole is
	note                  []byte
	placed                bool // it has an output_index
}

func readCame(e object) (c came) {
	wire.Members(e, 0, func(key []byte, at wire.Span) bool {
		v := at.Of(e)
		switch string(key) {
		case "type":
			c.kind = wire.Unquote(v)
		case "sequence_number":
			c.sequence = at
		case "response":
			c.response = v
		case "item":
			c.item = v
		case "part":
			c.part = v
		case "item_id":
			c.id = wire.Unquote(v)
		case "output_index":
			c.at, c.placed = number(v), true
		case "content_index", "summary_index":
			c.number = number(v)
		case "annotation_index":
			c.noted = number(v)
		case "delta":
			c.piece = v
		case "text", "refusal", "arguments", "input":
			c.text = v
		case "logprobs":
			c.logprobs = v
		case "annotation":
			c.note = v
		}
		return true
	})
	return c
}

// passEvent sends an event on, if it is what the API has at this place; it reports false if not.
func (w *Writer) passEvent(e object) bool {
	c := readCame(e)
	switch {
	case !utf8.Valid(e) || c.kind == "error" || c.kind == "" || strings.Trim(c.kind, "abcdefghijklmnopqrstuvwxyz_.") != "":
		return false
	case c.response != nil:
		return w.passLifecycle(e, &c)
	case !w.passage.going || c.placed && !w.passItem(&c): // what has no place is such as "keepalive"
		return false
	}
	w.size += len(c.item) + len(c.piece) + len(c.logprobs) + len(c.note)
	w.passOn(e, &c)
	return true
}

// passItem takes an event of an item.
func (w *Writer) passItem(c *came) bool {
	switch {
	case c.kind == "response.output_item.added":
		return w.passAdded(c)
	case w.open == nil || c.at != w.open.index:
		return false
	case c.kind == "response.output_item.done":
		return w.passDone(c)
	}
	return (c.id == "" || c.id == w.open.id) && w.passWithin(c)
}

// passOn writes an event, with the next number and without what the client has not asked for.
func (w *Writer) passOn(e object, c *came) {
	var edits []wire.Edit
	if own := wire.AppendInt(nil, w.number); !c.sequence.Empty() && !bytes.Equal(c.sequence.Of(e), own) {
		edits = append(edits, wire.Edit{At: c.sequence, With: own})
	}
	if c.item != nil {
		if shown := w.shown(c.item); len(shown) != len(c.item) {
			edits = append(edits, wire.Edit{At: wire.Find(e, wire.Span{End: len(e)}, "item"), With: shown})
		}
	}
	w.passRaw(c.kind, wire.Splice(e, edits))
}

func (w *Writer) passRaw(kind string, e []byte) {
	w.out = append(append(append(w.out, "event: "...), kind...), "\ndata: "...)
	w.out = append(append(w.out, e...), "\n\n"...)
	w.number++
}

// shown is an item as the client gets it: encrypted reasoning only if it has asked for that.
func (m *machine) shown(item object) []byte {
	if item.get("encrypted_content") == nil || m.req.includes(encryptedReasoning) {
		return item
	}
	return wire.Splice(item, wire.Remove(item, "encrypted_content"))
}

// passLifecycle takes an event of the response itself. The last one is kept until the response is stored.
func (w *Writer) passLifecycle(e object, c *came) bool {
	p := &w.passage
	switch kind := strings.TrimPrefix(c.kind, "response."); kind {
	case "created", "queued", inProgress:
		return w.passBegin(e, c, kind)
	case completed, incomplete:
		if !p.going || w.open != nil || wire.Unquote(c.response.get("status")) != kind || p.final != nil {
			return false
		}
		p.final = bytes.Clone(e)
		return true
	}
	return false
}

// passBegin takes an event from before the first item.
func (w *Writer) passBegin(e object, c *came, kind string) bool {
	p := &w.passage
	due := begun
	if kind == "created" {
		due = fresh
	}
	if p.going || w.phase != due || len(w.items) > 0 || w.open != nil {
		return false
	}
	w.phase = begun
	if at, err := strconv.ParseInt(string(c.response.get("created_at")), 10, 64); err == nil && !w.req.Background() {
		p.created = at
	}
	if model := c.response.get("model"); isString(model) {
		w.model = slices.Clone(model)
	}
	if kind == "queued" || kind == "created" && w.req.said > 0 {
		return true
	}
	p.going = kind == inProgress
	w.passResponse(e, c, w.ownResponse(c.response, ending{status: inProgress}))
	return true
}

func (w *Writer) passResponse(e object, c *came, response []byte) {
	edits := []wire.Edit{{At: wire.Find(e, wire.Span{End: len(e)}, "response"), With: response}}
	if own := wire.AppendInt(nil, w.number); !c.sequence.Empty() && !bytes.Equal(c.sequence.Of(e), own) {
		edits = append(edits, wire.Edit{At: c.sequence, With: own})
		slices.SortFunc(edits, func(a, b wire.Edit) int { return a.At.Start - b.At.Start })
	}
	w.passRaw(c.kind, wire.Splice(e, edits))
}

// ownResponse is a response of the upstream's as the client gets it: under this gateway's id and with
// what is this gateway's to say, with the items that the client has got, and with the members that the
// upstream has left out.
func (w *Writer) ownResponse(response object, end ending) []byte {
	when := int64(0)
	if end.status != inProgress {
		when = time.Now().Unix()
	}
	ours := object(w.appendResponse(nil, end, when))
	have := map[string]bool{}
	var edits []wire.Edit
	finish := 0 // where the last member ends
	wire.Members(response, 0, func(key []byte, at wire.Span) bool {
		name := string(key)
		have[name], finish = true, at.End
		v := at.Of(response)
		switch name {
		case "output":
			edits = append(edits, wire.Shifted(w.outputEdits(v), at.Start)...)
		case "created_at":
			if w.req.Background() { // it was told already
				edits = append(edits, wire.Edit{At: at, With: ours.get(name)})
			}
		case "id", "previous_response_id", "conversation", "store", "background", "instructions", "tool_choice":
			if with := orNull(ours.get(name)); !bytes.Equal(with, v) {
				edits = append(edits, wire.Edit{At: at, With: with})
			}
		}
		return true
	})
	more := []byte{'{'}
	wire.Members(ours, 0, func(key []byte, at wire.Span) bool {
		if !have[string(key)] {
			more = append(wire.AppendKey(more, string(key)), at.Of(ours)...)
		}
		return true
	})
	if more[0] = ','; len(more) > 1 {
		edits = append(edits, wire.Edit{At: wire.Span{Start: finish, End: finish}, With: more})
	}
	return wire.Splice(response, edits)
}

// outputEdits make a list of items what the client has got of them: nothing, where it says that.
func (w *Writer) outputEdits(list []byte) (edits []wire.Edit) {
	n, same := 0, isArray(list)
	wire.Elements(list, 0, func(i int, at wire.Span) bool {
		item := object(at.Of(list))
		if n++; i >= len(w.items) || !bytes.Equal(appendLine(nil, item), appendLine(nil, w.items[i].JSON)) {
			same = false
			return false
		}
		if len(w.shown(item)) != len(item) {
			edits = append(edits, wire.Shifted(wire.Remove(item, "encrypted_content"), at.Start)...)
		}
		return true
	})
	if same && n == len(w.items) {
		return edits
	}
	return []wire.Edit{{At: wire.Span{End: len(list)}, With: slices.Concat([]byte{'['}, w.output, []byte{']'})}}
}

// passAdded begins an item.
func (w *Writer) passAdded(c *came) bool {
	id := wire.Unquote(c.item.get("id"))
	if w.open != nil || c.at != len(w.items) || !isItemID(id) || w.passage.ids[id] {
		return false
	}
	for _, name := range [...]string{"content", "summary", "arguments", "input"} {
		if v := c.item.get(name); v != nil && !isEmptyValue(v) {
			return false
		}
	}
	it := &item{index: c.at, id: id, part: noPart}
	switch wire.Unquote(c.item.get("type")) {
	case "message":
		it.kind, it.phase = messageItem, bytes.Clone(c.item.get("phase"))
	case "reasoning":
		it.kind = reasoningItem
	case "function_call", "custom_tool_call":
		if !w.passCall(it, c.item) {
			return false
		}
	case "":
		return false
	default:
		it.kind, it.native = nativeKind, &native{key: c.at, item: bytes.Clone(c.item)}
		w.natives = append(w.natives, it)
	}
	if w.passage.ids == nil {
		w.passage.ids = map[string]bool{}
	}
	w.passage.ids[id] = true
	w.open = it
	w.size += itemSize
	return true
}

// passCall begins a call, of a tool that the client may have called.
func (w *Writer) passCall(it *item, said object) bool {
	callID, name, space := said.get("call_id"), wire.Unquote(said.get("name")), wire.Unquote(said.get("namespace"))
	known := name
	if space != "" {
		known = flat(space, name)
	}
	t, ok := w.req.tools.byName[known]
	if t.barred || w.req.tools.restricted && !ok || w.isApproval(callID) || len(callID) <= len(`""`) || name == "" {
		return false
	}
	custom := wire.Unquote(said.get("type")) == "custom_tool_call"
	it.kind = callItem
	it.call = &call{key: w.passage.numbers, id: bytes.Clone(callID), name: known, tool: tool{name: name, space: space, custom: custom}}
	w.passage.numbers++
	w.calls = append(w.calls, it)
	it.before = append(it.head(), `,"delta":"`...)
	if custom {
		it.text = []byte(customBegin)
	}
	return true
}

// The arguments of a chat completion's call of a custom tool, around the input.
const (
	customBegin = `{\"input\":\"`
	customEnd   = `\"}`
)

const maxItemID = 256

func isItemID(id string) bool {
	return id != "" && len(id) <= maxItemID && strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// passDone ends the open item.
func (w *Writer) passDone(c *came) bool {
	it := w.open
	status := wire.Unquote(c.item.get("status"))
	switch {
	case wire.Unquote(c.item.get("id")) != it.id, wire.Unquote(c.item.get("type")) != it.typeName(), it.part != noPart:
		return false
	case it.kind == callItem && (!it.told || !bytes.Equal(c.item.get("call_id"), it.call.id)):
		return false
	case (it.kind == callItem || it.kind == messageItem) && status != completed && status != incomplete:
		return false
	}
	if it.native != nil {
		it.native.over = true
	}
	stored := bytes.Clone(c.item)
	w.output = appendElements(w.output, w.shown(c.item))
	w.items = append(w.items, Item{ID: it.id, Type: it.typeName(), JSON: stored})
	w.open, it.over, it.text, it.parts = nil, true, nil, nil
	return true
}

// textEvents are what events about a text begin with, and the part that it is of.
var textEvents = map[string]partKind{"response.output_text.": textPartKind, "response.refusal.": refusalPartKind, "response.reasoning_summary_text.": textPartKind,
	"response.function_call_arguments.": noPart, "response.custom_tool_call_input.": noPart}

// passWithin takes an event of the open item.
func (w *Writer) passWithin(c *came) bool {
	it := w.open
	if it.kind == nativeKind {
		return true
	}
	family := c.kind[:strings.LastIndexByte(c.kind, '.')+1]
	switch family {
	case "response.output_text.annotation.":
		return !strings.HasSuffix(c.kind, ".added") || it.takeNote(c)
	case "response.content_part.":
		return it.kind != messageItem || w.passPart(c)
	case "response.reasoning_summary_part.":
		return it.kind == reasoningItem && w.passPart(c)
	}
	if part, ok := textEvents[family]; ok {
		return it.passText(c, part)
	}
	return !strings.HasPrefix(c.kind, "response.mcp_") // nothing that the machine would write
}

// passText takes an event about a text of the item, which is of a part, or the arguments of a call.
func (it *item) passText(c *came, part partKind) bool {
	switch {
	case strings.HasPrefix(c.kind, "response.reasoning") != (it.kind == reasoningItem), (part == noPart) != (it.kind == callItem), it.told:
		return false
	case it.kind == callItem && strings.HasPrefix(c.kind, "response.custom") != it.call.tool.custom, part != noPart && (it.part != part || c.number != it.closed):
		return false
	case strings.HasSuffix(c.kind, ".delta"):
		return it.take(c)
	case !strings.HasSuffix(c.kind, ".done"), !it.isWhole(c.text):
		return false
	}
	if it.kind == callItem && it.call.tool.custom {
		it.text = append(it.text, customEnd...)
	}
	it.told = true
	return true
}

// takeNote takes an annotation of the text that is open.
func (it *item) takeNote(c *came) bool {
	if it.kind != messageItem || it.part != textPartKind || it.told || c.note == nil || c.noted != it.noted || c.number != it.closed {
		return false
	}
	it.notes = appendElements(it.notes, c.note)
	it.noted++
	return true
}

// take takes a piece of a text that goes on as it is.
func (it *item) take(c *came) bool {
	if !isString(c.piece) {
		return false
	}
	piece := inner(c.piece)
	if rest := clean(piece); !bytes.Equal(rest, piece) || hasHalf(piece) {
		return false
	}
	if it.kind == callItem && it.call.tool.custom {
		it.sent += len(piece)
		piece = inner(wire.AppendQuoted(nil, piece))
	}
	it.text = append(it.text, piece...)
	if isArray(c.logprobs) && !isEmptyValue(c.logprobs) {
		it.logprobs = appendElements(it.logprobs, bytes.TrimSpace(inner(c.logprobs)))
	}
	return true
}

// isWhole reports whether a text is what its pieces were.
func (it *item) isWhole(text []byte) bool {
	have := it.text
	if it.kind == callItem && it.call.tool.custom {
		have = customInput(append(slices.Clip(have), customEnd...))
	}
	if !isString(text) {
		return false
	}
	return bytes.Equal(inner(text), have) || wire.Unquote(text) == wire.Unquote(slices.Concat([]byte{'"'}, have, []byte{'"'}))
}

// passPart begins or ends a part of the open item.
func (w *Writer) passPart(c *came) bool {
	it := w.open
	kind, says := partOf(c.part)
	if kind == noPart || !isString(says) || c.number != it.closed {
		return false
	}
	if strings.HasSuffix(c.kind, ".added") {
		if it.part != noPart || len(says) > len(`""`) {
			return false
		}
		index := `,"content_index":`
		if it.kind == reasoningItem {
			index = `,"summary_index":`
		}
		it.part, it.told = kind, false
		it.before = append(wire.AppendInt(append(it.head(), index...), it.closed), `,"delta":"`...)
		return true
	}
	notes := 0
	wire.Elements(c.part.get("annotations"), 0, func(int, wire.Span) bool { notes++; return true })
	if it.part != kind || !it.told || notes != it.noted || !it.isWhole(says) {
		return false
	}
	it.parts = appendElements(it.parts, c.part)
	it.closed++
	it.text, it.logprobs, it.part, it.notes, it.noted, it.told = nil, nil, noPart, nil, 0, false
	return true
}

// partOf is the kind of a part and its text; noPart is one that is unknown, or without members that every text has.
func partOf(part object) (partKind, []byte) {
	switch wire.Unquote(part.get("type")) {
	case "output_text":
		if isArray(part.get("annotations")) && isArray(part.get("logprobs")) {
			return textPartKind, part.get("text")
		}
	case "summary_text":
		return textPartKind, part.get("text")
	case "refusal":
		return refusalPartKind, part.get("refusal")
	}
	return noPart, nil
}
