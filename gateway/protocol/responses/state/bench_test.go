package state_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
	"github.com/callgate/callgate/gateway/store/sqlite"
	"github.com/callgate/callgate/gateway/wire"
)

// head is a reply of which the writer asks what it is.
type head struct{ gateway.Reply }

func (head) Header() http.Header { return nil }
func (head) Streamed() bool      { return false }

// BenchmarkTurn is what a turn costs beside the upstream, kept in each store and not: the request read, its answer
// written.
func BenchmarkTurn(b *testing.B) {
	o := store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 64 << 20, Entries: 100_000}}
	inMemory, err := memory.New(o)
	if err != nil {
		b.Fatal(err)
	}
	inFile, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "store.db"), o)
	if err != nil {
		b.Fatal(err)
	}
	defer inFile.Close()
	answer := []byte(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + strings.Repeat("word ", 100) +
		`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`)
	for _, row := range []struct {
		name  string
		store store.Store
		kept  bool
	}{{"not kept", inMemory, false}, {"memory", inMemory, true}, {"sqlite", inFile, true}} {
		s := state.New(state.Options{Store: row.store, Sealer: responses.NewSealer(nil), MaxChain: 10})
		defer s.Close()
		b.Run(row.name, func(b *testing.B) {
			body := fmt.Appendf(nil, `{"model":"m","store":%v,"instructions":%q,"input":"Please write the file.","tools":[{"type":"function","name":"write_file","description":"Write a file.",`+
				`"strict":false,"parameters":{"type":"object","properties":{"path":{"type":"string"}}}}]}`, row.kept, strings.Repeat("You are a careful assistant. ", 60))
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
			b.ReportAllocs()
			for b.Loop() {
				turn()
			}
		})
	}
}
