package repair_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// readAnswer reads a text in pieces of n bytes, 0 for all of it.
func readAnswer(a *repair.Answer, form *repair.Form, text string, n int) (out string, problem *repair.Problem) {
	a.Begin(form, 0)
	var b strings.Builder
	for rest := []byte(text); len(rest) > 0; {
		size := len(rest)
		if n > 0 {
			size = min(n, size)
		}
		b.Write(a.Feed(rest[:size]))
		rest = rest[size:]
	}
	last, problem := a.End()
	b.Write(last)
	return b.String(), problem
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	tool := &abi.Tool{Name: "answer", Params: []abi.Param{{Name: "n", Types: abi.Integer}, {Name: "s", Types: abi.String}}}
	object := &repair.Form{Root: abi.Object, Tool: tool}
	for _, c := range []struct {
		name, text, want string
		repairs          string
		problem          string // a part of the message
	}{
		{"strict", `{"s": "x", "n": 1}`, `{"s": "x", "n": 1}`, "", ""},
		{"white space around", " \n{\"n\":1}\n", " \n{\"n\":1}\n", "", ""},
		{"fence", "```json\n{\"n\":1}\n```", `{"n":1}`, "answer_fence", ""},
		{"fence in a line", "```json {\"n\":1}```", `{"n":1}`, "answer_fence", ""},
		{"fence not closed", "```\n{\"n\":1}\n", `{"n":1}`, "answer_fence", ""},
		{"fence and prose behind", "```json\n{\"n\":1}\n```\nThat is all.", `{"n":1}`, "answer_fence,answer_prose", ""},
		{"prose in front", `Here it is: {"n":1}`, `{"n":1}`, "answer_prose", ""},
		{"prose and fence", "Sure!\n\n```json\n{\"n\": 1}\n```\n\nAnything else?", `{"n": 1}`, "answer_fence,answer_prose", ""},
		{"prose behind", "{\"n\":1}\nHope that helps", "{\"n\":1}\n", "answer_prose", ""},
		{"single backquotes", "`{\"n\":1}`", `{"n":1}`, "answer_fence", ""},
		{"brackets in prose", `As {name} says [1]: {"n":1}`, `{"n":1}`, "answer_prose", ""},
		{"text that begins as JSON does", `{name}, here: {"n":1}`, `{"n":1}`, "answer_prose", ""},
		{"trailing commas", `{"s":"x","n":1,}`, `{"s":"x","n":1}`, "answer_json", ""},
		{"bare keys, single quotes, Python", `{s: 'x', n: None}`, `{"s": "x", "n": null}`, "answer_json", ""},
		{"a closing brace too much", `{"n":1}}`, `{"n":1}`, "answer_prose", ""},
		{"types", `{"n":"3"}`, `{"n":3}`, "answer_types", ""},
		{"string stays", `{"s":"3"}`, `{"s":"3"}`, "", ""},
		{"in a string", `"{\"n\":1}"`, `{"n":1}`, "answer_encoding", ""},
		{"twice the same", "{\"n\":1}\n{\"n\": 1}", "{\"n\":1}\n", "answer_repeated", ""},
		{"reasoning", `<think>{"n":0}? no</think>{"n":1}`, `{"n":1}`, "answer_prose", ""},
		{"byte order mark", "\ufeff{\"n\":1}", `{"n":1}`, "answer_json", ""},
		{"marks of reasoning in a string", `x {"s":"</think> {\"n\":1}"}`, `{"s":"</think> {\"n\":1}"}`, "answer_prose", ""},
		{"white space alone", " \n", " \n", "", ""},

		{"two that differ", "{\"n\":1}\n{\"n\":2}", "{\"n\":1}\n{\"n\":2}", "", "2 different"},
		{"two that differ, in prose", `First {"n":1}, then {"n":2}.`, `First {"n":1}, then {"n":2}.`, "", "2 different"},
		{"cut", `{"s": "x`, `{"s": "x`, "", "ends inside a string"},
		{"cut in a fence", "```json\n{\"n\": 1", `{"n": 1`, "", "ends before"},
		{"cut in prose", `Here: {"a": {"n":1}, "b": `, `Here: {"a": {"n":1}, "b": `, "", "ends before"},
		{"broken in prose", `Here: {"a": {"n":1}, "b": oops}`, `Here: {"a": {"n":1}, "b": oops}`, "", "At byte"},
		{"prose alone", "I cannot.", "I cannot.", "", "holds no JSON"},
		{"an array", `[{"n":1}]`, `[{"n":1}]`, "", "expected object, found array"},
		{"a number", `3`, `3`, "", "expected object, found number"},
		{"a program", "x = {\"n\": 1}", "x = {\"n\": 1}", "", "holds no JSON"},
		{"a list in a program", `x = {"a": [{"n": 1}]}`, `x = {"a": [{"n": 1}]}`, "", "holds no JSON"},
		{"a part of something broken", `{"items" {"n": 1}}`, `{"items" {"n": 1}}`, "", "At byte"},
		{"a part of something broken, in a list", `{["x" {"n": 1}]}`, `{["x" {"n": 1}]}`, "", "At byte"},
		{"a part of what is not closed", `{ items = {"n": 1}`, `{ items = {"n": 1}`, "", "At byte"},
		{"a program in a fence", "```python\n{'n': 1}\n```", "```python\n{'n': 1}\n```", "", "holds no JSON"},
		{"a key twice", `{"n":1,"n":2}`, `{"n":1,"n":2}`, "", "twice"},
		{"a word that is none", `{"n": NaN}`, `{"n": NaN}`, "", "cannot stand here"},
		{"reasoning alone", `<think>{"n":0}`, `<think>{"n":0}`, "", "holds no JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var a repair.Answer
			for n := range len(c.text) + 1 {
				out, p := readAnswer(&a, object, c.text, n)
				said := ""
				if p != nil {
					said = p.Error()
				}
				if out != c.want || (p != nil) != (c.problem != "") || !strings.Contains(said, c.problem) || strings.Join(a.Repairs(), ",") != c.repairs {
					t.Fatalf("in pieces of %d: got %q, %v, %q, want %q, %q, %q", n, out, a.Repairs(), said, c.want, c.repairs, c.problem)
				}
				if strings.Contains(said, "rguments") || strings.Contains(said, "tool") {
					t.Errorf("the problem speaks of calls: %s", said)
				}
				if a.Holding() {
					t.Errorf("in pieces of %d: something is held behind the end", n)
				}
			}
		})
	}
}

