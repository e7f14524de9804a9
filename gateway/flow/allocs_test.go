package flow_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/protocol/chat"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// reading is a provider that reads its answer as the adapters do.
type reading struct{ body []byte }

func (p *reading) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return &readingReply{blocks: wire.NewReader(bytes.NewReader(p.body), 0)}, nil
}

type readingReply struct {
	blocks *wire.Reader
	frame  wire.Frame
	shape  wire.Shape
}

func (r *readingReply) Header() http.Header { return http.Header{} }
func (r *readingReply) Streamed() bool      { return true }
func (r *readingReply) Close() error        { return nil }

func (r *readingReply) Next() (*gateway.Frame, error) {
	b, err := r.blocks.Next()
	if err != nil {
		return nil, err
	}
	done := string(b.Data) == "[DONE]"
	if done {
		b.Data = nil
	}
	r.shape.Read(&r.frame, b.Raw, b.Data)
	r.frame.Done, r.frame.More = done, r.blocks.Buffered()
	return &r.frame, nil
}

// TestChunkAllocations counts the memory that a further chunk takes on its way from the
// upstream's bytes to the client's, through all stages, where nothing in it is repaired. The
// arguments of a call are kept as long as the call is not over, so that their memory grows.
func TestChunkAllocations(t *testing.T) {
	const (
		head = `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1700000000,"model":"m-1","choices":[{"index":0,"delta":`
		tail = `,"logprobs":null,"finish_reason":null}]}` + "\n\n"
		more = 1000
	)
	for _, tt := range []struct{ name, first, piece, last, reason string }{
		{"text", `{"role":"assistant","content":""}`, `{"content":" word"}`, `{"content":"."}`, "stop"},
		{"reasoning", `{"role":"assistant","content":null,"reasoning_content":""}`, `{"reasoning_content":" word"}`, `{"content":"."}`, "stop"},
		{"native call", `{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"get_time","arguments":"{\"text\": \""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":" word"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}`, "tool_calls"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &reading{}
			g, err := flow.New(flow.Options{
				Providers: map[string]gateway.Provider{"p": p},
				Routes:    map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair, Parsers: repair.Parsers}}},
				Parsers:   native{chaintest.Runner{Specs: all.Specs()}}, RoutePolicy: reporting,
			})
			if err != nil {
				t.Fatal(err)
			}
			var out []byte
			allocations := func(chunks int) float64 {
				p.body = []byte(head + tt.first + tail + strings.Repeat(head+tt.piece+tail, chunks) + head + tt.last + tail +
					head + fmt.Sprintf(`{},"finish_reason":%q}]}`, tt.reason) + "\n\ndata: [DONE]\n\n")
				return testing.AllocsPerRun(5, func() {
					req, err := gateway.ParseRequest([]byte(request))
					if err != nil {
						t.Fatal(err)
					}
					resp, err := g.Chat(t.Context(), req)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Close()
					writer := chat.NewWriter(resp)
					var f *wire.Frame
					for out = out[:0]; err == nil; f, err = resp.Next() {
						if f != nil {
							out, _ = writer.Frame(out, f)
						}
					}
					if err != io.EOF || resp.Summary.Changed {
						t.Fatalf("%v; changed: %t", err, resp.Summary.Changed)
					}
				})
			}
			allocations(more) // which makes room for what goes out
			few := allocations(10)
			if each := (allocations(10+more) - few) / more; each > 0.1 {
				t.Errorf("each chunk takes %.2f allocations", each)
			}
		})
	}
}
