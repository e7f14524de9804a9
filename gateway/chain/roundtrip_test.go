package chain_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/sdk/abi"
)

// TestRoundTrip writes random calls of random tools in every format, cuts the text
// at random, and reads back what was written: with the format's own parser, and with
// auto and the name of a model that writes so.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, f := range formats.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			named, auto := plan(f.Name), planFor("auto", f.Model)
			rapid.Check(t, func(t *rapid.T) {
				offered := drawTools(t)
				turn := drawTurn(t, f, offered)
				text := f.Write(turn)
				way := drawCuts(t, text)
				opts := chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Auto}
				if f.Start != "" && turn.Reasoning != "" {
					opts.Reasoning = chain.Open
				}
				for name, p := range map[string]*chain.Plan{"named": named, "auto": auto} {
					sameTurn(t, name, turn, text, read(p, opts, way, "stop"))
				}
			})
		})
	}
}

func sameTurn(t *rapid.T, name string, want formats.Turn, text string, got result) {
	t.Helper()
	if got.content != want.Content || got.reasoning != want.Reasoning || len(got.calls) != len(want.Calls) {
		t.Fatalf("%s reads %q\n as %+v\nnot %+v", name, text, got, want)
	}
	for i, call := range got.calls {
		w := want.Calls[i]
		members := make([]string, len(w.Args))
		for i, a := range w.Args {
			key, _ := json.Marshal(a.Key)
			members[i] = string(key) + ":" + string(a.Value)
		}
		if call.Name != w.Name || !equalJSON(call.Arguments, "{"+strings.Join(members, ",")+"}") {
			t.Fatalf("%s reads %q\n as %s %s\nnot %s {%s}", name, text, call.Name, call.Arguments, w.Name, strings.Join(members, ","))
		}
	}
}

var (
	names    = rapid.StringMatching(`[a-z][a-z0-9_]{0,12}`)
	sentence = rapid.StringMatching(`[A-Za-zé][a-zé ,.0-9:()!'"$-]{0,30}[a-z.!]`)
	// words may hold what formats use, but no format's whole markup.
	words = rapid.StringMatching(`([a-zA-Z0-9 _.,:;!?'"\\/{}\[\]()<>&|=#*~\n\t-]|é|世|😀){0,40}`)
)

func drawTools(t *rapid.T) []abi.Tool {
	types := []abi.Types{abi.String, abi.Integer, abi.Number, abi.Boolean, abi.Object, abi.Array, abi.String | abi.Null}
	seen := map[string]bool{"all": true} // which is functionary's recipient of text
	var tools []abi.Tool
	for range rapid.IntRange(1, 3).Draw(t, "tools") {
		tool := abi.Tool{Name: names.Filter(func(s string) bool { return !seen[s] }).Draw(t, "tool")}
		seen[tool.Name] = true
		used := map[string]bool{}
		for range rapid.IntRange(0, 4).Draw(t, "params") {
			p := abi.Param{
				Name: names.Filter(func(s string) bool { return !used[s] }).Draw(t, "param"), Types: rapid.SampledFrom(types).Draw(t, "type"),
				Required: rapid.Bool().Draw(t, "required"),
			}
			used[p.Name] = true
			tool.Params = append(tool.Params, p)
		}
		tools = append(tools, tool)
	}
	return tools
}

func drawTurn(t *rapid.T, f formats.Format, tools []abi.Tool) formats.Turn {
	var turn formats.Turn
	if !f.Plain && rapid.Bool().Draw(t, "thinks") {
		turn.Reasoning = sentence.Draw(t, "reasoning")
	}
	n := rapid.IntRange(1, 3).Draw(t, "calls")
	if f.Single {
		n = 1
	}
	if !f.Silent && rapid.Bool().Draw(t, "talks") {
		turn.Content = sentence.Draw(t, "content")
	}
	for i := range n {
		tool := rapid.SampledFrom(tools).Draw(t, "call")
		c := formats.Call{Name: tool.Name}
		if f.IDs && f.Name != "kimi_k2" {
			c.ID = "call" + string(rune('0'+i))
		}
		for _, p := range tool.Params {
			if p.Required || rapid.Bool().Draw(t, "given") {
				c.Args = append(c.Args, formats.Arg{Key: p.Name, Value: drawValue(t, f, p.Types, 0)})
			}
		}
		turn.Calls = append(turn.Calls, c)
	}
	return turn
}