// TestAnswerGoesOutAsItComes counts what waits: of JSON that is right so far nothing but a comma that
// may be trailing, and what may be a word.
func TestAnswerGoesOutAsItComes(t *testing.T) {
	t.Parallel()
	for prefix, text := range map[string]string{
		"":          `{"name": "A long name", "list": [1, 2.5, true, null, {"x": "é"}], "s": "a \" b"}`,
		"```json\n": `{"name": "A long name", "list": [1, 2]}`,
	} {
		var a repair.Answer
		a.Begin(&repair.Form{Root: abi.Object}, 0)
		a.Feed([]byte(prefix))
		out := 0
		for i := range len(text) {
			out += len(a.Feed([]byte{text[i]}))
			if waits := i + 1 - out; waits > len(`{"name"`) && i < 10 || i >= 10 && waits > 6 {
				t.Errorf("%s: behind byte %d, %d bytes wait", prefix, i, waits)
			}
		}
	}
}

// TestAnswerFits takes the one value that fits, and none if two do.
func TestAnswerFits(t *testing.T) {
	t.Parallel()
	form := &repair.Form{Root: abi.Object, Fits: func(v []byte) bool { return strings.Contains(string(v), "city") }}
	var a repair.Answer
	for text, want := range map[string]string{
		`Like {"example": 1}: {"city": "Oslo"}`:        `{"city": "Oslo"}`,
		`{"city": "Oslo"} and not {"example": 1}`:      `{"city": "Oslo"} `,
		`{"city": "Oslo"} or {"city": "Bergen"}`:       "",
		`Either {"city": "Oslo"} or {"city": "Lagos"}`: "",
		`{"example": 1} {"city": "Oslo"}`:              "",
	} {
		out, p := readAnswer(&a, form, text, 0)
		if want == "" && (p == nil || out != text) || want != "" && (p != nil || out != want) {
			t.Errorf("%s: got %q, %v, want %q", text, out, p, want)
		}
	}
}

func TestAnswerScalars(t *testing.T) {
	t.Parallel()
	var a repair.Answer
	for _, c := range []struct {
		root abi.Types
		text string
		want string // "" is a problem
	}{
		{abi.String, ` "x" `, ` "x" `}, {abi.String, `'x'`, `"x"`}, {abi.Integer, `3`, `3`}, {abi.Boolean, `True`, `true`},
		{abi.Null | abi.Object, `null`, `null`}, {abi.Array, "```\n[1, 2,]\n```", `[1, 2]`}, {abi.Array, `{"a":1}`, ""},
		{0, `"x"`, `"x"`}, {0, `[1]`, `[1]`}, {0, `x`, ""}, {abi.String, `x`, ""}, {abi.String, "\"\\ud800\"", ""}, {abi.String, "\"\xff\"", ""},
	} {
		for n := range len(c.text) + 1 {
			out, p := readAnswer(&a, &repair.Form{Root: c.root}, c.text, n)
			if c.want == "" && (p == nil || out != c.text) || c.want != "" && (p != nil || out != c.want) {
				t.Errorf("%s in pieces of %d: got %q, %v, want %q", c.text, n, out, p, c.want)
			}
		}
	}
}

func TestCheckAnswer(t *testing.T) {
	t.Parallel()
	s := repair.NewSchemas(0)
	schema := []byte(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}}},"required":["items"]}`)
	for answer, want := range map[string]string{
		`{"items":[{"id":1}]}`:          "",
		`{}`:                            "items",
		`{"items":[{"id":1},{}]}`:       "items[1].id",
		`{"items":[{"id":"x"}]}`:        "items[0].id",
		`{"items":[{"id":1,"more":2}]}`: "items[0].more",
	} {
		p, checked := s.CheckAnswer(schema, []byte(answer))
		if !checked || (p == nil) != (want == "") || p != nil && (p.Path != want || !strings.Contains(p.Message, want)) {
			t.Errorf("%s: %v, %v, want the path %q", answer, p, checked, want)
		}
		if p != nil && (strings.Contains(p.Error(), "rguments") || strings.Contains(p.Error(), "tool")) {
			t.Errorf("the problem speaks of calls: %s", p)
		}
	}
}

func TestAnswerRelease(t *testing.T) {
	t.Parallel()
	var a repair.Answer
	for _, text := range []string{"I'll call the tool.", `{"a`, "```json\n", `{"a": 1,`, `{"a": 1} and`} {
		a.Begin(&repair.Form{Root: abi.Object}, 0)
		out := slices.Clone(a.Feed([]byte(text)))
		out = append(out, a.Release()...)
		out = append(out, a.Feed([]byte(" more"))...)
		if string(out) != text+" more" {
			t.Errorf("got %q, want %q", out, text+" more")
		}
	}
}
