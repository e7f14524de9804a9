package loop_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
)

// TestProductive: calls with arguments of their own that are acknowledged in whatever
// words are stopped by the limit alone.
func TestProductive(t *testing.T) {
	t.Parallel()
	acknowledgements := []string{"ok", "Done.", `{"success":true}`, `{"ok":true,"error":null}`, "", "null", "1 row affected", "Gespeichert.", "已添加"}
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SampledFrom(acknowledgements).Draw(t, "acknowledgement")
		var rounds []exchange
		for n := range rapid.IntRange(1, 14).Draw(t, "rounds") {
			rounds = append(rounds, exchange{"add_row", fmt.Sprintf(`{"row":%d}`, n), quote(said)})
		}
		if got := report(rounds...); got.Stop != "" || got.Efficiency != 1 {
			t.Fatalf("%d rounds that say %q: got %+v, want no reason to stop", len(rounds), said, got)
		}
	})
}

// TestBefore: what comes before the last message of the user changes nothing.
func TestBefore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := write(t, drawRounds(t, 5)), write(t, drawRounds(t, 5))
		both := bytes.Join([][]byte{before[:len(before)-1], after[1:]}, []byte{','})
		want := loop.Check(ledger.New(conversation.Read(after), nil), nil, loop.Limits{})
		if got := loop.Check(ledger.New(conversation.Read(both), nil), nil, loop.Limits{}); got != want {
			t.Fatalf("got %+v, want %+v as for %s", got, want, after)
		}
	})
}

// TestRepeated: whatever an agent did, once it has repeated a round as often as it may
// be idle, it is stopped.
func TestRepeated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rounds := drawRounds(t, 5)
		for range loop.DefaultIdle {
			rounds = append(rounds, rounds[len(rounds)-1])
		}
		got := loop.Check(ledger.New(conversation.Read(write(t, rounds)), nil), nil, loop.Limits{})
		if got.Stop != loop.Idle && got.Stop != loop.Oscillation {
			t.Fatalf("%d rounds, the last of which repeat: got %+v, want it to stop", len(rounds), got)
		}
	})
}

func TestCheckNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `null`, `{}`, `[]`, `[{"role":"user","content":"Hi"}]`, `[{"role":"assistant","tool_calls":[]}]`, `[{"role":"assistant","tool_calls":null}]`,
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]},{"role":"user","content":"Hi"}]`, `[{"role":"tool","tool_call_id":"a"}]`, `[{"role":"assistant","tool_calls":[5]}]`,
	} {
		want := loop.Report{Limit: 7, Efficiency: 1}
		if got := loop.Check(ledger.New(conversation.Read([]byte(text)), nil), nil, loop.Limits{Rounds: 7}); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// TestLimits: what the defaults are, and where 80 % of a limit are.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit, rounds int
		want          loop.Report // of which Limit, Near and Stop count
	}{
		{0, 11, loop.Report{Limit: 15}},
		{-1, 12, loop.Report{Limit: 15, Near: true}},
		{0, 14, loop.Report{Limit: 15, Near: true}},
		{0, 15, loop.Report{Limit: 15, Near: true, Stop: loop.Limit}},
		{1, 1, loop.Report{Limit: 1, Near: true, Stop: loop.Limit}},
		{4, 3, loop.Report{Limit: 4}},
		{6, 4, loop.Report{Limit: 6}},
		{6, 5, loop.Report{Limit: 6, Near: true}},
		{10, 8, loop.Report{Limit: 10, Near: true}},
		{1 << 62, 20, loop.Report{Limit: 1 << 62}},
	} {
		var rounds []exchange
		for n := range tt.rounds {
			rounds = append(rounds, exchange{"add_row", fmt.Sprintf(`{"row":%d}`, n), `"ok"`})
		}
		got := loop.Check(ledger.New(conversation.Read(messages(rounds...)), nil), nil, loop.Limits{Rounds: tt.limit, Idle: -1})
		if got.Limit != tt.want.Limit || got.Near != tt.want.Near || got.Stop != tt.want.Stop {
			t.Errorf("%d rounds of %d: got limit %d, near %t, stop %q, want %d, %t, %q", tt.rounds, tt.limit,
				got.Limit, got.Near, got.Stop, tt.want.Limit, tt.want.Near, tt.want.Stop)
		}
	}
}
