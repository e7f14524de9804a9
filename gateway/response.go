package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// Summary is what was done for a request, for response headers and the log.
type Summary struct {
	Provider, Model string // where the answer came from
	Attempts        int
	Overhead        time.Duration // spent in the gateway itself, before and between the upstream's frames
	chain.Report
	// UpstreamError says that the upstream ended its stream with an error, which was
	// passed on.
	UpstreamError bool
	// Changed says that the client received something else than the upstream sent.
	Changed bool

	own []string // warnings that no chain gave
}

// Warn adds a warning of the gateway's own.
func (s *Summary) Warn(w string) {
	s.own = append(s.own, w)
	s.Warnings = append(s.Warnings, w)
}

// RepairList writes the repairs as a header does: args_json=1,index=2.
func (s *Summary) RepairList() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(s.Repairs)) {
		parts = append(parts, fmt.Sprintf("%s=%d", kind, s.Repairs[kind]))
	}
	return strings.Join(parts, ",")
}

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

	gateway  *Gateway
	ctx      context.Context //nolint:containedctx // a response lives as long as its request
	req      *Request
	target   Target
	reply    Reply
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
	ended    error
}

// plan gets the parsers ready, if the target's text is read at all.
func (r *Response) plan(model string) error {
	spec := r.target.Parsers
	if r.target.Mode == Off || spec.None() || (!r.req.OffersTools() && !spec.Reasoning) {
		return nil
	}
	plan, err := r.gateway.parsers.Plan(r.ctx, spec, model)
	if err != nil {
		return err
	}
	r.parsers = plan
	return nil
}

// Next returns the next bytes for the client: blocks of a stream, or the whole body.
// There may be none, when only a flush is due. more says that further bytes are
// already here, so that a writer need not flush yet. The bytes are valid until the
// next call. The error is io.EOF at the end, otherwise an *Error.
func (r *Response) Next() (b []byte, more bool, err error) {
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
		if r.parsers == nil {
			return r.unread(frame), frame.More, nil
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
	}
	if r.Streamed && bytes.Contains(f.Data, []byte(`"error"`)) {
		if locate(&r.scratch, f.Data, "delta"); r.scratch.failed {
			r.fail()
		}
	}
	return f.Raw
}

// fail ends a stream in which the upstream has sent an error. The client has it, so
// no other error and no end marker follows.
func (r *Response) fail() {
	r.Summary.UpstreamError = true
	r.ended = io.EOF
}

// read takes one frame in and returns what can go out.
func (r *Response) read(f Frame) []byte {
	r.out = r.out[:0]
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
	if r.parsers != nil {
		if r.finish(); r.ended != err { // a call is broken: no end marker
			return r.out
		}
	}
	return append(r.out, "data: [DONE]\n\n"...)
}

// Close ends the upstream request and gives the parsers back. It may be called
// more than once.
func (r *Response) Close() error {
	for _, c := range r.choices {
		c.chain.Close()
	}
	if r.session != nil {
		r.session.Close()
		r.session = nil
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
	ids      map[string]bool
}

// choice returns the state for the choice with an index, making it at first.
func (r *Response) choice(index int) *choice {
	for _, c := range r.choices {
		if c.index == index {
			return c
		}
	}
	if r.session == nil {
		r.session = r.gateway.parsers.Session()
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
	if r.renamed {
		s.Repairs, s.Changed = map[string]int{"reasoning_field": 1}, true
	}
	for _, c := range r.choices {
		report := c.chain.Report()
		s.Calls += report.Calls
		for kind, n := range report.Repairs {
			if s.Repairs == nil {
				s.Repairs = map[string]int{}
			}
			s.Repairs[kind] += n
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
