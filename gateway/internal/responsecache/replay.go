package responsecache

import (
	"bytes"
	"io"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/wire"
)

// replay is a stored answer as a response. No upstream, and no breaker, hears of it.
func (c *Cache) replay(q Query, a *answers.Answer, how gateway.AnswerOutcome) *gateway.Response {
	s := &gateway.Summary{Route: q.Route, Origin: gateway.Origin{Provider: a.Provider, Model: a.Model}, Replay: gateway.Replay{AnswerCache: how, Age: a.Age(c.now()), Spared: a.Usage}, Execution: q.Execution}
	s.Parsers, s.Repairs = a.Parsers, a.Repairs
	for _, done := range a.Corrections {
		s.Corrections = append(s.Corrections, gateway.Correction{Tool: done.Tool, Reason: done.Reason})
	}
	r := &replayed{answer: a}
	if a.Streamed {
		r.blocks = wire.NewReader(bytes.NewReader(a.Body), len(a.Body)+1)
	}
	return &gateway.Response{Reply: r, Summary: s}
}

// replayed gives a stored answer.
type replayed struct {
	answer *answers.Answer
	blocks *wire.Reader // nil: it is one completion
	frame  wire.Frame
	given  bool
}

func (r *replayed) Header() http.Header {
	h := http.Header{}
	if r.answer.ContentType != "" {
		h.Set("Content-Type", r.answer.ContentType)
	}
	return h
}

func (r *replayed) Streamed() bool { return r.answer.Streamed }

func (r *replayed) Close() error { return nil }

func (r *replayed) Next() (*wire.Frame, error) {
	if r.blocks == nil {
		if r.given {
			return nil, io.EOF
		}
		r.given = true
		r.frame = wire.Frame{Raw: r.answer.Body, Data: r.answer.Body, Whole: true}
		return &r.frame, nil
	}
	b, err := r.blocks.Next()
	if err != nil {
		return nil, err
	}
	r.frame = wire.Frame{Raw: b.Raw, Data: b.Data, More: r.blocks.Buffered()}
	if string(b.Data) == "[DONE]" {
		r.frame.Data, r.frame.Done = nil, true
	}
	return &r.frame, nil
}
