package ledger_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// TestByName holds what names say of tools to what their makers declare.
func TestByName(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/tools.txt")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]ledger.Kind{"reads": ledger.Reads, "changes": ledger.Changes, "unknown": ledger.Unknown}
	n, wrong := 0, 0
	for line := range strings.Lines(string(text)) {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "#" {
			continue
		}
		n++
		if got := ledger.ByName(name); got != kinds[kind] {
			wrong++
			if kind == "changes" || got == ledger.Reads { // that would be demanded twice
				t.Errorf("%s: got %v, want %s", name, got, kind)
			}
		}
	}
	t.Logf("%d of %d are read wrongly", wrong, n)
	if wrong > 2 {
		t.Errorf("got %d of %d wrong, want at most 2", wrong, n)
	}
}

// turn is a conversation in which tools were called, with arguments and results.
func turn(calls ...[3]string) *conversation.Conversation {
	text := `[{"role":"user","content":"Do it."}`
	for i, c := range calls {
		text += fmt.Sprintf(`,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`, i, c[0], c[1], i, c[2])
	}
	return conversation.Read([]byte(text + "]"))
}

func TestState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		calls                   [][3]string
		tools                   string
		changed, looked, failed bool
	}{
		{"nothing", nil, "", false, false, false},
		{"a look-up", [][3]string{{"get_order", `{}`, `{"id":1,"state":"paid"}`}}, "", false, true, false},
		{"a change", [][3]string{{"cancel_order", `{}`, `{"ok":true}`}}, "", true, false, false},
		{"a change that failed", [][3]string{{"cancel_order", `{}`, `Error: no such order`}}, "", false, false, true},
		{"in prose", [][3]string{{"cancel_order", `{}`, `The order could not be cancelled because it was already shipped.`}}, "", false, false, true},
		{"both", [][3]string{{"get_order", `{}`, `{"id":1}`}, {"cancel_order", `{}`, `{"ok":true}`}}, "", true, true, false},
		{"a shell that looks", [][3]string{{"bash", `{"command":"git log"}`, `commit 1`}}, "", false, true, false},
		{"a shell that acts", [][3]string{{"bash", `{"command":"make"}`, `built`}}, "", true, false, false},
		{"unknown, with data", [][3]string{{"weather", `{}`, `{"city":"Oslo","temperature":3,"wind":"north"}`}}, "", false, true, false},
		{"unknown, acknowledged", [][3]string{{"frobnicate", `{}`, `{"status":"ok"}`}}, "", true, false, false},
		{"declared", [][3]string{{"frobnicate", `{}`, `{"status":"ok"}`}},
			`[{"type":"function","function":{"name":"frobnicate","annotations":{"readOnlyHint":true}}}]`, false, true, false},
		{"described", [][3]string{{"frobnicate", `{}`, `{"status":"ok"}`}},
			`[{"type":"function","function":{"name":"frobnicate","description":"Returns the frob."}}]`, false, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := ledger.New(turn(c.calls...), []byte(c.tools))
			if l.Changed() != c.changed || l.Looked() != c.looked || l.AnyFailed() != c.failed {
				t.Errorf("got changed %v, looked %v, failed %v; want %v, %v, %v", l.Changed(), l.Looked(), l.AnyFailed(), c.changed, c.looked, c.failed)
			}
		})
	}
}

// TestFacts: what the gateway ran itself is certain, whatever names and results look like.
func TestFacts(t *testing.T) {
	t.Parallel()
	c := turn([3]string{"get_order", `{}`, `{"id":1}`})
	l := ledger.New(c, nil, ledger.Fact{ID: "c0", Kind: ledger.Changes})
	if !l.Changed() || !l.Turn()[0].Certain {
		t.Error("got a call that the gateway ran for a look-up, want the change that it was")
	}
	l = ledger.New(c, nil, ledger.Fact{ID: "c0", Kind: ledger.Changes, Failed: true})
	if l.Changed() || !l.AnyFailed() {
		t.Error("got a call that failed for a change, want a failure")
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	l := ledger.New(turn([3]string{"book_flight", `{"flight":"HAT204","price":1250,"at":"14:30"}`, `{"booking":"ZX-81","city":"Oslo"}`}), nil)
	for word, want := range map[string]bool{
		"HAT204": true, "hat204": true, "1,250.00": true, "1.250": true, "1250": true, "14:30": true, "zx-81": true, "oslo": true,
		"1251": false, "HAT205": false, "Bergen": false,
	} {
		if got := l.Brings([]string{word}, nil)[0]; got != want {
			t.Errorf("%s: got %v, want %v", word, got, want)
		}
	}
}

// BenchmarkLedger reads the conversation of 30 KB that the aim of 40 µs is for, its values too.
func BenchmarkLedger(b *testing.B) {
	var calls [][3]string
	for i := range 20 {
		calls = append(calls, [3]string{"get_order", fmt.Sprintf(`{"order_id":"W%d"}`, i), `{"status":"delivered","items":[` + strings.Repeat(`{"name":"Boots","price":219.50},`, 40) + `{}]}`})
	}
	c := turn(calls...)
	for _, bb := range []struct {
		name string
		ask  func(*ledger.Ledger)
	}{{"state", func(l *ledger.Ledger) { l.Changed() }}, {"values", func(l *ledger.Ledger) { l.Brings([]string{"W7", "219.50", "Sandals"}, nil) }}} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.Text)))
			b.ReportAllocs()
			for b.Loop() {
				bb.ask(ledger.New(&conversation.Conversation{Text: c.Text, Messages: c.Messages}, nil))
			}
		})
	}
}

// TestNamed: what a call did is known too if only the guard knows the words of its tool's name, also
// where the turn was read before.
// changesAll says of every tool that it changes something.
type changesAll struct{}

func (changesAll) KindOf(string) ledger.Kind { return ledger.Changes }

func TestNamed(t *testing.T) {
	t.Parallel()
	c := conversation.Read([]byte(`[{"role":"user","content":"annule la commande 5512"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"annuler_commande","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"{\"statut\":\"annulée\"}"}]`))
	l := ledger.New(c, nil)
	if len(l.Turn()) != 1 || l.Changed() {
		t.Fatalf("got %v, changed %v, want one call of an unknown kind", l.Turn(), l.Changed())
	}
	l.Named(changesAll{})
	if !l.Changed() || l.KindOf("annuler_commande") != ledger.Changes {
		t.Errorf("got %v, want a change", l.Turn())
	}
}
