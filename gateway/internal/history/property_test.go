package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/history"
)

// drawConversation draws messages that are good, bad and ugly, one string each.
func drawConversation(t *rapid.T) []string {
	id := rapid.SampledFrom([]string{`"a"`, `"b"`, `"\u0061"`, `""`, `null`, `"functions.f:0"`, `"functions.f:1"`, `"functions.g:2"`,
		`"call_1"`, `"D681PevKs"`, `"` + strings.Repeat("x", 65) + `"`, `"é\"\n"`, `"call_mt5qykhd3ozm5in63sz7awal"`})
	arguments := rapid.SampledFrom([]string{`"{}"`, `"{\"a\": 1}"`, `"{\"a\": 1,}"`, `"{\"a"`, `""`, `null`, `{"a":1}`, `[1]`, `"[1]"`, `"\u007b}"`})
	name := rapid.SampledFrom([]string{`f`, `g`, `a b`, `é\"`})
	member := func(key string) string {
		if v := id.Draw(t, key); v != "null" || rapid.Bool().Draw(t, "explicit") {
			return `"` + key + `": ` + v + ", "
		}
		return ""
	}
	n := 0
	message := func(t *rapid.T) string {
		n++
		switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
		case kind < 3:
			var calls []string
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				calls = append(calls, fmt.Sprintf(`{%s"type":"function","function":{"name":"%s","arguments":%s}}`,
					member("id"), name.Draw(t, "name"), arguments.Draw(t, "arguments")))
			}
			return fmt.Sprintf(`{"role":"assistant","n":%d,"tool_calls":[%s]}`, n, strings.Join(calls, " , "))
		case kind < 8:
			return fmt.Sprintf(`{%s"role":"tool","content":"result %d."}`, member("tool_call_id"), n)
		default:
			return fmt.Sprintf(`{"role":"%s","content":"text %d"}`, rapid.SampledFrom([]string{"user", "assistant", "system", "function"}).Draw(t, "role"), n)
		}
	}
	return rapid.SliceOfN(rapid.Custom(message), 0, 12).Draw(t, "messages")
}

func join(messages []string) []byte {
	return []byte("[" + strings.Join(messages, ",\n") + "]")
}

func drawNeeds(t *rapid.T) history.Needs {
	return history.Needs{
		Arguments: rapid.Bool().Draw(t, "need arguments"),
		Pairs:     rapid.Bool().Draw(t, "need pairs"),
		IDs:       history.IDForm(rapid.IntRange(0, 4).Draw(t, "need ids")),
	}
}

// TestRepairProperties checks with a reader of its own that what is repaired fits,
// that nothing is lost and that a second repair finds nothing to do.
func TestRepairProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if err := checkRepair(join(drawConversation(t)), drawNeeds(t)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRepairIsStable: what is sent in one turn is how the next one begins, or no
// cache of the conversation so far would be of use.
func TestRepairIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages, needs := drawConversation(t), drawNeeds(t)
		whole := repaired(join(messages), needs)
		for n, next := range messages {
			if asObject(json.RawMessage(next)).isResult() {
				continue // it belongs to the turn before
			}
			if before := repaired(join(messages[:n]), needs); !bytes.HasPrefix(whole, before[:len(before)-1]) {
				t.Fatalf("the first %d messages: got %s, which %s does not begin with", n, before, whole)
			}
		}
	})
}

// TestRepairKimi: a conversation that begins with Kimi, goes on elsewhere and comes
// back has the ids that it would have if it had always been with Kimi.
func TestRepairKimi(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		client := join(drawConversation(t))
		kimi, other := history.Needs{Pairs: true, IDs: history.KimiID}, drawNeeds(t)
		other.Pairs, other.Arguments = true, false
		atKimi := repaired(client, kimi)
		elsewhere := repaired(atKimi, other)
		if err := check(elsewhere, other); err != nil {
			t.Fatalf("from Kimi: %v in %s", err, elsewhere)
		}
		if got := repaired(elsewhere, kimi); string(got) != string(atKimi) {
			t.Fatalf("back at Kimi: got %s, want %s", got, atKimi)
		}
		if other.IDs == history.AnyID {
			return // calls of one message may share an id there, and nothing tells their results apart
		}
		if got := repaired(repaired(client, other), kimi); string(got) != string(atKimi) {
			t.Fatalf("from elsewhere: got %s, want %s", got, atKimi)
		}
	})
}
