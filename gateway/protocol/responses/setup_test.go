package responses_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
	"github.com/callgate/callgate/gateway/wire"
)

// reply is an answer of which a writer asks no more than whether it is a stream.
type reply struct{ streamed bool }

func (r reply) Header() http.Header           { return nil }
func (r reply) Streamed() bool                { return r.streamed }
func (r reply) Next() (*gateway.Frame, error) { return nil, io.EOF }
func (r reply) Close() error                  { return nil }
func response(streamed bool) *gateway.Response {
	return &gateway.Response{Reply: reply{streamed}, Summary: &gateway.Summary{}}
}

var sealer = responses.NewSealer([]byte("a secret"))

// parse reads a request and makes its chat completion.
func parse(t testing.TB, body string) *responses.Request {
	t.Helper()
	r, err := responses.Parse([]byte(body), responses.Options{Sealer: sealer, Tenant: "t"})
	if err == nil {
		err = r.Translate()
	}
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if _, err := gateway.ParseRequest(r.Chat()); err != nil {
		t.Fatalf("%v in the chat completion %s", err, r.Chat())
	}
	return r
}

// chunks writes a stream of chunks, each with a delta, a finish reason or whatever else is JSON.
func chunks(t testing.TB, r *responses.Request, data ...string) (*gateway.Summary, []byte) {
	t.Helper()
	resp := response(true)
	w := r.Writer(resp)
	shape, frame := &wire.Shape{}, &wire.Frame{}
	var out []byte
	var err error
	for _, d := range data {
		if d == "[DONE]" {
			out, err = w.Frame(out, &wire.Frame{Raw: []byte("data: [DONE]\n\n"), Done: true})
		} else {
			raw := []byte("data: " + d + "\n\n")
			shape.Read(frame, raw, raw[len("data: "):len(raw)-2])
			out, err = w.Frame(out, frame)
		}
		if err != nil {
			return resp.Summary, w.Fail(out, gateway.AsError(err))
		}
	}
	if out, err = w.Close(out); err != nil {
		out = w.Fail(out, gateway.AsError(err))
	}
	return resp.Summary, out
}

// delta is a chunk with a delta.
func delta(d string) string {
	return `{"model":"m-1","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

// finish is a chunk with a finish reason.
func finish(reason string) string {
	return `{"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// check judges a stream.
func check(t testing.TB, stream []byte) *responsestest.Stream {
	t.Helper()
	s, err := responsestest.CheckStream(stream)
	if err != nil {
		t.Fatalf("%v in the stream\n%s", err, stream)
	}
	return s
}

// whole is the response of a whole completion.
func whole(t testing.TB, r *responses.Request, completion string) []byte {
	t.Helper()
	body, err := r.Writer(response(false)).Whole(&wire.Frame{Raw: []byte(completion), Data: []byte(completion), Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := responsestest.CheckResponse(body); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return bytes.Clone(body)
}

// refused is the error of a request.
func refused(body string) *gateway.Error {
	r, err := responses.Parse([]byte(body), responses.Options{Sealer: sealer})
	if err == nil {
		err = r.Stateless()
	}
	if err == nil {
		err = r.Translate()
	}
	if err == nil {
		return r.Source().Foreign
	}
	var e *gateway.Error
	errors.As(err, &e)
	return e
}

func says(e *gateway.Error, param, text string) bool {
	return e != nil && e.Kind == gateway.Invalid && e.Param == param && strings.Contains(e.Message, text)
}
