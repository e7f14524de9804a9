package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/sse"
)

// maxChunk is the limit in bytes on one block of a stream.
const maxChunk = sse.DefaultMaxBlock

// drainTime is how long a stream may take to close behind its end marker. An
// upstream needs microseconds; if it is given them, its connection can be used
// again.
const drainTime = 20 * time.Millisecond

// stream is a reply that is read as it comes. Close may be called while Next
// waits; nothing else is shared.
type stream struct {
	c      *call
	header http.Header
	body   io.Closer
	blocks *sse.Reader

	data     bool  // a block with data came
	finished bool  // a chunk with a finish reason came
	done     bool  // the end marker came
	err      error // that ended the stream
}

var _ gateway.Reply = (*stream)(nil)

func newStream(c *call, resp *http.Response, body io.Reader) *stream {
	c.prepareIdle()
	return &stream{c: c, header: resp.Header, body: resp.Body, blocks: sse.NewReader(body, maxChunk)}
}

// Header implements [gateway.Reply].
func (s *stream) Header() http.Header { return s.header }

// Streamed implements [gateway.Reply].
func (s *stream) Streamed() bool { return true }

// Close implements [gateway.Reply].
func (s *stream) Close() error {
	s.c.end()
	return s.body.Close()
}

// Next implements [gateway.Reply]. After the end marker it should be called once
// more: that lets the upstream's connection be used again.
func (s *stream) Next() (gateway.Frame, error) {
	if s.err != nil {
		return gateway.Frame{}, s.err
	}
	if s.done {
		s.drain()
		return s.fail(io.EOF)
	}
	b, err := s.read()
	if err != nil {
		return s.fail(s.ended(err))
	}
	if b.Cut && !complete(&b) {
		return s.fail(s.ended(io.ErrUnexpectedEOF))
	}
	return s.frame(b), nil
}

// read reads a block, under the timer that counts at this point of the stream.
func (s *stream) read() (sse.Block, error) {
	if !s.data && s.c.firstToken != nil || s.blocks.Buffered() {
		return s.blocks.Next()
	}
	s.c.idle.Reset(s.c.p.timeouts.Idle)
	b, err := s.blocks.Next()
	s.c.idle.Stop()
	return b, err
}

func (s *stream) frame(b sse.Block) gateway.Frame {
	f := gateway.Frame{Raw: b.Raw}
	data := bytes.TrimSpace(b.Data)
	if len(data) == 0 {
		f.More = s.blocks.Buffered()
		return f
	}
	if !s.data {
		s.data = true
		s.c.stopFirstToken()
	}
	if string(data) == "[DONE]" {
		s.done, f.Done = true, true
		return f
	}
	f.Data = data
	f.More = s.blocks.Buffered()
	s.finished = s.finished || finishes(data)
	return f
}

// complete says whether a block that the end of the stream cut is whole except
// for its line ends, and adds those: a frame that lacks them would run into the
// next one, and clients drop it.
func complete(b *sse.Block) bool {
	if data := bytes.TrimSpace(b.Data); string(data) != "[DONE]" && !json.Valid(data) {
		return false
	}
	if last := b.Raw[len(b.Raw)-1]; last != '\n' && last != '\r' {
		b.Raw = append(b.Raw, '\n')
	}
	b.Raw = append(b.Raw, '\n')
	return true
}

// finishes says whether a chunk holds a finish reason. It looks for the text
// only: within a string of JSON the quotes would be escaped. Some upstreams send an
// empty one with every chunk, which says nothing.
func finishes(chunk []byte) bool {
	key := []byte(`"finish_reason"`)
	for {
		i := bytes.Index(chunk, key)
		if i < 0 {
			return false
		}
		chunk = bytes.TrimLeft(chunk[i+len(key):], " \t\r\n")
		value, ok := bytes.CutPrefix(chunk, []byte(":"))
		if !ok {
			continue
		}
		if value = bytes.TrimLeft(value, " \t\r\n"); len(value) > 1 && value[0] == '"' && value[1] != '"' {
			return true
		}
	}
}

// ended is what the end of the stream means: io.EOF if the answer was complete.
func (s *stream) ended(err error) error {
	if e := s.c.interrupted(); e != nil {
		return e
	}
	p := s.c.p
	var long *sse.TooLongError
	switch {
	case errors.As(err, &long):
		return p.errorf(gateway.Unavailable, codeUpstream, "the upstream sent a chunk of more than %d bytes.", long.Limit)
	case errors.Is(err, errTooLarge):
		return p.errorf(gateway.Unavailable, codeUpstream, "the upstream's answer is larger than %d bytes.", p.maxResponse)
	case s.finished:
		return io.EOF
	}
	e := p.errorf(gateway.Unavailable, "upstream_cut", "the upstream's answer ended in mid-stream.")
	if !s.data {
		e.Message = p.prefix() + "the upstream's answer ended before its first chunk."
	}
	e.Err = p.safe(err)
	return e
}

// fail ends the stream with err.
func (s *stream) fail(err error) (gateway.Frame, error) {
	s.err = err
	s.Close()
	return gateway.Frame{}, err
}

// drain reads the end of the upstream's answer, for a short time.
func (s *stream) drain() {
	s.c.idle.Reset(drainTime)
	for {
		if _, err := s.blocks.Next(); err != nil {
			return
		}
	}
}
