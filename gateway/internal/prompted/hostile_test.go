package prompted_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/internal/steps"
)

var offered = []byte(`[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}},{"name":"g"}]`)

// conversationOf is a conversation of n messages, as a program that edits code has it.
func conversationOf(n int) []byte {
	var b strings.Builder
	b.WriteString(`[{"role":"system","content":"You are a careful engineer."}`)
	for i := 1; i < n; i += 3 {
		fmt.Fprintf(&b, `,{"role":"user","content":"Fix the build, please, and run it. Turn %d."}`, i)
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"f","arguments":"{\"path\": \"main.go\", \"line\": %d}"}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":"main.go:12:3: cannot use \"x\" as int value in argument to f"}`, i)
	}
	b.WriteString("]")
	return []byte(b.String())
}

func BenchmarkMessages(b *testing.B) {
	plain := []byte(`[{"role":"user","content":"` + strings.Repeat("The quick brown fox jumps over the lazy dog.\\n", 200*1024/46) + `"}]`)
	for _, bb := range []struct {
		name, format string
		messages     []byte
	}{
		{"no calls", "hermes", plain},
		{"5000 messages hermes", "hermes", conversationOf(5000)},
		{"5000 messages pythonic", "pythonic", conversationOf(5000)},
		{"5000 messages kimi_k2", "kimi_k2", conversationOf(5000)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			f := find(b, bb.format)
			b.SetBytes(int64(len(bb.messages)))
			b.ReportAllocs()
			for b.Loop() {
				f.Messages(conversation.Read(bb.messages), offered, prompted.Choice{Required: true})
			}
		})
	}
}

// TestLinear: a request that is sixteen times as long takes no more than some sixteen
// times the steps, whatever it is made of.
func TestLinear(t *testing.T) {
	t.Parallel()
	steps.Run(t, linear)
}

func linear(t *testing.T) {
	repeated := func(start, one, end string) func(n int) string {
		return func(n int) string { return start + one + strings.Repeat(","+one, n-1) + end }
	}
	messages := map[string]func(n int) string{
		"rounds":  func(n int) string { return string(conversationOf(n)) },
		"results": repeated(`[`, `{"role":"tool","tool_call_id":"a","content":"x"}`, `]`),
		"members": func(n int) string { return `[{"role":"tool"` + numbered(n, `,"k%d":1`) + `}]` },
		"parts":   repeated(`[{"role":"tool","content":[`, `{"type":"text","text":"a"},5`, `]}]`),
		"arguments": func(n int) string {
			return `[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":0` + numbered(n, `,\"k%d\":[1]`) + `}"}}]}]`
		},
		"calls":        repeated(`[{"role":"assistant","tool_calls":[`, `{"id":"a","function":{"name":"f","arguments":"{\"a\":1}"}}`, `]}]`),
		"other calls":  repeated(`[{"role":"assistant","tool_calls":[`, `{"type":"custom"}`, `]}]`),
		"old calls":    repeated(`[`, `{"role":"assistant","function_call":{"name":"f"}},{"role":"function","name":"g"}`, `]`),
		"broken":       repeated(`[`, `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{{{{{{{{"}}]}`, `]`),
		"system parts": repeated(`[{"role":"system","content":[`, `{"type":"text","text":"a"}`, `]}]`),
	}
	tools := map[string]func(n int) string{
		"tools":       repeated(`[`, `{"name":"f","description":"\u00e9","parameters":{"properties":{"a":{"type":"string"}}}}`, `]`),
		"other tools": func(n int) string { return `[5` + numbered(n, `,{"type":"t%d"}`) + `]` },
		"parameters": func(n int) string {
			return `[{"name":"f","parameters":{"properties":{"a":{}` + numbered(n, `,"k%d":{"type":["string","integer"],"enum":[1]}`) + `}}}]`
		},
		"required": repeated(`[{"name":"f","parameters":{"required":[`, `"a"`, `]}}]`),
		"union":    repeated(`[{"name":"f","parameters":{"properties":{"a":{"type":[`, `"x"`, `]}}}}]`),
		"deep schema": func(n int) string {
			return `[{"name":"f","parameters":` + strings.Repeat(`{"items":`, 100) + `"` + strings.Repeat("x", 20*n) + `"` + strings.Repeat("}", 100) + `}]`
		},
		"members tool": func(n int) string { return `[{"name":"f"` + numbered(n, `,"k%d":1`) + `}]` },
	}
	for _, name := range prompted.Names() {
		f := find(t, name)
		for what, make := range messages {
			if what != "calls" && !slices.Contains([]string{"hermes", "mistral_array", "pythonic"}, name) {
				continue // the same for all
			}
			if what == "calls" && name == "kimi_k2" {
				continue // formats writes them by adding to a string
			}
			checkLinear(t, name+" "+what, func(n int) func() {
				text := []byte(make(n))
				return func() { f.Messages(conversation.Read(text), offered, prompted.Choice{Single: true}) }
			})
		}
		for what, make := range tools {
			checkLinear(t, name+" "+what, func(n int) func() {
				c, text := conversation.Read([]byte(`[]`)), []byte(make(n))
				return func() { f.Messages(c, text, prompted.Choice{}) }
			})
		}
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func checkLinear(t *testing.T, what string, prepare func(n int) func()) {
	t.Helper()
	const small, factor = 60, 16
	t.Run(what, func(t *testing.T) { steps.Linear(t, factor, prepare(small), prepare(small*factor)) })
}

// TestDeep: what nests deeper than a request may does not grow.
func TestDeep(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	messages := `[{"role":"user","content":` + deep + `},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":` + deep + `}"}}]}]`
	tools := `[{"name":"f","parameters":{"properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 5000) + "1" + strings.Repeat("}", 5000) + `}}}]`
	for _, name := range prompted.Names() {
		out, _ := find(t, name).Messages(conversation.Read([]byte(messages)), []byte(tools), prompted.Choice{})
		if most := 4 * (len(messages) + len(tools)); len(out) > most {
			t.Errorf("%s: got %d bytes, want at most %d", name, len(out), most)
		}
	}
}

// checkAny writes messages that may be anything. What is valid stays valid.
func checkAny(t *testing.T, f *prompted.Format, messages, tools []byte, choice prompted.Choice) {
	t.Helper()
	valid := func(text []byte) bool {
		_, deep := wire.Depth(text, 128)
		return deep < 0 && jsontext.Value(text).IsValid()
	}
	out, warnings := f.Messages(conversation.Read(messages), tools, choice)
	if valid(messages) && (len(tools) == 0 || valid(tools)) && !jsontext.Value(out).IsValid() {
		t.Fatalf("got %s from %s, want JSON", out, messages)
	}
	if len(warnings) > 20 {
		t.Errorf("got %d warnings, want at most 20", len(warnings))
	}
}

// FuzzMessages writes any text without a panic, and JSON as JSON.
func FuzzMessages(f *testing.F) {
	names := prompted.Names()
	for i, s := range [][2]string{
		{`[]`, `[]`}, {`null`, `null`}, {`[{"role":"tool"}]`, `[{"function":{"name":"f"}}]`},
		{`[{"role":"system","content":[ ]}]`, `[{"name":"f","parameters":{"properties":{"a":{"type":["string",[]]}}}}]`},
		{`[{"role":"assistant","content":[5],"tool_calls":[{"function":{"name":"f","arguments":"{\"a\":[{}]}"}},{"custom":{}}]},{"role":"tool","content":[{}],"x":1}]`, `[5,{"type":"x"},{"name":"f","parameters":[]}]`},
		{`[{"role":"assistant","function_call":{}},{"role":"function"}]`, `[{"function":{"name":"f","description":5,"parameters":{"required":{},"properties":[]}}}]`},
		{`[{"role":"user","content":"`, `[{"name":`}, {`[{"role":"user","content":"\`, `[{"function":{`}, {` [{"role":"system","content":n}]`, `{"name":"f"}`}, {``, ``},
	} {
		for j := range names {
			f.Add([]byte(s[0]), []byte(s[1]), uint8(j), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, messages, tools []byte, name, choice uint8) {
		c := prompted.Choice{Required: choice&1 != 0, Single: choice&2 != 0}
		if choice&4 != 0 {
			c.Tool = "f"
		}
		checkAny(t, find(t, names[int(name)%len(names)]), messages, tools, c)
	})
}
