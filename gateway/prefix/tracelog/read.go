package tracelog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/prefix/simulate"
)

// Options say which requests are taken.
type Options struct {
	// Since leaves out requests that began before; the zero value leaves out none.
	Since time.Time
	// Route leaves out those of other routes; "" leaves out none.
	Route string
	// Problem is told of each line that is about a request and malformed; nil: nobody is.
	Problem func(*LineError)
}

// LineError says what is wrong with a line of a log. The line is left out.
type LineError = simulate.TraceError

// Summary counts lines by what became of them, and says how to replay the trace.
type Summary struct {
	Requests  int // in the trace
	Others    int // lines about something else, of other programs too
	Failed    int // requests that got no whole answer
	Left      int // requests that the options leave out
	Malformed int
	// Estimated are those of Requests whose upstream did not count tokens. Their tokens
	// are those that others have for as many bytes.
	Estimated int
	// BytesPerToken is that of all prompts whose tokens were counted, or 4 if none were.
	BytesPerToken float64
	// BlockTokens is how many tokens one of our blocks has then, at least 1.
	BlockTokens int
}

// Reader collects requests from log files. It is used by one goroutine. It holds all
// requests that it has taken, four bytes for each block.
type Reader struct {
	options  Options
	requests []*request
	summary  Summary
}

// New returns a reader that has read nothing.
func New(o Options) *Reader { return &Reader{options: o} }

// maxLine bounds a line of ours, whose blocks have 11 KB; what is longer is of others.
const maxLine = 1 << 20

// Read reads a log file, plain or as gzip; file is its name in problems. Rotated files may
// come in any order, since requests are ordered by when they began.
func (r *Reader) Read(file string, log io.Reader) error {
	plain, err := simulate.Unzip(log)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	in := bufio.NewReaderSize(plain, maxLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		long := err == bufio.ErrBufferFull
		for err == bufio.ErrBufferFull {
			_, err = in.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: line %d: %w", file, n, err)
		}
		if line = bytes.TrimSpace(line); long {
			r.summary.Others++
		} else if len(line) > 0 {
			r.take(file, n, line)
		}
		if err == io.EOF {
			return nil
		}
	}
}

// take takes a line, if it is about a request that is wanted.
func (r *Reader) take(file string, n int, line []byte) {
	q, ours, field, err := parse(line)
	switch {
	case err != nil:
		r.summary.Malformed++
		if r.options.Problem != nil {
			r.options.Problem(&LineError{File: file, Line: n, Field: field, Err: err})
		}
	case !ours:
		r.summary.Others++
	case r.options.Route != "" && q.route != r.options.Route || q.start.Before(r.options.Since):
		r.summary.Left++
	case q.failed:
		r.summary.Failed++
	default:
		r.requests = append(r.requests, q)
	}
}

// Trace returns what was read as a trace, which begins with its first request.
func (r *Reader) Trace() (simulate.Trace, Summary) {
	slices.SortStableFunc(r.requests, func(a, b *request) int { return a.start.Compare(b.start) })
	s := r.summary
	s.Requests, s.BytesPerToken = len(r.requests), r.bytesPerToken()
	s.BlockTokens = max(1, int(math.Round(prefix.BlockBytes/s.BytesPerToken)))
	trace := make(simulate.Trace, 0, len(r.requests))
	ids := map[uint32]int64{}
	for _, q := range r.requests {
		out := simulate.Request{Timestamp: q.start.Sub(r.requests[0].start).Milliseconds(), Blocks: make([]int64, 0, len(q.blocks))}
		for _, block := range q.blocks {
			id, known := ids[block]
			if !known {
				id = int64(len(ids))
				ids[block] = id
			}
			out.Blocks = append(out.Blocks, id)
		}
		if q.input == nil || q.output == nil {
			s.Estimated++
		}
		out.Input, out.Output = q.tokens(s.BytesPerToken)
		trace = append(trace, out)
	}
	return trace, s
}

// bytesPerToken is the mean over the prompts whose tokens were counted.
func (r *Reader) bytesPerToken() float64 {
	const usual = 4
	var size, tokens int64
	for _, q := range r.requests {
		if q.input != nil && *q.input > 0 {
			size, tokens = size+q.bytes, tokens+*q.input
		}
	}
	if tokens == 0 || size == 0 {
		return usual
	}
	return float64(size) / float64(tokens)
}

// tokens are those of the prompt and the answer, counted or estimated.
func (q *request) tokens(bytesPerToken float64) (input, output int) {
	const chunk = 200 // bytes of a stream for a token
	if q.input != nil {
		input = int(*q.input)
	} else {
		input = int(float64(q.bytes) / bytesPerToken)
	}
	switch {
	case q.output != nil:
		output = int(*q.output)
	case q.stream:
		output = int(q.answerBytes / chunk)
	default:
		output = int(float64(q.answerBytes) / bytesPerToken)
	}
	return min(input, maxCount), min(output, maxCount)
}
