package messages

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// Writer writes one answer. It is used by one goroutine. What a message consists of is the
// business of blocks; the writer reads frames, and says what stands around the blocks. Events of
// an upstream of the Messages API go by as they came, as long as the passage lets them.
type Writer struct {
	front   *Front
	summary *gateway.Summary
	print   printer
	blocks  blocks
	reading reading
	end     ending
	lost    protocol.Lost
	passage passage
	usage   []byte // the upstream's, as it came last
	scratch []byte // a frame that was changed, as it goes out
	started bool
	closed  bool // nothing is to be said any more
}

func newWriter(f *Front, r *gateway.Response) *Writer {
	w := &Writer{front: f, summary: r.Summary}
	w.print.whole = !f.stream
	w.blocks.kept.tools = hasElements(find(f.body, "tools"))
	w.blocks.shown, w.blocks.content.sealed, w.blocks.content.print = f.shown, f.shown == sealed, &w.print
	w.reading.blocks, w.reading.summary = &w.blocks, r.Summary
	w.passage = passage{w: w, index: -1}
	return w
}

var _ protocol.Writer = (*Writer)(nil)

// Streamed implements [protocol.Writer]: what the client wants decides.
func (w *Writer) Streamed() bool { return w.front.stream }

// Frame implements [protocol.Writer].
func (w *Writer) Frame(dst []byte, f *wire.Frame) ([]byte, error) {
	w.print.dst = dst
	err := w.frame(f)
	return w.print.dst, err
}

// Close implements [protocol.Writer].
func (w *Writer) Close(dst []byte) ([]byte, error) {
	if w.closed || w.summary.UpstreamError {
		return dst, nil
	}
	w.print.dst = dst
	err := w.finish()
	return w.print.dst, err
}

// Fail implements [protocol.Writer].
func (w *Writer) Fail(dst []byte, e *gateway.Error) []byte {
	if w.closed {
		return dst
	}
	w.closed = true
	return appendFailure(dst, e, w.front.requestID)
}

func (w *Writer) frame(f *wire.Frame) error {
	switch {
	case w.closed:
		return nil
	case f.Done:
		return w.finish()
	}
	if isOwn(w.summary) {
		if w.blocks.shown == hidden { // some of Anthropic's models think unasked, and want it back
			w.blocks.shown = readable
		}
		if taken, err := w.passage.pass(f); taken || err != nil {
			return err
		}
	}
	switch {
	case f.Data == nil: // a comment, by which an upstream shows that it lives
		if w.started {
			w.print.dst = append(w.print.dst, Form.Ping...)
		}
		return nil
	case f.Changed():
		return w.changed(f)
	}
	if at, shape := f.Hole(); shape != 0 && shape == w.reading.known.shape {
		return w.reading.again(at.Of(f.Data))
	}
	return w.chunk(f)
}

