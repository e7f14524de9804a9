package state_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
	"github.com/callgate/callgate/gateway/wire"
)

// head is a reply of which the writer asks what it is.
type head struct{ gateway.Reply }

func (head) Header() http.Header { return nil }
func (head) Streamed() bool      { return false }

// BenchmarkTurn is what a turn costs beside the upstream, kept in memory and not: the request read, its answer written.
func BenchmarkTurn(b *testing.B) {
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 64 << 20, Entries: 100_000}})
	if err != nil {
		b.Fatal(err)
	}
	s := state.New(state.Options{Store: kept, Sealer: responses.NewSealer(nil), MaxChain: 10})
	defer s.Close()
	answer := []byte(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 100) +
		`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`)
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept=%v", kept), func(b *testing.B) {
			body := fmt.Appendf(nil, `{"model":"m","store":%v,"instructions":%q,"input":"Please write the file.","tools":[{"type":"function","name":"write_file","description":"Write a file.",`+
				`"strict":false,"parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]}`, kept, strings.Repeat("You are a careful assistant. ", 60))
			turn := func() {
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				f, err := s.Parse(ctx, body, protocol.Client{})
				if err != nil {
					b.Fatal(err)
				}
				w := f.Writer(&gateway.Response{Reply: head{}, Summary: &gateway.Summary{}})
				if _, err := w.Whole(&wire.Frame{Raw: answer, Data: answer, Whole: true}); err != nil {
					b.Fatal(err)
				}
			}
			for range 2000 {
				turn()
			}
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
}
