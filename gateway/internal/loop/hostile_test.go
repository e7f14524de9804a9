package loop_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
	"github.com/callgate/callgate/internal/steps"
)

// rounds are n of them, with arguments and a result.
func rounds(n int, arguments func(int) string, result string) []byte {
	exchanges := make([]exchange, n)
	for i := range exchanges {
		exchanges[i] = exchange{"tool", arguments(i), quote(result)}
	}
	return messages(exchanges...)
}

func always(s string) func(int) string { return func(int) string { return s } }

func numbered(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }

// hostile are conversations of n rounds or calls, or n times something else.
var hostile = []struct {
	name string
	of   func(n int) []byte
}{
	{"the same round", func(n int) []byte { return rounds(n, always(`{}`), "ok") }},
	{"acknowledgements", func(n int) []byte { return rounds(n, numbered, "ok") }},
	{"failures", func(n int) []byte { return rounds(n, numbered, "error: not found") }},
	{"half failures", func(n int) []byte { return rounds(n, always(`{}`), strings.Repeat("no or ", 40)) }},
	{"ruled out failures", func(n int) []byte { return rounds(n, always(`{}`), "no "+strings.Repeat("error or ", 25)) }},
	{"a large first call", func(n int) []byte {
		large := `{"x":"` + strings.Repeat("y", 10*n) + `"}`
		return rounds(n/4, func(i int) string {
			if i == 0 {
				return large
			}
			return numbered(i)
		}, "ok")
	}},
	{"many arguments of a failure", func(n int) []byte {
		var b strings.Builder
		for i := range n / 2 {
			fmt.Fprintf(&b, `"%d":"%d",`, i, i%9)
		}
		return rounds(2, always("{"+b.String()+`"x":0}`), "error: not found")
	}},
	{"echoes", func(n int) []byte { return rounds(n/4, always(`{"a":"e"}`), strings.Repeat("error ", 150)) }},
	{"brackets", func(n int) []byte { return rounds(2, always(strings.Repeat(`{"a":[`, n)), "ok") }},
	{"objects within", func(n int) []byte {
		return rounds(n/16, always(strings.Repeat(`{"b":0,"a":`, 31)+"0"+strings.Repeat("}", 31)), "ok")
	}},
	{"many keys", func(n int) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d":0,`, n-i)
		}
		return rounds(2, always("{"+b.String()+`"x":0}`), "ok")
	}},
	{"quotes", func(n int) []byte { return rounds(2, always(strings.Repeat(`"`, 10*n)), strings.Repeat(`"`, 10*n)) }},
	{"capital letters", func(n int) []byte { return rounds(n/4, always(`{}`), strings.Repeat("É", 128)) }},
	{"a long name", func(n int) []byte {
		return messages(exchange{strings.Repeat("GetX", n), `{}`, `""`}, exchange{strings.Repeat("É", n), `{}`, `""`})
	}},
	{"calls of one round", func(n int) []byte {
		call := `{"id":"a","function":{"name":"f","arguments":"{}"}},`
		result := `{"role":"tool","tool_call_id":"a","content":"ok"},`
		return []byte(`[{"role":"assistant","tool_calls":[` + strings.Repeat(call, n) + `{}]},` + strings.Repeat(result, n) + `{}]`)
	}},
	{"rounds without results", func(n int) []byte {
		return []byte("[" + strings.Repeat(`{"role":"assistant","tool_calls":[{"function":{}}]},`, n) + "{}]")
	}},
	{"parts", func(n int) []byte {
		return messages(exchange{"f", `{}`, "[" + strings.Repeat(`{"text":""},`, n) + `{"text":""}]`}, exchange{"f", `{}`, "[" + strings.Repeat(`{"text":""},`, n) + "{}]"})
	}},
}

// TestHostile compares the steps of a conversation and of one sixteen times as large.
func TestHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const small, factor = 200, 16
		for _, tt := range hostile {
			t.Run(tt.name, func(t *testing.T) {
				a, b := conversation.Read(tt.of(small)), conversation.Read(tt.of(small*factor))
				steps.Linear(t, factor, func() { loop.Check(ledger.New(a, nil), nil, loop.Limits{}) }, func() { loop.Check(ledger.New(b, nil), nil, loop.Limits{}) })
			})
		}
	})
}

// TestHostileMemory: what is allocated for the smallest calls is bounded by their text.
func TestHostileMemory(t *testing.T) { // not parallel: it measures
	for _, tt := range hostile {
		c := conversation.Read(tt.of(20_000))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		loop.Check(ledger.New(c, nil), nil, loop.Limits{})
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / uint64(len(c.Text)); got > 20 {
			t.Errorf("%s: got %d bytes for each byte of the text, want 20 at most", tt.name, got)
		}
	}
}