// changed takes a frame that something was put into. It is read as it would go out to a client
// of chat completions, as one chunk or several.
func (w *Writer) changed(f *wire.Frame) error {
	w.scratch = f.AppendTo(w.scratch[:0])
	if f.Whole {
		return w.chunk(&wire.Frame{Raw: w.scratch, Data: w.scratch, Whole: true})
	}
	for rest := w.scratch; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if err := w.chunk(&wire.Frame{Raw: data, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// chunk takes a chunk, or a whole completion.
func (w *Writer) chunk(f *wire.Frame) error {
	if f.Failed() {
		w.failed(f.Data)
		return nil
	}
	if !f.IsChunk() {
		return nil
	}
	w.start(f)
	if isOwn(w.summary) && w.blocks.shown == hidden { // some of Anthropic's models think unasked, and want it back
		w.blocks.shown = readable
	}
	if e, own, ok := served.Of(f, w.summary); own {
		if !ok {
			return nil
		}
		return w.blocks.serve(&e)
	}
	if u := f.Usage(); u != nil {
		w.usage = append(w.usage[:0], u...)
	}
	if !isOwn(w.summary) {
		w.lost.See(f, w.summary)
	}
	return w.choices(f)
}

// choices takes those of a chunk; one without any says something of no block.
func (w *Writer) choices(f *wire.Frame) error {
	if len(f.Choices()) == 0 && isOwn(w.summary) {
		w.aside(find(f.Data, own))
	}
	for i, choices := 0, f.Choices(); i < len(choices); i++ {
		if c := &choices[i]; c.Index == 0 {
			if c.Reason != "" {
				w.readEnd(f, c)
			}
			if err := w.reading.body(f, c); err != nil {
				return err
			}
			w.end.refused = w.reading.refused
		} else if c.Says || c.Acts { // a message has one
			w.summary.Warn("choice_dropped")
		}
	}
	return nil
}

// readEnd reads what a choice says of the answer's end.
func (w *Writer) readEnd(f *wire.Frame, c *wire.Choice) {
	w.end.own = isOwn(w.summary)
	w.end.read(c.Object.Of(f.Data), f.Data)
	w.blocks.content.cut = w.end.isCut()
}

// aside takes what an upstream of the Messages API has said of no block: an event as it is, and what its last one says.
func (w *Writer) aside(own value) {
	if event := find(own, "event"); event != nil && w.front.stream {
		w.print.dst = append(append(append(w.print.dst, "event: "...), text(find(event, "type"))...), "\ndata: "...)
		w.print.dst = append(appendLine(w.print.dst, event), "\n\n"...)
	}
	w.readStop(own)
}

// readStop reads what the last event of an upstream of the Messages API says.
func (w *Writer) readStop(own value) {
	if stop := find(own, "stop"); stop != nil {
		w.end.stop = others(stop)
	}
}

// failed ends the answer with an error that came in the place of a chunk. Its type is what its status would
// be without a stream: Anthropic sends an overloaded_error in-band where it would answer with 529, and
// clients decide by it whether and when to ask again.
func (w *Writer) failed(data []byte) {
	w.closed = true
	e := gateway.UpstreamFailure{Body: data}.Classify()
	e.Body = data
	w.print.dst = appendFailure(w.print.dst, e, w.front.requestID)
}

// head is what a message begins with.
type head struct{ id, model []byte } // strings

func readHead(data []byte) head {
	h := head{model: find(data, "model")}
	id := inner(find(data, "id"))
	if bytes.HasPrefix(id, []byte("msg_")) && fits(id) {
		h.id = quoted(id)
	} else {
		// Other servers may give all answers one id. Claude Code takes messages with the same
		// id for one, and sends their calls back in one turn.
		h.id = []byte(`"msg_` + strings.ToLower(rand.Text()) + `"`)
	}
	return h
}

// begin writes the members of a message up to its content.
func (w *Writer) begin(data []byte) {
	h := readHead(data)
	if len(inner(h.model)) == 0 {
		h.model = wire.AppendQuoted(nil, cmp.Or(w.summary.Model, w.front.model))
	}
	w.blocks.content.id = string(inner(h.id))
	p := &w.print
	p.dst = append(append(p.dst, `{"id":`...), h.id...)
	p.dst = append(append(p.dst, `,"type":"message","role":"assistant","model":`...), h.model...)
	p.dst = append(p.dst, `,"content":[`...)
}

// start writes the event that begins a stream. Clients show by its usage how full the context is. Where the upstream
// speaks the Messages API it is that of its own beginning; of others the count comes at the end, and the number of
// tokens is our own estimate.
func (w *Writer) start(f *wire.Frame) {
	if w.started {
		return
	}
	w.started = true
	var data []byte
	if f != nil {
		data = f.Data
	}
	if !w.front.stream {
		w.begin(data)
		return
	}
	w.print.dst = append(w.print.dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...)
	w.begin(data)
	p := &w.print
	p.dst = append(p.dst, `],"stop_reason":null,"stop_sequence":null`...)
	var begun value
	if isOwn(w.summary) {
		begun = find(data, own)
	}
	members(find(begun, "message"), func(name string, v value) { p.dst = appendLine(wire.AppendKey(p.dst, name), v) })
	p.dst = append(p.dst, `,"usage":`...)
	if usage := find(begun, "usage"); isObject(usage) {
		p.dst = appendLine(p.dst, usage)
	} else {
		p.dst = (&counts{input: w.front.Estimate()}).append(p.dst)
	}
	p.dst = append(p.dst, "}}\n\n"...)
}

// finish writes what ends a stream.
func (w *Writer) finish() error {
	if w.closed {
		return nil
	}
	whole := w.passage.isWhole()
	if !whole {
		if err := w.passage.stop(); err != nil {
			return err
		}
	}
	w.start(nil)
	if err := w.complete(); err != nil {
		return err
	}
	if whole {
		w.passage.writeEnd()
		return nil
	}
	dst := w.print.dst
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst = w.end.append(dst, w.blocks.outcome(), w.front)
	if c := w.end.container; c != nil {
		dst = append(append(dst, `,"container":`...), c...)
	}
	if isOwn(w.summary) {
		dst = append(dst, w.end.within...)
	}
	dst = append(dst, `},"usage":`...)
	dst = w.counts().append(dst)
	if c := w.end.management; c != nil {
		dst = append(append(dst, `,"context_management":`...), c...)
	}
	if isOwn(w.summary) {
		dst = append(dst, w.end.others...)
	}
	if w.summary.Execution {
		dst = append(append(dst, `,"execution":`...), observe.Execution(w.summary, true)...)
	}
	dst = append(dst, "}\n\n"...)
	if !w.summary.Replayed() {
		dst = append(dst, observe.Comment(w.summary)...)
	}
	dst = append(append(dst, "event: message_stop\ndata: {\"type\":\"message_stop\""...), w.end.stop...)
	dst = append(dst, "}\n\n"...)
	w.print.dst = dst
	return nil
}

// complete ends the last block, and notes that nothing more comes. The error is that of an answer which the
// upstream has given up.
func (w *Writer) complete() error {
	if err := w.blocks.finish(); err != nil {
		return err
	}
	if e := gateway.GivenUp(w.end.finish); e != nil {
		return e
	}
	w.closed = true
	if w.blocks.hasHidden() {
		w.summary.Warn("dropped:thinking")
	}
	if w.blocks.unnamed {
		w.summary.Warn("call_dropped:no_name")
	}
	return nil
}

// Whole implements [protocol.Writer].
func (w *Writer) Whole(f *wire.Frame) ([]byte, error) {
	if err := protocol.CheckCompletion(f); err != nil {
		return nil, err
	}
	if f.Changed() {
		w.scratch = f.AppendTo(w.scratch[:0])
		changed := &wire.Frame{Raw: w.scratch, Data: w.scratch, Whole: true}
		if isOwn(w.summary) && !changed.Failed() {
			w.blocks.own = w.repaired(f, changed)
		}
		f = changed
	} else if isOwn(w.summary) && len(served.All(f, w.summary)) == 0 { // else it is the content of the last round
		w.blocks.own = ownContent(f)
	}
	w.print.dst = make([]byte, 0, len(f.Data)+512)
	if err := w.chunk(f); err != nil {
		return nil, err
	}
	if err := w.complete(); err != nil {
		return nil, err
	}
	if came := w.asItCame(f); came != nil {
		return came, nil
	}
	return w.tail(), nil
}

// tail is the message whose blocks are written, with what follows them.
func (w *Writer) tail() []byte {
	dst := w.print.dst
	dst = append(dst, `],`...)
	dst = w.end.append(dst, w.blocks.outcome(), w.front)
	dst = append(dst, `,"usage":`...)
	dst = w.counts().append(dst)
	if c := w.end.container; c != nil {
		dst = append(append(dst, `,"container":`...), c...)
	}
	if c := w.end.management; c != nil {
		dst = append(append(dst, `,"context_management":`...), c...)
	}
	if isOwn(w.summary) {
		dst = append(dst, w.end.others...)
	}
	if w.summary.Execution {
		dst = append(append(dst, `,"execution":`...), observe.Execution(w.summary, false)...)
	}
	return append(dst, '}')
}

// isOwn reports whether the upstream speaks the Messages API. Blocks in its form are not believed of another one.
func isOwn(s *gateway.Summary) bool { return s.Protocol == Protocol }

// asItCame is an answer of the Messages API as it came, with another content where something was changed of that; nil if
// more than that has to be written.
func (w *Writer) asItCame(f *wire.Frame) []byte {
	m := ownMessage(f)
	if m == nil || w.blocks.own == nil || w.summary.ToolRun != nil || !w.end.isOwn(w.blocks.outcome()) || !isObject(find(m, "usage")) ||
		text(find(m, "type")) != "message" || text(find(m, "role")) != "assistant" || !isString(find(m, "id")) || len(inner(find(m, "model"))) == 0 {
		return nil
	}
	var edits []wire.Edit
	set := func(name string, v []byte) {
		if at := wire.Find(m, wire.Span{End: len(m)}, name); string(at.Of(m)) != string(v) {
			edits = append(edits, wire.Edit{At: at, With: v})
		}
	}
	set("content", slices.Concat([]byte{'['}, w.blocks.own, []byte{']'}))
	set("id", quoted([]byte(w.blocks.content.id)))
	if w.summary.Execution {
		at := len(m) - len("}")
		edits = append(edits, wire.Edit{At: wire.Span{Start: at, End: at}, With: append([]byte(`,"execution":`), observe.Execution(w.summary, false)...)})
	}
	return wire.Splice(m, edits)
}

// ownMessage is an answer of the Messages API as it came, where the upstream speaks that; nil if it is not there.
func ownMessage(f *wire.Frame) value {
	choices := f.Choices()
	if len(choices) != 1 {
		return nil
	}
	m := find(find(choices[0].Body.Of(f.Data), own), "message")
	if !isObject(m) {
		return nil
	}
	return m
}

// ownContent is its content: blocks in their order, with all that a chat completion has no place for.
func ownContent(f *wire.Frame) []byte {
	content := find(ownMessage(f), "content")
	if !isArray(content) {
		return nil
	}
	return content[1 : len(content)-1]
}
