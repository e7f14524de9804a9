package gateway

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// Response is an answer on its way to the client, piece by piece. It is used by
// one goroutine.
type Response struct {
	// Header holds the upstream's headers for the client.
	Header http.Header
	// Streamed says whether the pieces are server-sent events, or one JSON body.
	Streamed bool
	// Summary grows while the response is read. It is complete when Next has
	// returned an error, or a whole body.
	Summary Summary

	attempt
	reading
	stored

	gateway *Gateway
	ctx     context.Context //nolint:containedctx // a response lives as long as its request
	req     *Request
	reply   Reply
	failure []byte   // the error that the upstream sent in the place of a chunk
	seen    *glimpse // until the first useful byte
	ahead   []byte   // read before the first useful byte, and not given out yet
	// withheld is how many bytes of those wait for the guard.
	withheld int64
	told     int // warnings that were there when the answer began, for its header
	ended    error
}

// reading is the state of the text's reading, and of its writing anew.
type reading struct {
	parsers  *chain.Plan // nil: nothing is read
	session  ParserSession
	choices  []*choice
	queue    []queued // frames that wait until it is known whether they go on as they are
	held     []byte   // their bytes
	out      []byte
	template []byte // the first chunk, to write further ones by
	scratch  chunk
	text     []byte // decoded content of the part at hand
	owed     bool   // a flush is owed for what was given out
	renamed  bool   // the upstream's reasoning was given the configured name
	finished bool   // the stream's end was dealt with
}

// Next returns the next bytes for the client: blocks of a stream, or the whole body.
// There may be none, when only a flush is due. more says that further bytes are
// already here, so that a writer need not flush yet. The bytes are valid until the
// next call. The error is io.EOF at the end, otherwise an *Error.
func (r *Response) Next() (b []byte, more bool, err error) {
	if r.replayed != nil {
		return r.again()
	}
	b, more, err = r.pull()
	if r.tape != nil {
		r.tape.take(r, b, err)
	}
	return b, more, err
}

func (r *Response) pull() (b []byte, more bool, err error) {
	if len(r.ahead) > 0 {
		if !r.Streamed {
			r.settle(io.EOF)
		}
		b, r.ahead = r.ahead, nil
		return b, false, nil
	}
	b, more, err = r.next()
	if err != nil {
		r.settle(err)
	}
	return b, more, err
}

func (r *Response) next() (b []byte, more bool, err error) {
	for r.ended == nil {
		frame, err := r.reply.Next()
		began := time.Now()
		if err != nil {
			r.ended = err
			b := r.drain(err)
			r.Summary.Overhead += time.Since(began)
			if len(b) > 0 {
				return b, true, nil
			}
			break
		}
		r.seeUsage(frame.Data)
		if r.seen != nil && frame.Data != nil {
			r.seen.chunk(frame.Data, r.Streamed)
		}
		if r.parsers == nil {
			b := r.unread(frame)
			if r.watch != nil {
				r.Summary.Overhead += time.Since(began)
			}
			return b, frame.More, nil
		}
		b := r.read(frame)
		r.Summary.Overhead += time.Since(began)
		if len(b) > 0 || r.owed && !frame.More { // what went out must not wait for what is held
			r.owed = frame.More
			return b, frame.More, nil
		}
	}
	r.summarise()
	return nil, false, r.ended
}

// unread lets a frame through whose text nobody reads.
func (r *Response) unread(f Frame) []byte {
	if r.Streamed && f.Done {
		r.finished = true
		if c := r.closing(); len(c) > 0 {
			return append(c, f.Raw...)
		}
		return f.Raw
	}
	if r.watch != nil && f.Data != nil {
		r.watch.frame(f.Data, r.Streamed)
	}
	if bytes.Contains(f.Data, []byte(`"error"`)) {
		if locate(&r.scratch, f.Data, bodyKey(r.Streamed)); r.scratch.failed {
			r.fail(f.Data)
			return r.redact(f.Raw)
		}
	}
	if !r.Streamed {
		return r.complete(f.Raw)
	}
	if r.of.conduct.Execution && r.template == nil && locate(&r.scratch, f.Data, "delta") {
		r.keepTemplate(&r.scratch)
	}
	return f.Raw
}

// fail ends a stream in which the upstream has sent an error. The client has it, so
// no other error and no end marker follows.
func (r *Response) fail(data []byte) {
	r.Summary.UpstreamError = true
	r.failure = bytes.Clone(data)
	r.ended = io.EOF
}

// read takes one frame in and returns what can go out.
func (r *Response) read(f Frame) []byte {
	r.out = r.out[:0]
	out := r.readFrame(f)
	if r.judge != nil && r.ended == nil {
		if err := r.judge.err(); err != nil {
			r.ended = err
			return nil
		}
	}
	return out
}

