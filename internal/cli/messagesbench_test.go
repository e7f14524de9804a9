package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/messages"
	"github.com/callgate/callgate/providers/anthropic"
)

// roundTrip answers requests without a network.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// BenchmarkMessagesNative has streams of the Messages API read and written for a client of the same API, without the stages
// between.
func BenchmarkMessagesNative(b *testing.B) {
	const deltas = 1000
	for name, kind := range map[string][2]string{
		"text":      {`{"type":"text","text":""}`, `{"type":"text_delta","text":"word %d "}`},
		"arguments": {`{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`, `{"type":"input_json_delta","partial_json":"[%d"}`},
	} {
		b.Run(name, func(b *testing.B) {
			datas := []string{`{"type":"content_block_start","index":0,"content_block":` + kind[0] + `}`}
			for i := range deltas {
				datas = append(datas, `{"type":"content_block_delta","index":0,"delta":`+fmt.Sprintf(kind[1], i)+`}`)
			}
			stream := messageStream(append(datas, `{"type":"content_block_stop","index":0}`)...)
			p, err := anthropic.New(anthropic.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(stream)), Request: r, Header: http.Header{"Content-Type": {events}}, ContentLength: -1}, nil
			})})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				if n := exchangeMessage(b, p); n < len(stream)*9/10 {
					b.Fatalf("got %d bytes", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
		})
	}
}

// exchangeMessage reads and writes an answer, and returns how many bytes a client gets.
func exchangeMessage(b *testing.B, p gateway.Provider) (n int) {
	b.Helper()
	front, err := messages.Parse(context.Background(), []byte(passageRequest), protocol.Client{})
	if err != nil {
		b.Fatal(err)
	}
	req, err := gateway.ParseRequest(front.Chat())
	if err != nil {
		b.Fatal(err)
	}
	req.Source = front.Source()
	reply, err := p.Chat(b.Context(), "claude-x", req)
	if err != nil {
		b.Fatal(err)
	}
	defer reply.Close()
	w := front.Writer(&gateway.Response{Reply: reply, Summary: &gateway.Summary{Origin: gateway.Origin{Protocol: messages.Protocol}}})
	var out []byte
	for {
		f, err := reply.Next()
		if err != nil {
			break
		}
		if out, err = w.Frame(out[:0], f); err != nil {
			b.Fatal(err)
		}
		n += len(out)
	}
	return n
}
