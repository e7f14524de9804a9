package gateway

import (
	"bytes"
	"io"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/internal/span"
)

// nativeReply mends the tool_calls of an upstream that makes them itself: indexes, ids,
// names and arguments. A frame in which nothing is wrong goes on byte for byte; one of
// which this is not known yet waits for the frames behind it.
type nativeReply struct {
	Reply
	judge   *judge
	ids     *callIDs
	choices []*nativeChoice

	scratch  chunk
	template []byte // a chunk, to write further ones by
	queue    []heldFrame
	held     int     // bytes in the queue
	out      []Frame // to be given out
	repairs  map[string]int
	changed  bool
	overhead time.Duration
	err      error
}

// maxHeldCalls is how many bytes of frames wait for a call to become certain.
const maxHeldCalls = 4 << 20

// heldFrame is a frame that waits, and what stands in its place if something in it, or
// in the frames that wait with it, has to be mended.
type heldFrame struct {
	frame  Frame
	before [][]byte // chunks in front of it
	alt    []byte   // its data; nil if nothing is left of it
	mended bool     // alt and before say something else than the frame alone
}

func newNativeReply(r Reply, j *judge, ids *callIDs) *nativeReply {
	return &nativeReply{Reply: r, judge: j, ids: ids}
}

// Warnings implements [Warner].
func (n *nativeReply) Warnings() []string {
	if w, ok := n.Reply.(Warner); ok {
		return w.Warnings()
	}
	return nil
}

// Next implements [Reply].
func (n *nativeReply) Next() (Frame, error) {
	for len(n.out) == 0 && n.err == nil {
		f, err := n.Reply.Next()
		if err != nil {
			n.end(err)
			break
		}
		if n.ordinary(f) {
			return f, nil
		}
		began := time.Now()
		n.read(f)
		n.overhead += time.Since(began)
	}
	if len(n.out) > 0 {
		f := n.out[0]
		n.out = n.out[1:]
		f.More = f.More || len(n.out) > 0
		return f, nil
	}
	return Frame{}, n.err
}

// ordinary reports whether a frame holds nothing of a call, and none waits.
func (n *nativeReply) ordinary(f Frame) bool {
	if len(n.queue) > 0 || len(n.choices) > 0 && (f.Done || bytes.Contains(f.Data, []byte(`"finish_reason"`))) {
		return false
	}
	return !bytes.Contains(f.Data, []byte(`"tool_calls"`))
}

// read takes a frame that may hold calls, or ends them.
func (n *nativeReply) read(f Frame) {
	key := "delta"
	if !n.Streamed() {
		key = "message"
	}
	h := heldFrame{frame: f, alt: f.Data}
	switch {
	case f.Done:
		h.before = n.close("")
		h.mended = len(h.before) > 0
	case f.Data != nil && locate(&n.scratch, f.Data, key):
		if n.template == nil {
			n.template = bytes.Clone(f.Data)
		}
		n.readChunk(&h)
	}
	if n.err = n.judge.err(); n.err != nil {
		n.queue = nil
		return
	}
	n.take(h)
}

// take gives a frame out with those that waited, or lets it wait.
func (n *nativeReply) take(h heldFrame) {
	if n.judge.report {
		n.out = append(n.out, h.frame)
		return
	}
	holding := n.holding() && n.held <= maxHeldCalls
	if !holding && len(n.queue) == 0 && !h.mended && n.unchanged() {
		n.out = append(n.out, h.frame)
		n.settle()
		return
	}
	if holding {
		h.frame.Raw, h.frame.Data = bytes.Clone(h.frame.Raw), bytes.Clone(h.frame.Data)
		h.frame.More = false
	}
	n.queue = append(n.queue, h)
	n.held += len(h.frame.Raw)
	if !holding {
		n.release()
	}
}

// release gives the frames out that waited: as they came if nothing in them was
// mended, and anew otherwise.
func (n *nativeReply) release() {
	mended := !n.unchanged()
	for _, h := range n.queue {
		mended = mended || h.mended
	}
	for _, h := range n.queue {
		if !mended {
			n.out = append(n.out, h.frame)
			continue
		}
		n.changed = true
		for _, data := range h.before {
			n.out = append(n.out, n.frame(h.frame, data))
		}
		switch {
		case h.alt != nil && h.frame.Data != nil:
			n.out = append(n.out, n.frame(h.frame, h.alt))
		case h.frame.Data == nil:
			n.out = append(n.out, h.frame)
		}
	}
	n.queue, n.held = n.queue[:0], 0
	n.settle()
}

// frame is a frame with other data than f.
func (n *nativeReply) frame(f Frame, data []byte) Frame {
	if !n.Streamed() {
		return Frame{Raw: data, Data: data}
	}
	before, after := []byte("data: "), []byte("\n\n")
	if f.Data != nil {
		before, after = around(f.Raw, f.Data)
	}
	data = bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '})
	raw := append(append(append(make([]byte, 0, len(before)+len(data)+len(after)), before...), data...), after...)
	return Frame{Raw: raw, Data: raw[len(before) : len(before)+len(data)]}
}

// end deals with the end of the upstream's reply.
func (n *nativeReply) end(err error) {
	n.err = err
	if err == io.EOF && n.Streamed() && len(n.choices) > 0 {
		if before := n.close(""); len(before) > 0 && !n.judge.report {
			for _, data := range before {
				n.queue = append(n.queue, heldFrame{frame: Frame{Raw: data}, before: [][]byte{data}, mended: true})
			}
		}
		if refused := n.judge.err(); refused != nil {
			n.err, n.queue = refused, nil
		}
	}
	if len(n.queue) > 0 && !n.judge.strict() {
		n.release()
	}
}