func (r *Response) readFrame(f Frame) []byte {
	switch {
	case f.Done:
		if out := r.finish(); r.ended != nil {
			return out
		}
		return append(r.out, f.Raw...)
	case f.Data == nil:
		return r.other(f)
	case !r.Streamed:
		return r.whole(r.renameReasoning(f, "message"))
	}
	return r.chunk(r.renameReasoning(f, "delta"))
}

// drain gives out what is held when the upstream's reply ends, well or badly.
func (r *Response) drain(err error) []byte {
	r.out = r.out[:0]
	switch {
	case !r.Streamed || r.finished:
		return nil
	case err != io.EOF && r.parsers == nil:
		return nil
	case err != io.EOF:
		return r.unqueue()
	}
	// The upstream has given a finish reason, or this would be an error, but no end
	// marker. Some clients wait for one.
	r.Summary.Warn("done_missing")
	if r.target.Mode != Repair {
		return r.closing()
	}
	if r.parsers != nil {
		if r.finish(); r.ended != err { // a call is broken: no end marker
			return r.out
		}
	} else {
		r.out = append(r.out, r.closing()...)
	}
	return append(r.out, "data: [DONE]\n\n"...)
}

// Close ends the upstream request and gives the parsers back. It may be called
// more than once.
func (r *Response) Close() error {
	if r.tape != nil {
		r.tape.abandon()
	}
	r.settle(nil)
	if r.cancel != nil {
		defer r.cancel()
	}
	for _, c := range r.choices {
		c.chain.Close()
	}
	if r.session != nil {
		r.session.Close()
		r.session = nil
	}
	if r.reply == nil {
		return nil
	}
	return r.reply.Close()
}

// choice is the state of one choice of the answer.
type choice struct {
	index   int
	chain   *chain.Chain
	next    int          // index on the wire of the next call
	native  map[int]int  // indexes of calls that the upstream itself gave, on the wire
	taken   map[int]bool // indexes on the wire that calls have
	wire    int          // index of the last call that was read from text
	events  []abi.Event  // not given out yet
	in      []byte       // text that the events are about, while frames are queued
	changed bool         // what goes out differs from what came in
	done    bool         // the chain is finished
	late    bool         // the stream ended and no finish reason had come
	renamed bool         // the finish reason "stop" has to become "tool_calls"
	// renumber says that the upstream's calls in the chunk at hand need other indexes.
	renumber bool
	read     textCalls
	named    int // calls whose name was mended
}

// choice returns the state for the choice with an index, making it at first.
func (r *Response) choice(index int) *choice {
	for _, c := range r.choices {
		if c.index == index {
			return c
		}
	}
	c := &choice{index: index, chain: r.parsers.New(r.session, chain.Options{
		Tools:       r.offered,
		NoTools:     !r.req.OffersTools(),
		Reasoning:   reasoningStart(r.target, r.req, r.Summary.Model, r.Streamed),
		InReasoning: r.target.InReasoning,
	})}
	r.choices = append(r.choices, c)
	return c
}

// offered reads the request's tools when a parser first wants them.
func (r *Response) offered() []abi.Tool { return r.req.offered() }

// summarise adds up what the chains did.
func (r *Response) summarise() {
	s := &r.Summary
	s.Report = chain.Report{Warnings: s.own}
	for kind, n := range r.mended {
		s.addRepair(kind, n)
	}
	if r.renamed {
		s.addRepair("reasoning_field", 1)
	}
	s.Changed = len(s.Repairs) > 0
	if r.native != nil {
		r.native.report(s)
	}
	s.Faults = maps.Clone(r.faults)
	if r.judge != nil {
		s.Warnings = append(s.Warnings, r.judge.warnings...)
		for class, n := range r.judge.faults {
			s.addFault(class, n)
		}
		s.Called = slices.Clone(r.judge.called)
		if s.References = r.judge.resolved; len(s.References) > 0 && r.judge.mode == Repair && !r.judge.report {
			s.addRepair("reference", len(s.References))
		}
	}
	if w, ok := r.reply.(Warner); ok {
		s.Warnings = append(s.Warnings, w.Warnings()...)
	}
	r.addChains()
}

// addChains adds up what the choices' chains did.
func (r *Response) addChains() {
	s := &r.Summary
	for _, c := range r.choices {
		report := c.chain.Report()
		s.Calls += report.Calls
		if c.named > 0 {
			s.addRepair("name", c.named)
		}
		for kind, n := range report.Repairs {
			s.addRepair(kind, n)
		}
		for _, p := range report.Parsers {
			if !slices.Contains(s.Parsers, p) {
				s.Parsers = append(s.Parsers, p)
			}
		}
		for _, w := range report.Warnings {
			if !slices.Contains(s.Warnings, w) {
				s.Warnings = append(s.Warnings, w)
			}
		}
		s.Changed = s.Changed || c.changed
	}
}
