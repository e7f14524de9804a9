package sdktest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
)

// recorder is a testing.TB that notes failures instead of failing.
type recorder struct {
	testing.TB

	failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed += fmt.Sprintf(format, args...) + "\n"
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// wantFailure runs f and wants it to fail with these words, or not at all if there
// are none.
func wantFailure(t *testing.T, words string, f func(testing.TB)) {
	t.Helper()
	r := &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		if words == "" && r.failed != "" || !strings.Contains(r.failed, words) {
			t.Errorf("failed with %q, want %q", r.failed, words)
		}
	}()
	f(r)
}

// chunky breaks the contract: it ends the region at the end of its first piece.
type chunky struct{}

func (chunky) Feed(text []byte, out *sdk.Out)    { out.End(len(text)) }
func (chunky) Finish(_ sdk.Reason, out *sdk.Out) { out.End(0) }

func TestStableFindsChunking(t *testing.T) {
	t.Parallel()
	spec := sdk.Spec{Parser: abi.Parser{Name: "chunky"}, New: func(sdk.Options) (sdk.Parser, error) { return chunky{}, nil }}
	stable := func(tb testing.TB) {
		tb.Helper()
		sdktest.Stable(tb, spec, sdk.Options{}, "abcdef", sdk.Stop)
	}
	wantFailure(t, "depends on the cut", stable)
	spec.CanParse = func(head []byte) sdk.Verdict { return sdk.Verdict(len(head) % 3) }
	wantFailure(t, "and then", stable)
}

// tagged is a parser that keeps the contract: JSON between two markers.
func tagged() sdk.Spec {
	spec := taggedjson.New("tagged", 60, "<c>", "</c>")
	spec.Formats = []string{"<c>{name, arguments}</c>"}
	spec.Example = `<c>{"name": "f", "arguments": {"a": 1}}</c>`
	return spec
}

func TestExample(t *testing.T) {
	t.Parallel()
	call := sdktest.Call{Name: "f", Args: `{"a": 1}`}
	for _, tt := range []struct {
		name   string
		change func(*sdk.Spec)
		call   sdktest.Call
		want   string
	}{
		{"as it is", func(*sdk.Spec) {}, call, ""},
		{"no CanParse", func(s *sdk.Spec) { s.CanParse = nil }, call, ""},
		{"another name", func(*sdk.Spec) {}, sdktest.Call{Name: "g", Args: call.Args}, `call_start 0 "g"`},
		{"other arguments", func(*sdk.Spec) {}, sdktest.Call{Name: "f", Args: `{"a":1}`}, `args 0 "{\"a\":1}"`},
		{"an id", func(*sdk.Spec) {}, sdktest.Call{Name: "f", ID: "i", Args: call.Args}, `call_start 0 "f" "i"`},
		{"text behind it", func(s *sdk.Spec) { s.Example += " x" }, call, "end 43"},
		{"no trigger", func(s *sdk.Spec) { s.Triggers = []string{"<d>"} }, call, "no trigger begins"},
		{"two lines", func(s *sdk.Spec) { s.Formats = append(s.Formats, "a\nb") }, call, "is not a line"},
		{"long", func(s *sdk.Spec) { s.Formats = []string{strings.Repeat("a", 257)} }, call, "is not a line of 1 to 256 bytes"},
		{"an empty format", func(s *sdk.Spec) { s.Formats = []string{""} }, call, "is not a line"},
		{"CanParse", func(s *sdk.Spec) { s.CanParse = func([]byte) sdk.Verdict { return sdk.Maybe } }, call, "CanParse("},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := tagged()
			tt.change(&spec)
			wantFailure(t, tt.want, func(tb testing.TB) {
				tb.Helper()
				sdktest.Example(tb, spec, sdk.Options{}, tt.call)
			})
		})
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ heads, want string }{
		{`{"tagged": {"<c": "maybe", "<c>{": "yes", "<d": "no"}}`, ""},
		{`{"tagged": {"<c": "yes"}}`, `CanParse("<c") = 2, want 1`},
		{`{"tagged": {"<c": "perhaps"}}`, `is "perhaps", want yes, no or maybe`},
		{`{"other": {"<c": "maybe"}}`, "no heads of tagged"},
		{`[]`, "cannot unmarshal"},
	} {
		file := filepath.Join(t.TempDir(), "heads.json")
		if err := os.WriteFile(file, []byte(tt.heads), 0o600); err != nil {
			t.Fatal(err)
		}
		wantFailure(t, tt.want, func(tb testing.TB) {
			tb.Helper()
			sdktest.Heads(tb, file, tagged())
		})
	}
	wantFailure(t, "no such file", func(tb testing.TB) {
		tb.Helper()
		sdktest.Heads(tb, filepath.Join(t.TempDir(), "heads.json"), tagged())
	})
}