// readChunk reads the calls of a chunk or of a whole completion, and writes what
// stands in its place.
func (n *nativeReply) readChunk(h *heldFrame) {
	k := &n.scratch
	var edits []edit
	for i := range k.parts {
		p := &k.parts[i]
		c := n.choice(p.index, i)
		var entries [][]byte
		if !p.native.IsNull(k.data) && k.data[p.native.Start] == '[' {
			entries = n.entries(c, k.data, p.native)
		}
		reason := p.reason(k.data)
		if reason != "" || !n.Streamed() {
			rest := n.closeChoice(c, reason)
			if n.Streamed() && len(rest) > 0 {
				h.before = append(h.before, n.chunks(c, append(entries, rest...))...)
				h.mended, entries = true, nil
			} else {
				entries = append(entries, rest...)
			}
		}
		if !p.native.IsNull(k.data) {
			edits = append(edits, n.writeEntries(k.data, p, entries)...)
		}
		if len(c.calls) > 0 && strings.EqualFold(reason, string(openai.FinishReasonStop)) {
			edits = append(edits, edit{p.finish, []byte(`"` + openai.FinishReasonToolCalls + `"`)})
			h.mended = true
			n.repaired("finish_reason")
		}
	}
	if n.judge.report {
		return
	}
	h.alt = splice(k.data, edits)
	if n.Streamed() && isEmptyChunk(h.alt) {
		h.alt = nil
	}
}

// entries reads the entries of a choice's tool_calls, and returns them as they should
// be.
func (n *nativeReply) entries(c *nativeChoice, data []byte, list span.Span) [][]byte {
	var out [][]byte
	span.Elements(data, list.Start, func(place int, v span.Span) bool {
		if data[v.Start] != '{' || len(c.calls) >= maxCalls {
			out = append(out, bytes.Clone(v.Of(data)))
			return true
		}
		out = append(out, n.entry(c, v.Of(data), place)...)
		return true
	})
	return out
}

// writeEntries puts entries in the place of a part's tool_calls. A delta in which none
// are left loses the member.
func (n *nativeReply) writeEntries(data []byte, p *part, entries [][]byte) []edit {
	if len(entries) > 0 || !n.Streamed() {
		return []edit{{p.native, appendElements(nil, []byte("[]"), entries)}}
	}
	out := []byte{'{'}
	span.Members(data, p.body.Start, func(key []byte, v span.Span) bool {
		if string(key) != "tool_calls" {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(append(out, '"'), key...), `":`...), v.Of(data)...)
		}
		return true
	})
	return []edit{{p.body, append(out, '}')}}
}

// chunks are chunks with nothing but entries of a choice's calls, one each.
func (n *nativeReply) chunks(c *nativeChoice, entries [][]byte) [][]byte {
	var k chunk
	if !locate(&k, n.template, "delta") {
		return nil
	}
	var out [][]byte
	for _, e := range entries {
		choice := append(appendInt([]byte(`{"index":`), c.index), `,"delta":{"tool_calls":[`...)
		out = append(out, k.with(append(append(choice, e...), `]},"finish_reason":null}`...)))
	}
	return out
}

// close ends the calls of all choices for which no finish reason came.
func (n *nativeReply) close(reason string) [][]byte {
	var out [][]byte
	for _, c := range n.choices {
		out = append(out, n.chunks(c, n.closeChoice(c, reason))...)
	}
	return out
}

func (n *nativeReply) choice(index, place int) *nativeChoice {
	if !n.Streamed() {
		index = place // also where an upstream gives all of them one index
	}
	for _, c := range n.choices {
		if c.index == index {
			return c
		}
	}
	c := &nativeChoice{index: index}
	n.choices = append(n.choices, c)
	return c
}

// holding reports whether what was read is not certain yet.
func (n *nativeReply) holding() bool {
	for _, c := range n.choices {
		for _, call := range c.calls {
			if call.holding(n.judge.strict()) {
				return true
			}
		}
	}
	return false
}

// unchanged reports whether the calls of the frames at hand go out as they came.
func (n *nativeReply) unchanged() bool {
	for _, c := range n.choices {
		for _, call := range c.calls {
			if call.edited || !bytes.Equal(call.in, call.went) {
				return false
			}
		}
	}
	return true
}

// settle forgets what went out.
func (n *nativeReply) settle() {
	for _, c := range n.choices {
		for _, call := range c.calls {
			call.edited, call.in, call.went = false, call.in[:0], call.went[:0]
		}
	}
}

func (n *nativeReply) repaired(kind string) { n.repairs = count(n.repairs, kind) }

// report adds what was done to a summary.
func (n *nativeReply) report(s *Summary) {
	for kind, k := range n.repairs {
		s.addRepair(kind, k)
	}
	s.Changed = s.Changed || n.changed
	s.Native = 0
	for _, c := range n.choices {
		s.Native += len(c.calls)
	}
}

// isEmptyChunk reports whether a chunk of a stream says nothing any more.
func isEmptyChunk(data []byte) bool {
	var k chunk
	if !locate(&k, data, "delta") || !k.usage.IsNull(data) || len(k.parts) == 0 {
		return false
	}
	for i := range k.parts {
		p := &k.parts[i]
		members := 0
		span.Members(data, p.body.Start, func([]byte, span.Span) bool {
			members++
			return false
		})
		if members > 0 || p.reason(data) != "" {
			return false
		}
	}
	return true
}
