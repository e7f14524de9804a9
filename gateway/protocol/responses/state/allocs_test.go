package state_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
)

// TestTurnAllocations holds what it costs to keep a turn in memory beside one that is not kept, however
// many members its items have.
func TestTurnAllocations(t *testing.T) { //nolint:paralleltest // allocations of others would be counted
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 20, Entries: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	played := newTurns(t, kept, "Yes.")
	of := func(stored bool, input string) float64 {
		body := fmt.Appendf(nil, `{"model":"m","store":%t,"input":%s}`, stored, input)
		return testing.AllocsPerRun(500, func() { played.play(t, body) })
	}
	for _, input := range []string{
		`"Please write the file."`,
		`[{"role":"user","content":"Please write the file."}]`,
		`[{"type":"message","role":"user","status":"completed","id":"msg_1","content":[{"type":"input_text","text":"Please write the file."}]}]`,
	} {
		const most = 14
		more := of(true, input) - of(false, input)
		if more > most {
			t.Errorf("%s: got %v allocations more for a kept turn, want %d or fewer", input, more, most)
		}
		t.Logf("%s: %v allocations more", input, more)
	}
}
