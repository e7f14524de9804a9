package openai

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
	header   http.Header
	withheld headers.Withheld
	upstream *upstream.Stream
	warnings []string
	choices  choices
	done     bool // the end marker came
	frame    wire.Frame
	shape    wire.Shape
}

var (
	_ gateway.Reply  = (*stream)(nil)
	_ gateway.Warner = (*stream)(nil)

	_ gateway.Withholder = (*stream)(nil)
)

// Header implements [gateway.Reply].
func (s *stream) Header() http.Header { return s.header }

// Withheld implements [gateway.Withholder].
func (s *stream) Withheld() headers.Withheld { return s.withheld }

// Streamed implements [gateway.Reply].
func (s *stream) Streamed() bool { return true }

// Close implements [gateway.Reply].
func (s *stream) Close() error { return s.upstream.Close() }

// Warnings implements [gateway.Warner].
func (s *stream) Warnings() []string { return s.warnings }

// Next implements [gateway.Reply]. After the end marker it should be called once
// more: that lets the upstream's connection be used again.
func (s *stream) Next() (*gateway.Frame, error) {
	if s.done {
		return nil, s.upstream.End()
	}
	b, err := s.upstream.Next()
	if err != nil {
		return nil, err
	}
	f := &s.frame
	data := bytes.TrimSpace(b.Data)
	if len(data) == 0 {
		s.shape.Read(f, b.Raw, nil)
		f.More = s.upstream.Buffered()
		return f, nil
	}
	s.upstream.Started()
	if string(data) == "[DONE]" {
		s.shape.Read(f, b.Raw, nil)
		s.done, f.Done = true, true
		return f, nil
	}
	s.shape.Read(f, b.Raw, data)
	f.More = s.upstream.Buffered()
	if s.choices.read(f) {
		s.upstream.Finished(s.choices.complete())
	}
	return f, nil
}

// choices are those of a stream: which have begun, and which have a finish reason, by their index below
// [wire.MaxChoices].
type choices struct {
	begun, ended [wire.MaxChoices]bool
	asked, over  int // how many the client wants, and how many have ended
}

// read notes what a chunk says of choices, and reports whether it has any.
func (c *choices) read(f *wire.Frame) (any bool) {
	list := f.Choices()
	for i := range list {
		at := list[i].Index
		if at < 0 || at >= len(c.begun) {
			continue
		}
		c.begun[at], any = true, true
		if list[i].Reason != "" && !c.ended[at] {
			c.ended[at] = true
			c.over++
		}
	}
	return any
}

// complete reports whether nothing is missing of any choice, be it that it has not even begun.
func (c *choices) complete() bool { return c.over >= c.asked && c.begun == c.ended }
