package guard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

var offered = []string{"create_task", "delete_task", "list_tasks", "send_email", "get_weather", "read_file", "write_file", "bash"}

// longAnswer is about 2 KB of what models write.
var longAnswer = strings.Repeat("Once the branch has been merged, the pipeline builds the image and pushes it to the registry. "+
	"If a test fails, nothing is deployed, and you can look at the log to find out why. ", 12) + "I've deleted the old task."

// longChat is a conversation of n messages.
func longChat(n int) []byte {
	var b strings.Builder
	b.WriteString(`[{"role":"system","content":"You are careful."}`)
	for i := range n / 4 {
		fmt.Fprintf(&b, `,{"role":"user","content":"Look at task %d."},{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"list_tasks","arguments":"{\"id\":%d}"}}]}`, i, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"c%d","content":"{\"ok\":true}"},{"role":"assistant","content":"It is open."}`, i)
	}
	b.WriteString(`,{"role":"user","content":"Delete the old task."}]`)
	return []byte(b.String())
}

func BenchmarkJudge(b *testing.B) {
	g := guard.New(guard.Settings{})
	for _, bb := range []struct{ name, text string }{
		{"2 KB", longAnswer},
		{"one line", "Done! I've deleted the task."},
	} {
		b.Run(bb.name, func(b *testing.B) {
			k := g.Begin(ledger.New(userSays(b, "Delete the old task."), nil), offered, guard.Choice{})
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				if v := k.Judge(guard.Answer{Text: bb.text, Done: true}); !v.Ghost {
					b.Fatalf("got %+v, want a ghost", v)
				}
			}
		})
	}
}

// BenchmarkPlain judges 1 KB without any signal, which most answers are.
func BenchmarkPlain(b *testing.B) {
	g := guard.New(guard.Settings{})
	text := strings.Repeat("A pipeline builds the image and pushes it to the registry. If a test fails, the log tells why. ", 11)
	k := g.Begin(ledger.New(userSays(b, "Tell me about pipelines."), nil), offered, guard.Choice{})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if v := k.Judge(guard.Answer{Text: text, Done: true}); v.Ghost {
			b.Fatalf("got %+v, want no ghost", v)
		}
	}
}

func BenchmarkBegin(b *testing.B) {
	g := guard.New(guard.Settings{Intents: []guard.Intent{{Match: []string{"delete", "remove"}, Expect: "delete_task"}}})
	for _, n := range []int{4, 5000} {
		b.Run(fmt.Sprint(n, " messages"), func(b *testing.B) {
			c := conversation.Read(longChat(n))
			b.ReportAllocs()
			for b.Loop() {
				k := g.Begin(ledger.New(c, nil), offered, guard.Choice{})
				k.Judge(guard.Answer{Text: "I deleted it earlier.", Done: true})
				k.Free()
			}
		})
	}
}

func BenchmarkUndecided(b *testing.B) {
	g := guard.New(guard.Settings{})
	c := userSays(b, "Tell me about pipelines.")
	text := strings.Repeat("A pipeline builds the image and pushes it to the registry. ", 100)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		k := g.Begin(ledger.New(c, nil), offered, guard.Choice{})
		for i := 4; i < len(text); i += 4 {
			k.Undecided(guard.Answer{Text: text[:i]})
		}
		k.Free()
	}
}

// typicalAnswer is what a model explains where tools are offered and none is needed.
const typicalAnswer = `Here's how the release pipeline works, step by step.

When a pull request is opened, the linter and the unit tests run in parallel. Both usually take about four minutes. If either of them fails, the merge button stays grey until somebody pushes a fix.

After the merge, a container image is built from the main branch and tagged with the short hash of the commit. The image then goes to the staging cluster, where a smaller set of end-to-end tests exercises the login page, the search box and the checkout. You can follow along in the dashboard under "Deployments".

Production is a separate decision: a maintainer presses the button, and traffic moves over in three steps of ten, fifty and a hundred percent. Let me know if you'd like more detail on any of these stages!`

// BenchmarkRequest is all that a request costs: the next one of an app, with the same tools.
func BenchmarkRequest(b *testing.B) {
	g := guard.New(guard.Settings{})
	c := userSays(b, "How does our release pipeline work?")
	for _, bb := range []struct{ name, text string }{{"typical", typicalAnswer}, {"short", "You're welcome! Have a lovely evening."}} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				k := g.Begin(ledger.New(c, nil), offered, guard.Choice{})
				if v := k.Judge(guard.Answer{Text: bb.text, Done: true}); v.Ghost {
					b.Fatalf("got %+v, want no ghost", v)
				}
				k.Free()
			}
		})
	}
}

// BenchmarkBehindCalls is all of the guard and its ledger for a request of 30 KB, behind twenty calls
// of which the last changed something. The messages are read before.
func BenchmarkBehindCalls(b *testing.B) {
	var text strings.Builder
	text.WriteString(`[{"role":"user","content":"Complete the task Rent."}`)
	for i := range 20 {
		name, result := "list_tasks", strings.Repeat(`{"title":"Boots","price":219.50},`, 42)
		if i == 19 {
			name, result = "complete_task", `{"ok":true}`
		}
		fmt.Fprintf(&text, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":%q,"arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`, i, name, i, "["+result+"{}]")
	}
	c := conversation.Read([]byte(text.String() + "]"))
	g := guard.New(guard.Settings{})
	tools := append(slices.Clone(offered), "complete_task")
	answer := guard.Answer{Text: "I've completed the task Rent. Your list is up to date now, and the team was notified.", Finish: "stop", Done: true}
	b.SetBytes(int64(len(c.Text)))
	b.ReportAllocs()
	for b.Loop() {
		l := ledger.New(&conversation.Conversation{Text: c.Text, Messages: c.Messages}, nil)
		k := g.Begin(l, tools, guard.Choice{})
		if v := k.Judge(answer); v.Ghost {
			b.Fatalf("got %+v, want no ghost", v)
		}
		k.Free()
	}
}
