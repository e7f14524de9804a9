package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// maxChunk is the limit in bytes on one block of a stream.
const maxChunk = wire.DefaultMaxBlock

// drainTime is how long a stream may take to close behind its end marker. An
// upstream needs microseconds; if it is given them, its connection can be used
// again.
const drainTime = 20 * time.Millisecond

// Stream is an answer that is read as it comes, block by block. The adapter says
// what the blocks mean to the timers and to the end: it calls Started at the first
// one that carries a part of the answer, and Finished when the answer is complete.
//
// It is used by one goroutine, but Close may be called while Next waits.
type Stream struct {
	c      *call
	body   io.Closer
	blocks *wire.Reader

	started  bool
	finished bool
	quiet    time.Time // when the first comment came behind the last chunk; zero if none has
	err      error     // that ended the stream
}

// Next returns the next block, whose slices are valid until the next call. A block
// that the end of the stream cut is given only if its data is whole, and then with
// the line ends that it lacks. The error is io.EOF when the stream ended behind
// Finished, else a [*gateway.Error] that says what ended it; a stream that just ends
// has the code "upstream_cut". Behind an error Next gives the same again.
func (s *Stream) Next() (wire.Block, error) {
	if s.err != nil {
		return wire.Block{}, s.err
	}
	b, err := s.read()
	if err == nil && b.Cut && !complete(&b) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return wire.Block{}, s.fail(s.ended(err))
	}
	if err := s.heard(&b); err != nil {
		return wire.Block{}, s.fail(err)
	}
	return b, nil
}

// heard notes how long the stream has said nothing but comments. They show that the upstream is
// there, and not that an answer will come. In front of the first token its own timer counts.
func (s *Stream) heard(b *wire.Block) error {
	limit := s.c.p.timeouts.Comments
	switch {
	case len(bytes.TrimSpace(b.Data)) > 0:
		s.quiet = time.Time{}
	case s.quiet.IsZero():
		s.quiet = time.Now()
	case s.awaitsFirst():
	case time.Since(s.quiet) > limit:
		return s.c.p.timeout(limit, "nothing but comments for", "comments")
	}
	return nil
}

// awaitsFirst reports whether the timer of the first token counts.
func (s *Stream) awaitsFirst() bool { return !s.started && s.c.firstToken != nil }

// Started stops the timer of the first token. From here on that of the pauses
// counts. It may be called for every block.
func (s *Stream) Started() {
	if !s.started {
		s.started = true
		s.c.stopFirstToken()
	}
}

// Finished notes whether nothing is missing if the stream ends now.
func (s *Stream) Finished(is bool) { s.finished = is }

// Buffered says that the next block, or a part of it, is already here.
func (s *Stream) Buffered() bool { return s.blocks.Buffered() }

// End ends the stream behind its end marker and returns io.EOF, or the error that
// ended it before. It gives the upstream a moment to close, so that its connection
// can be used again.
func (s *Stream) End() error {
	if s.err == nil {
		s.drain()
		s.blocks.Release()
		_ = s.fail(io.EOF)
	}
	return s.err
}

// Close ends the upstream request. It may be called more than once, and while Next
// waits.
func (s *Stream) Close() error {
	s.c.end()
	return s.body.Close()
}

// read reads a block, under the timer that counts at this point of the stream.
func (s *Stream) read() (wire.Block, error) {
	if s.awaitsFirst() || s.blocks.Buffered() {
		return s.blocks.Next()
	}
	s.c.idle.Reset(s.c.p.timeouts.Idle)
	b, err := s.blocks.Next()
	s.c.idle.Stop()
	return b, err
}

// complete says whether a block that the end of the stream cut is whole except
// for its line ends, and adds those: a frame that lacks them would run into the
// next one, and clients drop it.
func complete(b *wire.Block) bool {
	if data := bytes.TrimSpace(b.Data); string(data) != "[DONE]" && !json.Valid(data) {
		return false
	}
	if last := b.Raw[len(b.Raw)-1]; last != '\n' && last != '\r' {
		b.Raw = append(b.Raw, '\n')
	}
	b.Raw = append(b.Raw, '\n')
	return true
}

// ended is what the end of the stream means: io.EOF if the answer was complete.
func (s *Stream) ended(err error) error {
	if e := s.c.interrupted(); e != nil && (!s.finished || e.Kind != gateway.Timeout) { // an answer that is complete is not late
		return e
	}
	p := s.c.p
	var long *wire.TooLongError
	switch {
	case errors.As(err, &long):
		return p.Errorf(gateway.Unavailable, CodeUpstream, "the upstream sent a chunk of more than %d bytes.", long.Limit)
	case isRoom(err):
		return p.noRoom(err)
	case errors.Is(err, errTooLarge):
		return p.Errorf(gateway.Unavailable, CodeUpstream, "the upstream's answer is larger than %d bytes.", p.maxResponse)
	case errors.Is(err, errLongStream):
		return p.errLong()
	case s.finished:
		return io.EOF
	}
	what := "the upstream's answer ended in mid-stream."
	if !s.started {
		what = "the upstream's answer ended before its first chunk."
	}
	e := p.Errorf(gateway.Unavailable, CodeCut, "%s", what)
	e.Err = p.Safe(err)
	return e
}

// errLong is the error of an answer that is longer than it may be.
func (p *Client) errLong() *gateway.Error {
	return p.Errorf(gateway.Unavailable, CodeUpstream, "the upstream's stream is longer than %d bytes (max_stream).", p.maxStream)
}

// fail ends the stream with err.
func (s *Stream) fail(err error) error {
	s.err = err
	s.Close()
	return err
}

// drain reads the end of the upstream's answer, for a short time.
func (s *Stream) drain() {
	s.c.idle.Reset(drainTime)
	for {
		if _, err := s.blocks.Next(); err != nil {
			return
		}
	}
}
