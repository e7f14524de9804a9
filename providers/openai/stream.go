package openai

import (
	"bytes"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// stream is a reply that is read as it comes. Close may be called while Next
// waits; nothing else is shared.
type stream struct {
	header   http.Header
	upstream *upstream.Stream
	warnings []string
	done     bool // the end marker came
}

var (
	_ gateway.Reply  = (*stream)(nil)
	_ gateway.Warner = (*stream)(nil)
)

// Header implements [gateway.Reply].
func (s *stream) Header() http.Header { return s.header }

// Streamed implements [gateway.Reply].
func (s *stream) Streamed() bool { return true }

// Close implements [gateway.Reply].
func (s *stream) Close() error { return s.upstream.Close() }

// Warnings implements [gateway.Warner].
func (s *stream) Warnings() []string { return s.warnings }

// Next implements [gateway.Reply]. After the end marker it should be called once
// more: that lets the upstream's connection be used again.
func (s *stream) Next() (gateway.Frame, error) {
	if s.done {
		return gateway.Frame{}, s.upstream.End()
	}
	b, err := s.upstream.Next()
	if err != nil {
		return gateway.Frame{}, err
	}
	return s.frame(b), nil
}

func (s *stream) frame(b wire.Block) gateway.Frame {
	f := gateway.Frame{Raw: b.Raw}
	data := bytes.TrimSpace(b.Data)
	if len(data) == 0 {
		f.More = s.upstream.Buffered()
		return f
	}
	s.upstream.Started()
	if string(data) == "[DONE]" {
		s.done, f.Done = true, true
		return f
	}
	f.Data = data
	f.More = s.upstream.Buffered()
	if finishes(data) {
		s.upstream.Finished()
	}
	return f
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