func TestCalls(t *testing.T) {
	t.Parallel()
	got := sdktest.Calls([]sdk.Event{
		{Kind: abi.Content, Text: "x"}, {Kind: abi.CallStart, Name: "f", ID: "i"}, {Kind: abi.Args, Text: "{"}, {Kind: abi.Args, Text: "}"},
		{Kind: abi.CallEnd}, {Kind: abi.CallStart, Index: 1, Name: "g"}, {Kind: abi.Args, Index: 1, Text: "{"}, {Kind: abi.Cut, Index: 1},
	})
	if want := (sdktest.Call{Name: "f", ID: "i", Args: "{}"}); len(got) != 1 || got[0] != want {
		t.Errorf("calls = %q, want %q alone", got, want)
	}
}

func TestBegins(t *testing.T) {
	t.Parallel()
	f, g := sdktest.Call{Name: "f", Args: `{"a": 1, "b": 2}`}, sdktest.Call{Name: "g", Args: `{}`}
	whole := []sdktest.Call{f, g}
	for _, tt := range []struct {
		name        string
		got         []sdktest.Call
		begins, cut bool
	}{
		{"none", nil, true, true},
		{"the first", []sdktest.Call{f}, true, true},
		{"all", []sdktest.Call{f, g}, true, true},
		{"one more", []sdktest.Call{f, g, g}, false, false},
		{"another", []sdktest.Call{g}, false, false},
		{"another after the first", []sdktest.Call{f, f}, false, false},
		{"arguments that are missing", []sdktest.Call{{Name: "f", Args: `{"a": 1}`}}, false, true},
		{"such a call in front of another", []sdktest.Call{{Name: "f", Args: `{"a": 1}`}, g}, false, false},
		{"other arguments", []sdktest.Call{{Name: "f", Args: `{"a": 2}`}}, false, false},
		{"another id", []sdktest.Call{{Name: "f", ID: "i", Args: f.Args}}, false, false},
	} {
		if got := sdktest.Begins(whole, tt.got); got != tt.begins {
			t.Errorf("%s: Begins = %t, want %t", tt.name, got, tt.begins)
		}
		if got := sdktest.BeginsCut(whole, tt.got); got != tt.cut {
			t.Errorf("%s: BeginsCut = %t, want %t", tt.name, got, tt.cut)
		}
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steps := [][2]string{
		{`<c>{"name": "f", "arguments": {"a": "b`, "call_start 0 \"f\"\nargs 0 \"{\\\"a\\\": \\\"b\"\n"},
		{`"}}</c>`, "args 0 \"\\\"}\"\ncall_end 0\nend 45\n"},
	}
	run := func(steps ...[2]string) func(testing.TB) {
		return func(tb testing.TB) {
			tb.Helper()
			sdktest.Steps(tb, tagged(), sdk.Options{}, steps)
		}
	}
	wantFailure(t, "", run(steps...))
	wantFailure(t, "after", run(steps[0], [2]string{`"}}</c>`, ""}))
	wantFailure(t, "the region has ended before", run(steps[0], steps[1], [2]string{"x", ""}))
}

func TestLongString(t *testing.T) {
	t.Parallel()
	args := `{"a": "` + strings.Repeat("b", 100) + `"}`
	input := `<c>{"name": "f", "arguments": ` + args + `}</c>`
	for _, tt := range []struct {
		name, input, args string
		least             int
		want              string
	}{
		{"a call", input, args, 100, ""},
		{"fewer pieces", input, args, 200, "want 200 pieces"},
		{"other arguments", input, "{}", 100, `want 100 pieces of "{}"`},
		{"no call", "<c>text", "", 0, "the calls []"},
	} {
		wantFailure(t, tt.want, func(tb testing.TB) {
			tb.Helper()
			sdktest.LongString(tb, tagged(), sdk.Options{}, tt.input, tt.args, tt.least)
		})
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{tagged().Example + " text": true, tagged().Example[:20]: false} {
		if got := sdktest.Drain(t, tagged(), sdk.Options{}, []byte(text), 7, sdk.Stop); got != want {
			t.Errorf("%q ends by itself: %t, want %t", text, got, want)
		}
	}
	spec := tagged()
	spec.New = func(sdk.Options) (sdk.Parser, error) { return nil, os.ErrInvalid }
	wantFailure(t, os.ErrInvalid.Error(), func(tb testing.TB) {
		tb.Helper()
		sdktest.Drain(tb, spec, sdk.Options{}, nil, 7, sdk.Stop)
	})
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	input := tagged().Example
	var texts []string
	for cut := range sdktest.Truncated(t, tagged(), sdk.Options{}, input) {
		texts = append(texts, cut.Text)
		complete := strings.Contains(cut.Text, "}}") // its end marker may be missing
		if (len(cut.Calls) == 1) != complete || !slices.Equal(cut.Calls, sdktest.Calls(cut.Events)) {
			t.Errorf("%q (%d) gives %q", cut.Text, cut.Reason, cut.Calls)
		}
		if want := sdk.Reason((len(texts) + 1) % 2); cut.Reason != want {
			t.Errorf("%q has the reason %d, want %d", cut.Text, cut.Reason, want)
		}
	}
	if want := 2 * (len(input) + 1); len(texts) != want || texts[0] != "" || texts[want-1] != input {
		t.Errorf("%d beginnings: %q, want %d from none to all", len(texts), texts, want)
	}
	for range sdktest.Truncated(t, tagged(), sdk.Options{}, input) {
		break // which must not go on
	}
}

func TestRendered(t *testing.T) {
	t.Parallel()
	written := map[string]bool{}
	write := func(name string, args []sdktest.Arg) string {
		object := map[string]any{}
		for _, arg := range args {
			object[arg.Name] = arg.Value
		}
		b, err := json.Marshal(map[string]any{"name": name, "arguments": object})
		if err != nil {
			t.Error(err)
		}
		written[string(b)] = true
		return "<c>" + string(b) + "</c>"
	}
	sdktest.Rendered(t, tagged(), rand.New(rand.NewPCG(1, 1)), 20, write)
	if len(written) < 10 {
		t.Errorf("%d different calls, want 10 at least", len(written))
	}
	wantFailure(t, "gives the calls", func(tb testing.TB) {
		tb.Helper()
		sdktest.Rendered(tb, tagged(), rand.New(rand.NewPCG(1, 1)), 20, func(name string, args []sdktest.Arg) string {
			return write(name, append(args, sdktest.Arg{Name: "one too many", Value: "x"}))
		})
	})
	wantFailure(t, "gives the calls", func(tb testing.TB) {
		tb.Helper()
		sdktest.Rendered(tb, tagged(), rand.New(rand.NewPCG(1, 1)), 20, func(name string, args []sdktest.Arg) string {
			return write(name+"x", args)
		})
	})
}

func TestCases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"b.case":     "Why.\n-- options --\n{\"reason\": \"length\"}\n-- input --\n\"x\\n\"\n\"y\"\n-- events --\nend 3\n",
		"a.case":     "Why not.\n-- input --\n\"x\"\n-- events --\n",
		"tools.json": `{"f": {"s": "string"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := sdktest.Cases(t, dir)
	if len(cases) != 2 || cases[0].Name != "a" {
		t.Fatalf("cases = %+v, want a and b", cases)
	}
	b := cases[1]
	if b.Name != "b" || b.Why != "Why." || b.Input != "x\ny" || b.Reason != sdk.Length || b.Events != "end 3\n" || len(b.Options.Tools) != 1 {
		t.Errorf("case = %+v", b)
	}
	wantFailure(t, "no cases in", func(tb testing.TB) {
		tb.Helper()
		sdktest.Cases(tb, t.TempDir())
	})
}
