package guard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
)

// hostile are texts that a careless reader takes quadratic time for.
func hostile() map[string]string {
	const n = 1 << 20
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

// limit is far above what a text of a megabyte takes, of which 32 KB are read, and far
// below what anything quadratic takes on a busy machine.
const limit = 3 * time.Second

func TestHostile(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Settings{Intents: []guard.Intent{{Match: []string{"delete", "删"}, Expect: "delete_task"}}})
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) { // one after the other: time is measured
			began := time.Now()
			v := g.Begin(userSays(t, text), []string{"delete_task", "bash"}, guard.Choice{}).Judge(guard.Answer{Text: text, Done: true})
			if took := time.Since(began); took > limit {
				t.Errorf("got a verdict in %v, want it within %v", took, limit)
			}
			if v.Score < 0 || v.Score > 1 || len(v.Signals) > 16 {
				t.Errorf("got a score of %v and %d signals, want at most 1 and 16", v.Score, len(v.Signals))
			}
		})
	}
}

// TestManyNames: an answer lists many things, behind many calls with long results.
func TestManyNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`[{"role":"user","content":"Delete them."}`)
	for i := range 200 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"a%d.txt\"}"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"c%d","content":%q}`, i, strings.Repeat("deleted ", 2000))
	}
	b.WriteString("]")
	began := time.Now()
	k := guard.New(guard.Settings{}).Begin(conversation.Read([]byte(b.String())), []string{"delete_file"}, guard.Choice{})
	k.Judge(guard.Answer{Text: strings.Repeat(`I've deleted "a1.txt", a2.txt and "b.txt". `, 2000), Done: true})
	if took := time.Since(began); took > limit {
		t.Errorf("got a verdict in %v, want it within %v", took, limit)
	}
}

// TestManyTools: names of tools are the client's as well.
func TestManyTools(t *testing.T) {
	t.Parallel()
	var names []string
	for range 2000 {
		names = append(names, strings.Repeat("x_", len(names)%90)+"delete_"+strings.Repeat("y", len(names)))
	}
	names = append(names, "", "_", "\xff", "删除")
	began := time.Now()
	k := guard.New(guard.Settings{}).Begin(userSays(t, "Delete it."), names, guard.Choice{})
	k.Judge(guard.Answer{Text: strings.Repeat("I've deleted it. ", 2000), Done: true})
	if took := time.Since(began); took > limit {
		t.Errorf("got a verdict in %v, want it within %v", took, limit)
	}
}

// TestLinear: a conversation of twice the messages takes about twice the time.
func TestLinear(t *testing.T) {
	t.Parallel()
	g := guard.New(guard.Settings{})
	took := func(n int) time.Duration {
		c := conversation.Read(longChat(n))
		best := time.Hour
		for range 5 {
			began := time.Now()
			g.Begin(c, offered, guard.Choice{}).Judge(guard.Answer{Text: "I deleted it earlier.", Done: true})
			best = min(best, time.Since(began))
		}
		return best
	}
	const limit = 12 // machines are busy; a quadratic reader takes 16 times as long, every time
	var small, large time.Duration
	for range 5 {
		if small, large = took(5000), took(20000); large <= limit*small {
			return
		}
	}
	t.Errorf("got %v for 20,000 messages and %v for 5,000, want about four times as much", large, small)
}
