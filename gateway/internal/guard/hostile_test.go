package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/internal/steps"
)

// hostile are texts that a careless reader takes quadratic time for.
func hostile() map[string]string {
	const n = 1 << 18
	texts := map[string]string{}
	for name, unit := range map[string]string{
		"brackets": "{", "closed brackets": "{}", "lists": "[", "tags": "<", "calls": "a(", "quotes": `"`, "opened quotes": "„a ",
		"apostrophes": " 'a", "back quotes": "`", "fences": "```\n", "quoted lines": ">\n", "words": "deleted ", "frames": "I have ",
		"phrases": "has been ", "one word": "delete", "points": ".", "digits": "1", "figures": "1 2 3 4 ", "colons": "delete_task:\n",
		"Chinese": "已删除", "ticks": "✅", "Korean": "삭제했습니다", "dashes": "—", "files": "a.b/", "addresses": "a@", "bullets": "- 1. ",
		"spaces": " ", "lines": "\n", "invalid": "\xff\xe3", "thoughts": "<think>", "objects": `{"name":{"name":`, "actions": "Action: \nAction Input:",
	} {
		texts[name] = strings.Repeat(unit, n/len(unit))
	}
	return texts
}

// limit is more than twice what the worst of these takes: of each text 32 KB are read.
const limit = 400_000_000

// soon holds that some work keeps to the limit.
func soon(t *testing.T, work func()) {
	t.Helper()
	if got := steps.Of(work).Steps; got > limit {
		t.Errorf("got a verdict after %d steps, want it after %d at most", got, uint64(limit))
	}
}

func TestHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		g := guard.New(guard.Settings{Intents: []guard.Intent{{Match: []string{"delete", "删"}, Expect: "delete_task"}}})
		for name, text := range hostile() {
			t.Run(name, func(t *testing.T) {
				c := userSays(t, text)
				var v guard.Verdict
				soon(t, func() {
					v = g.Begin(ledger.New(c, nil), []string{"delete_task", "bash"}, guard.Choice{}).Judge(guard.Answer{Text: text, Done: true})
				})
				if v.Score < 0 || v.Score > 1 || len(v.Signals) > 16 {
					t.Errorf("got a score of %v and %d signals, want at most 1 and 16", v.Score, len(v.Signals))
				}
			})
		}
	})
}

// TestManyNames: an answer lists many things, behind many calls with long results.
func TestManyNames(t *testing.T) {
	t.Parallel()
	steps.Run(t, manyNames)
}

func manyNames(t *testing.T) {
	var b strings.Builder
	b.WriteString(`[{"role":"user","content":"Delete them."}`)
	for i := range 200 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"a%d.txt\"}"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"c%d","content":%q}`, i, strings.Repeat("deleted ", 2000))
	}
	b.WriteString("]")
	soon(t, func() {
		k := guard.New(guard.Settings{}).Begin(ledger.New(conversation.Read([]byte(b.String())), nil), []string{"delete_file"}, guard.Choice{})
		k.Judge(guard.Answer{Text: strings.Repeat(`I've deleted "a1.txt", a2.txt and "b.txt". `, 2000), Done: true})
	})
}

// TestManyTools: names of tools are the client's as well.
func TestManyTools(t *testing.T) {
	t.Parallel()
	steps.Run(t, manyTools)
}

func manyTools(t *testing.T) {
	var names []string
	for range 2000 {
		names = append(names, strings.Repeat("x_", len(names)%90)+"delete_"+strings.Repeat("y", len(names)))
	}
	names = append(names, "", "_", "\xff", "删除")
	soon(t, func() {
		k := guard.New(guard.Settings{}).Begin(ledger.New(userSays(t, "Delete it."), nil), names, guard.Choice{})
		k.Judge(guard.Answer{Text: strings.Repeat("I've deleted it. ", 2000), Done: true})
	})
}

// TestLinear: a conversation of sixteen times the messages takes no more than some sixteen
// times the steps.
func TestLinear(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const small, factor = 500, 16
		g := guard.New(guard.Settings{})
		work := func(n int) func() {
			c := conversation.Read(longChat(n))
			return func() {
				g.Begin(ledger.New(c, nil), offered, guard.Choice{}).Judge(guard.Answer{Text: "I deleted it earlier.", Done: true})
			}
		}
		steps.Linear(t, factor, work(small), work(small*factor))
	})
}
