package hint_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/hint"
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

// hostile are messages that are made to take long.
var hostile = []struct {
	name string
	of   func(n int) string
}{
	{"marks", func(n int) string {
		return `{"a":[` + repeat(n, func(int) string { return `{"cache_control":1}` }) + `0]},`
	}},
	{"marked messages", func(n int) string {
		return repeat(min(n/10, 4000), func(int) string { return `{"role":"user","cache_control":{},"content":"aaaaaaaaaaaa"}` })
	}},
	{"words like marks", func(n int) string {
		return `{"role":"user","content":"` + strings.Repeat(`\"cache_control\" :`, n) + `"},`
	}},
	{"parts", func(n int) string {
		return `{"role":"user","content":[` + repeat(n, func(int) string { return `{"type":"text","text":"x"}` }) + `{}]},`
	}},
	{"blank messages", func(n int) string {
		return repeat(min(n, 4000), func(int) string { return `{"role":"user","content":" "}` }) + `{"role":"user","content":"` + strings.Repeat(" ", n) + `"},`
	}},
	{"white space", func(n int) string { return `{"a":1` + strings.Repeat(" ", 10*n) + `,"cache_control":1},` }},
	{"letters as escapes", func(n int) string {
		return `{"role":"user","content":"` + strings.Repeat(`\u0061`, n) + `","x":[` + repeat(n, func(int) string { return `{}` }) + `0]},`
	}},
}

func work(messages []byte) {
	c := conversation.Read(messages)
	hint.NewHistories().See(nil, messages, c)
	hint.HasKey(messages, "cache_control")
	for _, form := range []hint.Form{hint.Members, hint.Parts} {
		hint.Marks(hint.Request{Tools: messages, Talk: c}, form, 0)
	}
}

// TestHostile compares the steps of messages and of sixteen times as many.
func TestHostile(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const small, factor = 200, 16
		for _, tt := range hostile {
			t.Run(tt.name, func(t *testing.T) {
				a, b := []byte("["+tt.of(small)+"{}]"), []byte("["+tt.of(small*factor)+"{}]")
				steps.Linear(t, factor, func() { work(a) }, func() { work(b) })
			})
		}
	})
}

// heap is how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemory: what is remembered takes less than 4 MB, whatever is sent, and keys take
// less than 1 MB.
func TestMemory(t *testing.T) { // not parallel: it measures
	for name, of := range map[string]func(n int) string{
		"small":    func(n int) string { return fmt.Sprintf(`[{"role":"user","content":"this is question %d"}]`, n) },
		"usual":    func(n int) string { return usual(n, 20) },
		"messages": func(n int) string { return usual(n, 1000) },
		"large": func(n int) string {
			return fmt.Sprintf(`[{"role":"user","content":"this is question %d"},{"role":"user","content":"%s"}]`, n, strings.Repeat("x", 1<<20))
		},
	} {
		before := heap()
		h := hint.NewHistories()
		for n := range 6000 {
			if n > 300 && name != "small" && name != "usual" {
				break
			}
			h.See([]string{"tenant"}, nil, conversation.Read([]byte(of(n))))
		}
		if got := int64(heap()) - int64(before); got > 4_000_000 {
			t.Errorf("%s: got %d bytes, want less than 4 MB", name, got)
		}
		runtime.KeepAlive(h)
	}
	before := heap()
	k := hint.NewKeys([]byte("salt"), nil)
	for n := range 10_000 {
		k.Key(hint.Scope{Tenant: fmt.Sprint(n)}, conversationOf(n))
	}
	if got := int64(heap()) - int64(before); got > 1_000_000 {
		t.Errorf("keys: got %d bytes, want less than 1 MB", got)
	}
	runtime.KeepAlive(k)
}

// usual is a conversation of so many messages.
func usual(number, messages int) string {
	list := []string{message("system", strings.Repeat("You are careful. ", 100)), message("user", fmt.Sprintf("this is question %d", number))}
	for len(list) < messages {
		list = append(list, message("assistant", strings.Repeat("An answer. ", 140)), message("user", fmt.Sprintf("another question, %d", number)))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// TestHistoriesTogether: conversations of many goroutines do not mix.
func TestHistoriesTogether(t *testing.T) {
	t.Parallel()
	h := hint.NewHistories()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for turn := range 40 {
				if change := h.See([]string{"tenant"}, nil, conversation.Read([]byte(usual(g, 2*turn+2)))); change != nil {
					t.Errorf("conversation %d, turn %d: got the change %s", g, turn, change)
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkHints is what is done for a request of 32 KB.
func BenchmarkHints(b *testing.B) {
	text := []byte(usual(0, 38))
	tools := []byte(`[{"type":"function","function":{"name":"f","description":"` + strings.Repeat("It does this. ", 200) + `"}}]`)
	c := conversation.Read(text)
	h, k := hint.NewHistories(), hint.NewKeys([]byte("salt"), nil)
	first := c.Messages[1].At.Of(text)
	beginning := hint.Beginning{Common: [][]byte{tools, c.Messages[0].At.Of(text), first}, First: first}
	r := hint.Request{Tools: tools, Talk: c}
	b.Logf("%d bytes", len(text)+len(tools))
	for _, bb := range []struct {
		name string
		do   func()
	}{
		{"history", func() { h.See([]string{"tenant", "route", "model"}, tools, c) }},
		{"key", func() { k.Key(scope, beginning) }},
		{"marks", func() { hint.HasKey(text, "cache_control"); hint.Marks(r, hint.Members, 1024) }},
		{"reading", func() { conversation.Read(text) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.do()
			}
		})
	}
}
