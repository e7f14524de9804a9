package repair_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// argsCase is one line of testdata/args.jsonl: arguments and what becomes of them.
type argsCase struct {
	Why    string            `json:"why"`
	In     string            `json:"in"`
	Hex    string            `json:"hex"`    // in place of in, if that is no UTF-8
	Params map[string]string `json:"params"` // names of parameters, with the names of their types
	Depth  int               `json:"depth"`
	// Out is all that goes out, joined; if it is not there, that is what came in.
	Out     *string  `json:"out"`
	Extra   []string `json:"extra"`
	Repairs string   `json:"repairs"`
	Class   string   `json:"class"`
	// Problem is a part of its message, and Path is its path, unless AnyPath.
	Problem string `json:"problem"`
	Path    string `json:"path"`
	AnyPath bool   `json:"anypath"`
}

func readArgsCases(tb testing.TB) []argsCase {
	tb.Helper()
	f, err := os.Open("testdata/args.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var cases []argsCase
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c argsCase
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			tb.Fatalf("line %d: %v", len(cases)+1, err)
		}
		if c.Hex != "" {
			b, err := hex.DecodeString(c.Hex)
			if err != nil {
				tb.Fatalf("line %d: %v", len(cases)+1, err)
			}
			c.In = string(b)
		}
		cases = append(cases, c)
	}
	return cases
}

var typeNames = map[string]abi.Types{
	"string": abi.String, "integer": abi.Integer, "number": abi.Number, "boolean": abi.Boolean,
	"object": abi.Object, "array": abi.Array, "null": abi.Null,
}

func (c argsCase) tool() *abi.Tool {
	if c.Params == nil {
		return nil
	}
	tool := &abi.Tool{Name: "tool"}
	for name, types := range c.Params {
		var set abi.Types
		for t := range strings.SplitSeq(types, "|") {
			set |= typeNames[t]
		}
		tool.Params = append(tool.Params, abi.Param{Name: name, Types: set})
	}
	return tool
}

// result is all that a reading of arguments says.
type result struct {
	Out, Extra, Repairs, Class, Problem, Path string
}

// read feeds text in the given pieces and checks what must hold at every step.
func read(tb failer, a *repair.Args, tool *abi.Tool, depth int, pieces ...string) result {
	tb.Helper()
	a.Begin(tool, nil, depth)
	var in, out []byte
	step := func() {
		switch {
		case len(out) > 0 && !a.Holding() && a.Same() && !bytes.Equal(in, out):
			tb.Fatalf("%q: Same and not Holding, but %q went out", in, out)
		case a.Same() && !bytes.HasPrefix(in, out):
			tb.Fatalf("%q: Same, but %q went out", in, out)
		case a.Same() != (a.Repairs() == nil):
			tb.Fatalf("%q: Same %v, Repairs %v", in, a.Same(), a.Repairs())
		}
	}
	for _, piece := range pieces {
		in = append(in, piece...)
		out = append(out, a.Feed([]byte(piece))...)
		step()
	}
	rest, extra, problem := a.End()
	out = append(out, rest...)
	if step(); a.Holding() {
		tb.Fatalf("%q: Holding behind the end", in)
	}
	if !bytes.Equal(a.Raw(), in) {
		tb.Fatalf("Raw = %q, want %q", a.Raw(), in)
	}
	res := result{Out: string(out), Repairs: strings.Join(a.Repairs(), " "), Class: a.Class()}
	for _, e := range extra {
		res.Extra += string(e) + "\x00"
	}
	if problem != nil {
		res.Problem, res.Path = problem.Error(), problem.Path
	}
	return res
}

// cut cuts text in pieces of size bytes, the first of first bytes.
func cut(text string, first, size int) []string {
	pieces := []string{text[:min(first, len(text))]}
	for text = text[min(first, len(text)):]; len(text) > 0; text = text[min(size, len(text)):] {
		pieces = append(pieces, text[:min(size, len(text))])
	}
	return pieces
}

func TestArgs(t *testing.T) {
	t.Parallel()
	for _, c := range readArgsCases(t) {
		t.Run(c.Why, func(t *testing.T) {
			t.Parallel()
			a := new(repair.Args)
			got := read(t, a, c.tool(), c.Depth, c.In)
			want := result{Out: c.In, Repairs: c.Repairs, Class: c.Class, Problem: got.Problem, Path: c.Path}
			if c.Out != nil {
				want.Out = *c.Out
			}
			for _, e := range c.Extra {
				want.Extra += e + "\x00"
			}
			if c.AnyPath {
				want.Path = got.Path
			}
			if got != want {
				t.Errorf("%q:\ngot  %+v\nwant %+v", c.In, got, want)
			}
			if !strings.Contains(got.Problem, c.Problem) || (got.Problem == "") != (c.Problem == "") {
				t.Errorf("problem of %q: got %q, want %q", c.In, got.Problem, c.Problem)
			}
			for first := 0; first <= len(c.In); first++ {
				for _, size := range []int{1, 2, 3, 7, len(c.In) + 1} {
					if again := read(t, a, c.tool(), c.Depth, cut(c.In, first, size)...); again != got {
						t.Fatalf("%q cut behind %d bytes, then in pieces of %d:\ngot  %+v\nwant %+v", c.In, first, size, again, got)
					}
				}
			}
		})
	}
}

