package openai

import (
	"io"
	"net/http"
	"testing"

	"github.com/callgate/callgate/gateway"
)

func TestFinishes(t *testing.T) {
	t.Parallel()
	for chunk, want := range map[string]bool{
		`{}`:                                   false,
		`{"choices":[{"finish_reason":null}]}`: false,
		`{"choices":[{"finish_reason":""}]}`:   false,
		`{"choices":[{"finish_reason":null},{"finish_reason" :` + "\n" + `"stop"}]}`: true,
		`{"choices":[{"delta":{"content":"\"finish_reason\":\"stop\""}}]}`:           false,
		`{"choices":[{"finish_reason":"tool_calls","index":0}]}`:                     true,
		`{"a":"finish_reason","finish_reason":`:                                      false,
	} {
		if got := (&gateway.Frame{Data: []byte(chunk)}).Finishes(); got != want {
			t.Errorf("%s: got %v, want %v", chunk, got, want)
		}
	}
}

// canned gives chunks without a network.
type canned struct{ chunk string }

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, ContentLength: -1,
		Body: io.NopCloser(&oneByOne{chunk: c.chunk}),
	}, nil
}

// oneByOne gives a chunk a read, so that nothing is buffered and every chunk pays
// for its timer.
type oneByOne struct{ chunk string }

func (o *oneByOne) Read(p []byte) (int, error) { return copy(p, o.chunk), nil }

func BenchmarkNext(b *testing.B) {
	const chunk = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}` + "\n\n"
	p, err := New(Config{BaseURL: "http://x/v1", Transport: canned{chunk}})
	if err != nil {
		b.Fatal(err)
	}
	req, err := gateway.ParseRequest([]byte(`{"model":"m","stream":true}`))
	if err != nil {
		b.Fatal(err)
	}
	reply, err := p.Chat(b.Context(), "m", req)
	if err != nil {
		b.Fatal(err)
	}
	defer reply.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := reply.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChat(b *testing.B) {
	p, err := New(Config{BaseURL: "http://x/v1", APIKey: "sk-0123456789", Transport: canned{"data: [DONE]\n\n"}})
	if err != nil {
		b.Fatal(err)
	}
	req, err := gateway.ParseRequest([]byte(`{"model":"m","stream":true}`))
	if err != nil {
		b.Fatal(err)
	}
	req.From.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"x"}, "X-Stainless-Lang": {"python"}, "Accept": {"*/*"}}
	b.ReportAllocs()
	for b.Loop() {
		reply, err := p.Chat(b.Context(), "m", req)
		if err != nil {
			b.Fatal(err)
		}
		reply.Close()
	}
}
