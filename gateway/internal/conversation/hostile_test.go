package conversation_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/internal/steps"
)

func repeat(n int, f func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
		b.WriteByte(',')
	}
	return b.String()
}

func all(s string) func(int) string { return func(int) string { return s } }

const (
	oneCall   = `{"id":"a","function":{"name":"f","arguments":"{}"}}`
	oneTurn   = `{"role":"assistant","tool_calls":[` + oneCall + `]}`
	oneResult = `{"role":"tool","tool_call_id":"a","content":"x"}`
)

// hostile are messages of n calls, results or other things.
var hostile = []struct {
	name string
	of   func(n int) string
}{
	{"calls of one id in a message", func(n int) string {
		return `{"role":"assistant","tool_calls":[` + repeat(n, all(oneCall)) + `{}]},` + repeat(n, all(oneResult))
	}},
	{"calls of one id in messages", func(n int) string { return repeat(n, all(oneTurn)) }},
	{"calls of one id, then their results", func(n int) string { return repeat(n, all(oneTurn)) + repeat(n, all(oneResult)) }},
	{"calls of one id and results in turn", func(n int) string { return repeat(n, all(oneTurn+","+oneResult)) }},
	{"more results than calls", func(n int) string { return oneTurn + "," + repeat(n, all(oneResult)) }},
	{"calls of many ids", func(n int) string {
		return repeat(n, func(i int) string {
			return fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"%d","function":{}}]}`, i)
		}) +
			repeat(n, func(i int) string { return fmt.Sprintf(`{"role":"tool","tool_call_id":"%d"}`, n-1-i) })
	}},
	{"calls without ids", func(n int) string {
		return repeat(n, all(`{"role":"assistant","tool_calls":[{"function":{}},{"function":{}}]}`)) + repeat(2*n, all(`{"role":"tool"}`))
	}},
	{"one large id", func(n int) string {
		id := `"` + strings.Repeat(`\u0061`, 4*n) + `"`
		return `{"role":"assistant","tool_calls":[{"id":` + id + `,"function":{}}]},{"role":"tool","tool_call_id":` + id + `},`
	}},
	{"members", func(n int) string {
		return `{` + repeat(n, func(i int) string { return fmt.Sprintf(`"\u0061%d":0`, i) }) + `"role":"user"},`
	}},
	{"parts", func(n int) string {
		return `{"role":"user","content":[` + repeat(n, all(`{"type":"text","text":"x"}`)) + `{}]},`
	}},
	{"brackets", func(n int) string {
		return `{"role":"user","content":` + strings.Repeat("[", 10*n) + strings.Repeat("]", 10*n) + `},`
	}},
	{"quotes", func(n int) string { return `{"role":"user","content":"` + strings.Repeat(`\"`, 10*n) + `"},` }},
	{"back slashes", func(n int) string { return `{"role":"user","content":"` + strings.Repeat(`\\`, 10*n) + `"},` }},
	{"a text without an end", func(n int) string { return repeat(n, all(`{"role":"user"}`)) + `{"role":"` + strings.Repeat(`\"`, n) }},
}

func messagesOf(s string) []byte { return []byte("[" + s + "{}]") }

// read reads all that there is.
func read(messages []byte) (exchanges int) {
	c := conversation.Read(messages)
	for _, m := range c.Messages {
		c.Said(m)
	}
	return len(c.Exchanges(0))
}

// TestHostile compares the steps of messages and of sixteen times as many.
func TestHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const small, factor = 200, 16
		for _, tt := range hostile {
			t.Run(tt.name, func(t *testing.T) {
				a, b := messagesOf(tt.of(small)), messagesOf(tt.of(small*factor))
				steps.Linear(t, factor, func() { read(a) }, func() { read(b) })
			})
		}
	})
}

// TestHostileMemory: what is allocated is bounded by the text.
func TestHostileMemory(t *testing.T) { // not parallel: it measures
	for _, tt := range hostile {
		messages := messagesOf(tt.of(20_000))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read(messages)
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / uint64(len(messages)); got > 40 {
			t.Errorf("%s: got %d bytes for each byte of the text, want 40 at most", tt.name, got)
		}
	}
}

// TestHostileResults: each of 100,000 calls with one id has its own result.
func TestHostileResults(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for name, messages := range map[string]string{
		"in one message": `{"role":"assistant","tool_calls":[` + repeat(n, all(oneCall)) + `{}]},` + repeat(n, all(oneResult)),
		"in messages":    repeat(n, all(oneTurn)) + repeat(n, all(oneResult)),
	} {
		given := map[int]bool{}
		for _, e := range conversation.Read(messagesOf(messages)).Exchanges(0) {
			if e.Result > e.Message {
				given[e.Result] = true
			}
		}
		if len(given) != n {
			t.Errorf("%s: got %d results, want %d", name, len(given), n)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	messages := messagesOf(repeat(2500, func(i int) string {
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"p/f%d.go\"}"}}]},{"role":"tool","tool_call_id":"call_%d","content":%q}`,
			i, i, i, strings.Repeat("package p\n", 20))
	}))
	for _, bb := range []struct {
		name string
		do   func()
	}{
		{"messages", func() { conversation.Read(messages) }},
		{"exchanges", func() { conversation.Read(messages).Exchanges(0) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(messages)))
			b.ReportAllocs()
			for b.Loop() {
				bb.do()
			}
		})
	}
}