// drawValue is a value that the format can write: not every one can tell a string
// from what it looks like, or escape.
func drawValue(t *rapid.T, f formats.Format, types abi.Types, depth int) json.RawMessage {
	if types == abi.String|abi.Null && depth == 0 && rapid.Bool().Draw(t, "null") && f.Name != "minimax_m3" {
		return json.RawMessage("null")
	}
	switch {
	case types&abi.String != 0:
		s := words.Filter(func(s string) bool { return writable(f.Name, s, types, depth) }).Draw(t, "string")
		b, _ := json.Marshal(s)
		var plain strings.Builder
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		if e.Encode(s) == nil {
			b = []byte(strings.TrimSuffix(plain.String(), "\n"))
		}
		return b
	case types&abi.Integer != 0:
		return json.RawMessage(rapid.StringMatching(`0|-?[1-9][0-9]{0,25}`).Draw(t, "integer"))
	case types&abi.Number != 0:
		return json.RawMessage(rapid.StringMatching(`-?(0|[1-9][0-9]{0,6})\.[0-9]{1,20}`).Draw(t, "number"))
	case types&abi.Boolean != 0:
		return json.RawMessage(rapid.SampledFrom([]string{"true", "false"}).Draw(t, "boolean"))
	}
	inner := func() string {
		kinds := []abi.Types{abi.String, abi.Integer, abi.Boolean}
		if depth < 2 {
			kinds = append(kinds, abi.Object, abi.Array)
		}
		return string(drawValue(t, f, rapid.SampledFrom(kinds).Draw(t, "inner"), depth+1))
	}
	n := rapid.IntRange(0, 3).Draw(t, "members")
	if f.Name == "minimax_m3" {
		n = max(n, 1) // an empty element may be anything
	}
	var parts []string
	for i := range n {
		if types&abi.Array != 0 {
			parts = append(parts, inner())
		} else {
			parts = append(parts, `"`+string(rune('a'+i))+`": `+inner())
		}
	}
	if types&abi.Array != 0 {
		return json.RawMessage("[" + strings.Join(parts, ", ") + "]")
	}
	return json.RawMessage("{" + strings.Join(parts, ", ") + "}")
}

// writable reports whether a format can write a string so that it reads the same.
func writable(format, s string, types abi.Types, depth int) bool {
	trimmed := strings.TrimSpace(s)
	switch {
	case !utf8.ValidString(s):
		return false
	case s != "" && strings.ContainsAny(s[:1], "<[{.Y") && strings.ContainsAny(s[len(s)-1:], ">]}.") || strings.HasPrefix(s, "YOUR_"):
		return false // it may be a sample of the documentation's, which auto leaves alone
	case types&abi.Null != 0 && (strings.EqualFold(trimmed, "null") || strings.EqualFold(trimmed, "none")):
		return false // a format without types cannot tell
	case format == "minimax_m3" && types&abi.Null != 0 && s == "":
		return false
	case format == "minimax_m3" && depth > 0: // what is nested has no schema
		return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == "" && s != "true" && s != "false" && s != "null" && s != "none"
	case format == "cohere_xml", format == "minicpm5":
		return !strings.Contains(s, "]]>")
	}
	return true
}

func drawCuts(t *rapid.T, text string) []string {
	var out []string
	most := rapid.SampledFrom([]int{1, 6, 40, 10000}).Draw(t, "most")
	rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "cuts")))
	for text != "" {
		n := min(1+rng.IntN(most), len(text))
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}