// TestJSON checks that whole arguments are repaired as those in pieces are.
func TestJSON(t *testing.T) {
	t.Parallel()
	for _, c := range readArgsCases(t) {
		pieces := read(t, new(repair.Args), nil, c.Depth, cut(c.In, 1, 1)...)
		checkJSON(t, c.In, c.Depth, pieces)
	}
}

// checkJSON holds JSON to what a reading in pieces gave, without a tool.
func checkJSON(tb failer, in string, depth int, pieces result) {
	tb.Helper()
	fixed, repairs, problem := repair.JSON([]byte(in), depth)
	switch {
	case pieces.Problem != "" || pieces.Extra != "":
		if problem == nil || problem.Class != repair.InvalidJSON || string(fixed) != in || repairs != nil {
			tb.Fatalf("JSON(%q) = %q, %v, %v, want the text and a problem", in, fixed, repairs, problem)
		}
		if pieces.Problem != "" && problem.Error() != pieces.Problem {
			tb.Fatalf("JSON(%q): problem %q, want %q", in, problem.Error(), pieces.Problem)
		}
	case problem != nil || string(fixed) != pieces.Out || strings.Join(repairs, " ") != pieces.Repairs:
		tb.Fatalf("JSON(%q) = %q, %v, %v, want %+v", in, fixed, repairs, problem, pieces)
	case !json.Valid(fixed):
		tb.Fatalf("JSON(%q) = %q, which is not valid JSON", in, fixed)
	}
}

// TestArgsStreams checks how much of arguments waits.
func TestArgsStreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, out string
		complete      bool
	}{
		{"white space", " \n", "", false},
		{"a brace", " {", " {", false},
		{"a key", `{"ci`, `{"ci`, false},
		{"a comma", `{"a":1 , `, `{"a":1 `, false},
		{"what follows a comma", `{"a":1 , "`, `{"a":1 , "`, false},
		{"a string", `{"a":"some te`, `{"a":"some te`, false},
		{"a backslash", `{"a":"b\`, `{"a":"b`, false},
		{"half of a pair", `{"a":"b\ud83d`, `{"a":"b`, false},
		{"half of a character", "{\"a\":\"b\xe2\x82", `{"a":"b`, false},
		{"a number", `{"a":12`, `{"a":12`, false},
		{"a word", `{"a":tru`, `{"a":`, false},
		{"a key with a slip", `{'a': 1, 'b'`, `{"a": 1`, false},
		{"a string with a slip", `{'a': 'some te`, `{"a": "some te`, false},
		{"the end", `{"a":1}`, `{"a":1}`, true},
		{"white space behind", "{\"a\":1}\n", `{"a":1}`, true},
		{"a second object", `{"a":1}{"b`, `{"a":1}`, false},
		{"null", `null`, "", true},
		{"a string that holds all", `"{\"a\":1`, "", false},
		{"such a string, complete", `"{}"`, "", true},
		{"a problem", `{"a": foo}{`, `{"a": foo}{`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := new(repair.Args)
			a.Begin(nil, nil, 0)
			if got := string(a.Feed([]byte(c.in))); got != c.out {
				t.Errorf("Feed(%q): got %q, want %q", c.in, got, c.out)
			}
			if got, want := a.Holding(), len(c.out) < len(c.in); got != want {
				t.Errorf("Holding behind %q: got %v, want %v", c.in, got, want)
			}
			if got := a.Complete(); got != c.complete {
				t.Errorf("Complete behind %q: got %v, want %v", c.in, got, c.complete)
			}
		})
	}
}

// TestArgsSeveral checks how many objects one call may hold.
func TestArgsSeveral(t *testing.T) {
	t.Parallel()
	objects := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`{"a":` + strings.Repeat("1", i+1) + `}`)
		}
		return b.String()
	}
	if got := read(t, new(repair.Args), nil, 0, objects(64)); strings.Count(got.Extra, "\x00") != 63 || got.Problem != "" {
		t.Errorf("64 objects: got %+v, want 63 behind the first", got)
	}
	if got := read(t, new(repair.Args), nil, 0, objects(65)); got.Out != objects(65) || got.Class != repair.InvalidJSON || got.Extra != "" {
		t.Errorf("65 objects: got %+v, want a problem and the text", got)
	}
}

// TestArgsAgain checks that nothing of a call is left for the next one.
func TestArgsAgain(t *testing.T) {
	t.Parallel()
	cases := readArgsCases(t)
	a := new(repair.Args)
	for i := range cases {
		for _, c := range []argsCase{cases[i], cases[(i*7+3)%len(cases)]} {
			got := read(t, a, c.tool(), c.Depth, c.In[:len(c.In)/2], c.In[len(c.In)/2:])
			if want := read(t, new(repair.Args), c.tool(), c.Depth, c.In); got != want {
				t.Fatalf("%q behind other calls:\ngot  %+v\nwant %+v", c.In, got, want)
			}
		}
	}
	a.Begin(nil, nil, 0)
	if a.Holding() || a.Complete() || !a.Same() || a.Class() != "" || a.Repairs() != nil || len(a.Raw()) != 0 {
		t.Error("Begin left something of the last call")
	}
	if !slices.Equal(a.Feed([]byte("{}")), []byte("{}")) {
		t.Error("Begin left something of the last call")
	}
}
