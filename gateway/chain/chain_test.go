package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// text is a case of testdata/texts.jsonl: what a model wrote and what it means.
type text struct {
	ID           string `json:"id"`
	Parser       string `json:"parser"`
	Auto         *bool  `json:"auto"` // false: it is not read with auto too
	Input        string `json:"input"`
	Start        string `json:"reasoning"`         // how the output begins: "", open or auto
	InReasoning  string `json:"tool_in_reasoning"` // what a call in open reasoning is: "", end or ignore
	FinishReason string `json:"finish_reason"`
	Want         struct {
		Content   string `json:"content"`
		Reasoning string `json:"reasoning"`
		Calls     []struct {
			Name      string          `json:"name"`
			ID        string          `json:"id"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
		Warnings []string `json:"warnings"`
	} `json:"want"`
}

// texts are those of testdata: of the formats, and of what models do to them.
func texts(t *testing.T) (cases []text) {
	t.Helper()
	for _, name := range []string{"texts", "quirks"} {
		raw, err := os.ReadFile("testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			var c text
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

func tools(tb testing.TB) []abi.Tool {
	tb.Helper()
	raw, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		tb.Fatal(err)
	}
	tools, err := gateway.ReadTools(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return tools
}

var runner = chaintest.Runner{Specs: all.Specs()}

// plan has the named parser and the fallback, or all.
func plan(name string) *chain.Plan { return planFor(name, "") }

// planFor is plan for a model of some name.
func planFor(name, model string) *chain.Plan {
	var chosen []chain.Candidate
	for _, c := range runner.Candidates() {
		aliases := []string{c.Name}
		for _, s := range runner.Specs {
			if s.Name == c.Name {
				aliases = append(aliases, s.Aliases...)
			}
		}
		if name == "auto" || c.Name == chain.Fallback || strings.Contains(" "+strings.Join(aliases, " ")+" ", " "+name+" ") {
			chosen = append(chosen, c)
		}
	}
	return chain.NewPlan(chosen, chain.PlanOptions{Model: model, Reasoning: true, Auto: name == "auto"})
}

// result is what a reader of the events has at the end.
type result struct {
	content, reasoning string
	calls              []chain.Call
	cut                bool
	warnings           []string
}

// read feeds all pieces.
func read(p *chain.Plan, opts chain.Options, pieces []string, finish string) result {
	return readBy(p, opts, pieces, finish, func(*chain.Chain, *chain.Message, string) bool { return false })
}

// readPlain takes the short way where it can, as the gateway does.
func readPlain(p *chain.Plan, opts chain.Options, pieces []string, finish string) result {
	all, waiting := "", ""
	return readBy(p, opts, pieces, finish, func(c *chain.Chain, m *chain.Message, piece string) bool {
		before := all
		all += piece
		passage := c.Plain([]byte(piece))
		if passage == chain.Undecided {
			waiting = "" // Feed gives it out
			return false
		}
		if !c.Marked() { // nothing but content so far: the client has it as it came
			m.Content.Reset()
			m.Content.WriteString(before)
		} else {
			m.Content.WriteString(waiting)
		}
		if waiting = piece; passage == chain.PassThrough {
			m.Content.WriteString(piece)
			waiting = ""
		}
		return true
	})
}

func readBy(p *chain.Plan, opts chain.Options, pieces []string, finish string, plain func(*chain.Chain, *chain.Message, string) bool) result {
	c := p.New(runner, opts)
	defer c.Close()
	ctx := context.Background()
	var m chain.Message
	for _, piece := range pieces {
		if !plain(c, &m, piece) {
			m.Add(c.Feed(ctx, []byte(piece)))
		}
	}
	reason := abi.Stop
	if finish == "length" {
		reason = abi.Length
	}
	m.Add(c.Finish(ctx, reason))
	return result{m.Content.String(), m.Reasoning.String(), m.Calls(), m.Cut, c.Report().Warnings}
}

// cuts are many ways to cut a text.
func cuts(s string) [][]string {
	ways := [][]string{{s}, pieces(s, 1), pieces(s, 6), {"", s, ""}}
	for i := 1; i < len(s); i++ {
		ways = append(ways, []string{s[:i], s[i:]})
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(s))))
	for range 20 {
		var way []string
		for rest := s; rest != ""; {
			n := min(1+rng.IntN(12), len(rest))
			way, rest = append(way, rest[:n]), rest[n:]
		}
		ways = append(ways, way)
	}
	return ways
}

func pieces(s string, n int) []string {
	var out []string
	for s != "" {
		k := min(n, len(s))
		out, s = append(out, s[:k]), s[k:]
	}
	return out
}

// TestTexts reads every text in every cut, with its own parser and with auto, and
// must get the same each time.
func TestTexts(t *testing.T) {
	t.Parallel()
	offered := tools(t)
	for _, c := range texts(t) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			names := []string{c.Parser, "auto"}
			if c.Auto != nil && !*c.Auto {
				names = names[:1]
			}
			for _, name := range names {
				p := plan(name)
				for _, way := range cuts(c.Input) {
					opts := chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: map[string]chain.Reasoning{"": chain.Auto, "open": chain.Open}[c.Start],
						InReasoning: map[string]chain.InReasoning{"": chain.Buffer, "end": chain.Ends, "ignore": chain.Ignore}[c.InReasoning]}
					got := read(p, opts, way, c.FinishReason)
					if short := readPlain(p, opts, way, c.FinishReason); !reflect.DeepEqual(short, got) {
						t.Fatalf("cut %q\nthe short way gives %+v\nwant %+v", way, short, got)
					}
					if !c.matches(t, got) {
						t.Fatalf("parser %s, cut %q\n got %+v\nwant content %q, reasoning %q, calls %s", name, way, got, c.Want.Content, c.Want.Reasoning, c.Want.Calls)
					}
				}
			}
		})
	}
}

func (c *text) matches(t *testing.T, got result) bool {
	t.Helper()
	if got.content != c.Want.Content || got.reasoning != c.Want.Reasoning || len(got.calls) != len(c.Want.Calls) {
		return false
	}
	if c.Want.Warnings != nil && !slices.Equal(got.warnings, c.Want.Warnings) {
		return false
	}
	for i, call := range got.calls {
		want := c.Want.Calls[i]
		if call.Name != want.Name || call.ID != want.ID || !sameJSON(t, call.Arguments, string(want.Arguments)) {
			return false
		}
	}
	return true
}

// sameJSON compares values, with every digit of a number.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	for _, s := range []string{a, b} {
		if !json.Valid([]byte(s)) {
			t.Fatalf("%q is not JSON", s)
		}
	}
	return equalJSON(a, b)
}

func equalJSON(a, b string) bool {
	decode := func(s string) (v any) {
		d := json.NewDecoder(bytes.NewReader([]byte(s)))
		d.UseNumber()
		if d.Decode(&v) != nil {
			return nil
		}
		return v
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

// FuzzChain reads any text in two cuts: the results are the same, and text in
// which nothing was found comes out unchanged.
func FuzzChain(f *testing.F) {
	for _, s := range []string{
		"plain", "a <tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call> b",
		"<think>x</think>y", "```\n<tool_call>{\"name\":\"q\",\"arguments\":{}}</tool_call>\n```",
		"<tool_call><function=get_time>\n</function></tool_call>", "[TOOL_CALL]{\"name\":\"get_time\"}[/TOOL_CALL]",
		`{"tool_calls":[{"name":"get_time","arguments":{}}]}`, "<think>\n<tool_call>\n{\"name\": \"get_time\"}</tool_call>",
	} {
		f.Add(s, 3, true)
	}
	offered := tools(f)
	p := plan("auto")
	f.Fuzz(func(t *testing.T, s string, cut int, stop bool) {
		if len(s) > 512 || cut < 0 {
			return
		}
		finish := map[bool]string{true: "stop", false: "length"}[stop]
		opts := chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Auto}
		want := read(p, opts, []string{s}, finish)
		cut %= len(s) + 1
		for _, way := range [][]string{{s[:cut], s[cut:]}, pieces(s, 1), pieces(s, 6)} {
			if got := read(p, opts, way, finish); !reflect.DeepEqual(got, want) {
				t.Fatalf("cut %q\n got %+v\nwant %+v", way, got, want)
			}
		}
		if len(want.calls) == 0 && !want.cut && want.reasoning == "" && len(want.warnings) == 0 && want.content != s &&
			!strings.Contains(s, "think") && !strings.Contains(s, "tool_calls") && !strings.Contains(s, "THINK") && !strings.Contains(s, "</") {
			t.Fatalf("nothing was found in %q, and %q came out", s, want.content)
		}
	})
}

// TestFragments reads random successions of markup and text, whole and in pieces:
// however they are cut the results are the same, and no complete call has arguments
// that are not a JSON object.
func TestFragments(t *testing.T) {
	t.Parallel()
	fragments := []string{
		"<tool_call>", "</tool_call>", "\n", "\n", " ", "Hello", "São ", "<", "```\n", "```json\n", "<think>", "</think>",
		`{"name": "get_time", "arguments": {}}`, `{"name": "nope", "arguments": {"a": [1, 2`, `}}`, `{"name": "get_weather", "arguments": {"city": "Os`, `lo"}}`,
		`{'name': 'get_time'}`, `{"arguments": {"x": "</tool_call>"}, "name": "search"}`, `[{"name": "get_time"}, `, "]", "{bad}", `"`, ",",
		"<function=get_weather>", "<function=write_file>\n", "</function>", "<parameter=city>", "\nOslo\n", "<parameter=days>\n3\n", "</parameter>", "<parameter=content>\n",
		"[TOOL_CALL]", "[/TOOL_CALL]", `{"tool_calls": [`, `]}`, `{"id": "c1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}`, "<|im_end|>",
	}
	offered := tools(t)
	plans := []*chain.Plan{plan("auto"), plan("hermes"), plan("qwen3_coder")}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 4000 {
		var b strings.Builder
		for range 1 + rng.IntN(14) {
			b.WriteString(fragments[rng.IntN(len(fragments))])
		}
		s := b.String()
		p := plans[rng.IntN(len(plans))]
		opts := chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Reasoning(rng.IntN(3)), NoTools: rng.IntN(10) == 0}
		finish := []string{"stop", "length"}[rng.IntN(2)]
		want := read(p, opts, []string{s}, finish)
		for _, way := range [][]string{pieces(s, 1), pieces(s, 6), cuts(s)[4+rng.IntN(len(s))]} {
			if got := read(p, opts, way, finish); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q\ncut %q\n got %+v\nwant %+v", s, way, got, want)
			}
			if got := readPlain(p, opts, way, finish); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q\ncut %q\nthe short way gives %+v\nwant %+v", s, way, got, want)
			}
		}
		for _, c := range want.calls {
			if !json.Valid([]byte(c.Arguments)) || c.Arguments[0] != '{' || c.Name == "" {
				t.Fatalf("%q gave the call %+v", s, c)
			}
		}
	}
}
