package guard_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// turnsCase is a case of turns.txt.
type turnsCase struct {
	verdict, kind, lang string
	tools               []string
	messages            []map[string]any
	answer              string
}

func readTurns(t testing.TB) []turnsCase {
	t.Helper()
	return readTurnsFile(t, "testdata/turns.txt")
}

func readTurnsFile(t testing.TB, file string) (cases []turnsCase) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		if mark == "==" {
			cases = append(cases, turnsCase{})
		}
		if len(cases) == 0 || mark == "" {
			continue
		}
		c := &cases[len(cases)-1]
		switch mark {
		case "==":
			var tools string
			if n, err := fmt.Sscan(rest, &c.verdict, &c.kind, &c.lang, &tools); n != 4 {
				t.Fatalf("line %d: %v", i+1, err)
			}
			c.tools = strings.Split(tools, ",")
		case "u:":
			c.messages = append(c.messages, map[string]any{"role": "user", "content": rest})
		case "a:":
			c.messages = append(c.messages, map[string]any{"role": "assistant", "content": strings.ReplaceAll(rest, `\n`, "\n")})
		case "c:":
			name, args, _ := strings.Cut(rest, " ")
			args, result, _ := strings.Cut(args, " => ")
			id := fmt.Sprint("c", len(c.messages))
			c.messages = append(c.messages,
				map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": args}}}},
				map[string]any{"role": "tool", "tool_call_id": id, "content": strings.ReplaceAll(result, `\n`, "\n")})
		case ">":
			c.answer = strings.ReplaceAll(rest, `\n`, "\n")
		default:
			t.Fatalf("line %d: unknown mark %q", i+1, mark)
		}
	}
	return cases
}

func (c *turnsCase) ledger(t testing.TB) *ledger.Ledger {
	t.Helper()
	text, err := json.Marshal(c.messages)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.New(conversation.Read(text), nil)
}

// TestTurns judges conversations in several turns, most with tools that did their work. No
// mistake is allowed; the figures by kind are printed. Ghosts marked "unsure" raise no alarm: what tells them
// from correct answers of their kind was wrong too often where it was new (docs/guard-figures.md).
func TestTurns(t *testing.T) {
	t.Parallel()
	judgeTurns(t, readTurns(t), rulesThreshold)
}

// TestQuiet judges answers that were written to look for false alarms. The ones marked "alarm" are correct and called
// ghosts: who repairs one unmarks it.
func TestQuiet(t *testing.T) {
	t.Parallel()
	judgeTurns(t, readTurnsFile(t, "testdata/quiet.txt"), guard.DefaultThreshold)
}

func judgeTurns(t *testing.T, cases []turnsCase, threshold float64) {
	t.Helper()
	g := guard.New(guard.Settings{Threshold: threshold})
	kinds := map[string]*[2]int{}
	for _, c := range cases {
		v := g.Begin(c.ledger(t), c.tools, guard.Choice{}).Judge(guard.Answer{Text: c.answer, Finish: "stop", Done: true})
		got := "fine"
		switch {
		case v.Contradiction:
			got = "contradiction"
		case v.Ghost:
			got = "ghost"
		}
		kind := c.verdict + " " + c.kind
		if kinds[kind] == nil {
			kinds[kind] = new([2]int)
		}
		kinds[kind][1]++
		if got == c.verdict || c.verdict == "unsure" && got == "fine" || c.verdict == "alarm" && got == "ghost" {
			kinds[kind][0]++
			continue
		}
		t.Errorf("%s %s, %q: got %s by %.2f for %v", kind, c.lang, c.answer, got, v.Score, v.Signals)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%-36s %d of %d", kind, kinds[kind][0], kinds[kind][1])
	}
}
