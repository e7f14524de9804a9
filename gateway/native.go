package gateway

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
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
	text     []byte        // arguments of the entry at hand
	current  heldFrame     // the frame at hand
	shape    shape         // of the chunk before
	template []byte        // a chunk, to write further ones by
	touched  []*nativeCall // calls of the frame at hand and of those that wait
	queue    []heldFrame
	held     int     // bytes in the queue
	out      []Frame // to be given out
	given    int     // how many of them were
	repairs  map[string]int
	changed  bool
	overhead time.Duration
	err      error
}

const (
	// maxHeldCalls is how many bytes of frames wait for a call to become certain. More
	// of them are written anew, with what is certain.
	maxHeldCalls = 4 << 20
	// maxJudged is how many wait where a call has to be complete and good before
	// anyone sees it. A longer one is refused.
	maxJudged = 32 << 20
	// heldOverhead is about what a frame that waits takes besides its bytes.
	heldOverhead = 256
)

// heldFrame is a frame with what there is to say of its calls.
type heldFrame struct {
	frame Frame
	// pieces are the entries of tool_calls in it. Where an answer is whole there may
	// be further ones.
	pieces []piece
	// late are pieces of which the frame has no entries: they belong in front of its
	// finish reason, or of the end of the stream.
	late []piece
	// renamed are the places of the choices whose finish reason has to be tool_calls,
	// and unfinished the indexes of those that need one behind their calls.
	renamed, unfinished []int
	mended              bool // renamed or unfinished is not empty
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
	for n.given == len(n.out) && n.err == nil {
		n.out, n.given = n.out[:0], 0
		f, err := n.Reply.Next()
		switch {
		case err == nil && n.shaped(f):
			continue
		case err == nil && n.ordinary(f):
			return f, nil
		}
		began := time.Now()
		if err != nil {
			n.end(err)
		} else {
			n.read(f)
		}
		n.overhead += time.Since(began)
	}
	if n.given < len(n.out) {
		f := n.out[n.given]
		n.given++
		f.More = f.More || n.given < len(n.out)
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

// begin makes the frame at hand of one that came.
func (n *nativeReply) begin(f Frame) *heldFrame {
	h := &n.current
	*h = heldFrame{frame: f, pieces: h.pieces[:0], late: h.late[:0], renamed: h.renamed[:0], unfinished: h.unfinished[:0]}
	return h
}

// read takes a frame that may hold calls, or ends them.
func (n *nativeReply) read(f Frame) {
	h := n.begin(f)
	n.shape.call = nil
	switch {
	case f.Done:
		n.close(h)
	case f.Data == nil:
	case locate(&n.scratch, f.Data, bodyKey(n.Streamed())):
		if n.template == nil {
			n.template = bytes.Clone(f.Data)
		}
		n.readChunk(h)
	case n.scratch.failed && !n.judge.report:
		n.abandon()
		n.out = append(n.out, f)
		return
	}
	n.finish(h)
}

// finish deals with a frame that was read.
func (n *nativeReply) finish(h *heldFrame) {
	if n.err = n.judge.err(); n.err != nil {
		n.queue = nil
		return
	}
	n.take(h)
}

// readChunk reads the calls of a chunk or of a whole completion.
func (n *nativeReply) readChunk(h *heldFrame) {
	k := &n.scratch
	for i := range k.parts {
		p := &k.parts[i]
		c := n.choice(p.index, i)
		if !p.native.Empty() && k.data[p.native.Start] == '[' {
			n.readEntries(h, c, i, p.native)
		}
		reason := p.reason(k.data)
		if reason == "" && n.Streamed() {
			continue
		}
		n.closeChoice(h, c, i, reason)
		c.finished = true
		if len(c.calls) > 0 && strings.EqualFold(reason, string(openai.FinishReasonStop)) {
			h.renamed, h.mended = append(h.renamed, i), true
			n.repaired("finish_reason")
		}
	}
}

// take gives a frame out with those that waited, or lets it wait.
func (n *nativeReply) take(h *heldFrame) {
	if n.judge.report {
		n.out = append(n.out, h.frame)
		n.settle()
		return
	}
	holding := n.holding()
	switch {
	case !holding && len(n.queue) == 0 && !h.mended && n.unchanged(false):
		n.out = append(n.out, h.frame)
		n.settle()
		return
	case holding && n.judge.waits() && n.held > maxJudged:
		n.tooLong()
		return
	case holding && !n.judge.waits() && n.held > maxHeldCalls:
		holding = false
	}
	if holding {
		n.keep(h)
		return
	}
	n.queue = append(n.queue, *h)
	n.release(false)
}

// keep lets a frame wait, which is valid only until the next one.
func (n *nativeReply) keep(h *heldFrame) {
	kept := *h
	kept.frame = h.frame.clone()
	kept.frame.More = false
	kept.pieces, kept.late = slices.Clone(h.pieces), slices.Clone(h.late)
	kept.renamed, kept.unfinished = slices.Clone(h.renamed), slices.Clone(h.unfinished)
	n.queue = append(n.queue, kept)
	n.held += len(kept.frame.Raw) + heldOverhead
}

// clone returns the frame with bytes of its own.
func (f Frame) clone() Frame {
	raw := bytes.Clone(f.Raw)
	if at := bytes.Index(f.Raw, f.Data); f.Data == nil || at < 0 { // it came on several lines
		f.Data = bytes.Clone(f.Data)
	} else {
		f.Data = raw[at : at+len(f.Data)]
	}
	f.Raw = raw
	return f
}

// tooLong refuses a call that cannot wait until it is complete.
func (n *nativeReply) tooLong() {
	for _, call := range n.touched {
		if call.holding(true) {
			n.refuse(call, nil, &repair.Problem{Class: repair.InvalidJSON,
				Message: "The arguments are too long to be checked.", Hint: "Give shorter arguments."})
			break
		}
	}
	n.err, n.queue = n.judge.err(), nil
}

// release gives the frames out that waited: as they came if nothing in them was
// mended, and anew otherwise. cut says that the upstream's answer has broken off.
func (n *nativeReply) release(cut bool) {
	mended := !n.unchanged(cut)
	for i := range n.queue {
		mended = mended || n.queue[i].mended
	}
	if mended {
		n.changed = true
		for _, call := range n.touched {
			if !call.shown {
				n.show(call)
			}
		}
	}
	for i := range n.queue {
		if h := &n.queue[i]; mended {
			n.rewrite(h)
		} else if h.frame.Raw != nil {
			n.out = append(n.out, h.frame)
		}
	}
	n.queue, n.held = n.queue[:0], 0
	n.settle()
}

// abandon gives out what waits for an answer that has broken off, if it may be seen.
func (n *nativeReply) abandon() {
	if len(n.queue) > 0 && !n.judge.waits() {
		n.release(true)
	}
	n.queue = nil
}

// end deals with the end of the upstream's reply.
func (n *nativeReply) end(err error) {
	n.err = err
	switch {
	case err != io.EOF:
		n.abandon()
		return
	case !n.Streamed():
		return
	}
	h := heldFrame{} // there is no end marker to write in front of
	n.close(&h)
	if refused := n.judge.err(); refused != nil {
		n.err, n.queue = refused, nil
		return
	}
	if !n.judge.report {
		n.queue = append(n.queue, h)
		n.release(false)
	}
}

// close ends the calls of all choices for which no finish reason came. A choice whose
// calls are complete gets one: clients wait for it before they run them.
func (n *nativeReply) close(h *heldFrame) {
	for _, c := range n.choices {
		broken := !n.closeChoice(h, c, -1, "")
		if len(c.calls) > 0 && !c.finished && !broken {
			h.unfinished, h.mended = append(h.unfinished, c.index), true
			n.repaired("finish_reason")
		}
		c.finished = true
	}
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

// touch notes that the frame at hand says something of a call.
func (n *nativeReply) touch(call *nativeCall) {
	if !call.touched {
		call.touched = true
		n.touched = append(n.touched, call)
	}
}

// holding reports whether what was read is not certain yet.
func (n *nativeReply) holding() bool {
	return slices.ContainsFunc(n.touched, n.waiting)
}

// waiting reports whether a call is not certain yet.
func (n *nativeReply) waiting(c *nativeCall) bool { return c.holding(n.judge.strictFor(c.name)) }

// unchanged reports whether the calls of the frames at hand go out as they came; where
// the answer is cut, as far as they go out.
func (n *nativeReply) unchanged(cut bool) bool {
	return !slices.ContainsFunc(n.touched, func(c *nativeCall) bool { return c.edited || !c.same(cut) })
}

// settle forgets what went out.
func (n *nativeReply) settle() {
	kept := n.touched[:0]
	for _, call := range n.touched {
		call.edited = false
		call.cameBefore, call.wentBefore = len(call.args.Raw()), len(call.text)
		if call.touched = n.waiting(call); call.touched {
			kept = append(kept, call)
		}
	}
	n.touched = kept
}

func (n *nativeReply) repaired(kind string) { n.repairs = count(n.repairs, kind) }

// report adds what was done to a summary.
func (n *nativeReply) report(s *Summary) {
	for kind, k := range n.repairs {
		s.addRepair(kind, k)
	}
	s.Changed = s.Changed || n.changed
	s.Overhead += n.overhead
	n.overhead = 0
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
		wire.Members(data, p.body.Start, func([]byte, wire.Span) bool {
			members++
			return false
		})
		if members > 0 || p.reason(data) != "" {
			return false
		}
	}
	return true
}
