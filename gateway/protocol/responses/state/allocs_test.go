package state_test

import (
	"context"
	"fmt"
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

// TestTurnAllocations holds what it costs to keep a turn in memory beside one that is not kept, however
// many members its items have.
func TestTurnAllocations(t *testing.T) { //nolint:paralleltest // allocations of others would be counted
	answer := []byte(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},` +
		`"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`)
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 20, Entries: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	s := state.New(state.Options{Store: kept, Sealer: responses.NewSealer(nil), MaxChain: 10})
	defer s.Close()
	of := func(stored bool, input string) float64 {
		body := fmt.Appendf(nil, `{"model":"m","store":%t,"input":%s}`, stored, input)
		return testing.AllocsPerRun(500, func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f, err := s.Parse(ctx, body, protocol.Client{})
			if err != nil {
				t.Fatal(err)
			}
			w := f.Writer(&gateway.Response{Reply: head{}, Summary: &gateway.Summary{}})
			if _, err := w.Whole(&wire.Frame{Raw: answer, Data: answer, Whole: true}); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, input := range []string{
		`"Please write the file."`,
		`[{"role":"user","content":"Please write the file."}]`,
		`[{"type":"message","role":"user","status":"completed","id":"msg_1","content":[{"type":"input_text","text":"Please write the file."}]}]`,
	} {
		const most = 20
		if more := of(true, input) - of(false, input); more > most {
			t.Errorf("%s: got %v allocations more for a kept turn, want %d or fewer", input, more, most)
		}
	}
}
