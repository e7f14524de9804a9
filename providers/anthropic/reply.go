package anthropic

import (
	"bytes"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// stream is a reply that is read as it comes. Close may be called while Next
// waits; nothing else is shared.
type stream struct {
	p        *Provider
	header   http.Header
	withheld headers.Withheld
	upstream *upstream.Stream
	decoder  decoder
	chunks   chunks // that the decoder writes
	given    int    // of their frames
	origins  origins
	repeated repeated
	warnings warnings
	err      error // that ended the stream
	frame    wire.Frame
	shape    wire.Shape
}

var (
	_ gateway.Reply  = (*stream)(nil)
	_ gateway.Warner = (*stream)(nil)

	_ gateway.Speaker = (*stream)(nil)
)

// Withheld implements [gateway.Withholder].
func (s *stream) Withheld() headers.Withheld { return s.withheld }

// Protocol implements [gateway.Speaker].
func (s *stream) Protocol() string { return messagesProtocol }

// Header implements [gateway.Reply].
func (s *stream) Header() http.Header { return s.header }

// Streamed implements [gateway.Reply].
func (s *stream) Streamed() bool { return true }

// Warnings implements [gateway.Warner].
func (s *stream) Warnings() []string { return s.warnings }

// Close implements [gateway.Reply].
func (s *stream) Close() error { return s.upstream.Close() }

// Next implements [gateway.Reply]. After the end marker it should be called once
// more: that lets the upstream's connection be used again.
func (s *stream) Next() (*gateway.Frame, error) {
	for s.err == nil && s.given == len(s.chunks.frames) {
		s.read()
	}
	if s.given == len(s.chunks.frames) {
		return nil, s.err
	}
	next := s.chunks.frames[s.given]
	s.given++
	f := &s.frame
	s.shape.Read(f, next.Raw, next.Data)
	f.Done = next.Done
	// What is here already may hold no frame at all, so only reading it tells.
	for s.err == nil && !s.decoder.done && s.given == len(s.chunks.frames) && s.upstream.Buffered() {
		s.read()
	}
	f.More = s.given < len(s.chunks.frames)
	return f, nil
}

// read reads one block of the upstream's, which may give no frame or several.
func (s *stream) read() {
	s.chunks.frames, s.given = s.chunks.frames[:0], 0
	if s.decoder.done {
		s.err = s.upstream.End()
		return
	}
	b, err := s.upstream.Next()
	if err != nil {
		s.err = err
		return
	}
	if s.again(&b) {
		return
	}
	data, plain := bytes.TrimSpace(b.Data), len(s.chunks.with) == 0 && len(s.origins.waiting) == 0
	s.chunks.room = 0
	if s.chunks.native {
		s.chunks.room = s.origins.come(&b, data)
	}
	switch {
	case len(data) > 0:
		if err = s.decoder.read(data); err == nil && s.chunks.native {
			s.origins.name(&s.chunks, &s.decoder.blocks)
			s.learn(&b, data, plain)
		}
	case !bytes.HasPrefix(b.Raw, []byte(":")):
	case s.chunks.native: // no words of its own, which could be those of a [wire.Origin]
		s.origins.name(&s.chunks, &s.decoder.blocks)
	default:
		s.chunks.comment(bytes.Clone(b.Raw))
	}
	if s.chunks.content {
		s.upstream.Started()
	}
	s.upstream.Finished(s.decoder.finished)
	if err != nil {
		s.upstream.Close()
		s.err = s.p.unusable(err, s.header)
	}
}
