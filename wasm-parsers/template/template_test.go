package template_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/template"
)

// dirs are the directories of testdata, each with a template and its cases.
func dirs(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/*/template.json")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no templates (%v)", err)
	}
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files
}

func readTemplate(tb testing.TB, dir string) string {
	tb.Helper()
	source, err := os.ReadFile(filepath.Join(dir, "template.json"))
	if err != nil {
		tb.Fatal(err)
	}
	return string(source)
}

// with is the parser with a template, which the cases do not repeat.
func with(source string) sdk.Spec {
	spec := template.ResponseTemplate()
	open := spec.New
	spec.New = func(o sdk.Options) (sdk.Parser, error) {
		o.Settings = []abi.Setting{{Key: "template", Value: source}}
		return open(o)
	}
	return spec
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, dir := range dirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			sdktest.Golden(t, with(readTemplate(t, dir)), dir)
		})
	}
}

// inputs are the inputs of the cases in dir.
func inputs(tb testing.TB, dir string) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.case"))
	if err != nil {
		tb.Fatal(err)
	}
	all := make([]string, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		_, text, _ := strings.Cut(string(data), "-- input --\n")
		text, _, _ = strings.Cut(text, "-- events --\n")
		for line := range strings.Lines(text) {
			var piece string
			if err := json.Unmarshal([]byte(line), &piece); err != nil {
				tb.Fatal(err)
			}
			all[i] += piece
		}
	}
	return all
}

// TestTruncated ends every input at every place. A call is given out only if its
// arguments were complete, and stays if more of the output comes.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, dir := range dirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			spec := with(readTemplate(t, dir))
			for _, input := range inputs(t, dir) {
				if len(input) > 2000 {
					continue
				}
				whole := calls(sdktest.Run(t, spec, sdk.Options{}, input, sdk.Length))
				for n := range input {
					sdktest.Run(t, spec, sdk.Options{}, input[:n], sdk.Stop)
					got := calls(sdktest.Run(t, spec, sdk.Options{}, input[:n], sdk.Length))
					for i := range len(got) - 1 { // the last one may lie in a region that is spoiled later
						if i >= len(whole) || got[i] != whole[i] {
							t.Fatalf("%q gives the calls %q, the whole output %q", input[:n], got, whole)
						}
					}
				}
			}
		})
	}
}

// calls are the complete calls of events.
func calls(events []sdk.Event) []string {
	var all []string
	var last string
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			last = e.Name + " "
		case abi.Args:
			last += e.Text
		case abi.CallEnd:
			all = append(all, last)
		}
	}
	return all
}

// TestFragments puts pieces of the inputs together at random.
func TestFragments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1)) // a repeatable test
	for _, dir := range dirs(t) {
		fragments := []string{" ", "\n", "<", `"`, "{", "}", "x", "é", "\xff", "\xe2\x96"}
		for _, input := range inputs(t, dir) {
			for range 6 {
				from := random.IntN(len(input) + 1)
				fragments = append(fragments, input[from:min(len(input), from+random.IntN(40))])
			}
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			sdktest.Fragments(t, with(readTemplate(t, dir)), sdk.Options{MaxDepth: 4}, fragments, 150)
		})
	}
}

// TestStream checks that text comes as it is written, and only what may be a
// marker waits.
func TestStream(t *testing.T) {
	t.Parallel()
	spec := with(readTemplate(t, "testdata/hermes"))
	p, err := spec.New(sdk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out sdk.Out
	for _, tt := range []struct{ text, want string }{
		{"<thi", ""},
		{"nk>\nI", `reasoning "I"` + "\n"},
		{" think <", `reasoning " think"` + "\n"},
		{"b", `reasoning " "` + "\n" + `reasoning "<b"` + "\n"},
		{"</think", ""},
		{">\n\nOk", `content "Ok"` + "\n"},
		{". \n<tool", `content "."` + "\n"},
		{"_call>{\"name\": \"f\"}", ""},
		{"</tool_call", ""},
		{">", "call_start 0 \"f\"\nargs 0 \"{}\"\ncall_end 0\n"},
	} {
		p.Feed([]byte(tt.text), &out)
		events, err := abi.DecodeEvents(nil, out.Take())
		if err != nil {
			t.Fatal(err)
		}
		if got := sdktest.Format(events); got != tt.want {
			t.Errorf("after %q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestRefused checks that what a template gets wrong is named, with its value and
// what to do.
func TestRefused(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/refused.json")
	if err != nil {
		t.Fatal(err)
	}
	var refused []struct {
		Template json.RawMessage `json:"template"`
		Error    string          `json:"error"`
	}
	if err := json.Unmarshal(data, &refused); err != nil {
		t.Fatal(err)
	}
	for _, tt := range refused {
		_, err := with(string(tt.Template)).New(sdk.Options{})
		if err == nil || err.Error() != tt.Error {
			t.Errorf("%s:\n got %v\nwant %s", tt.Template, err, tt.Error)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		settings []abi.Setting
		want     string
	}{
		{nil, `setting template = "": give the response_template`},
		{[]abi.Setting{{Key: "start", Value: "x"}}, `setting start = "x": remove it`},
		{[]abi.Setting{{Key: "template", Value: "{'fields': 1}"}}, `template = "{'fields': 1}": write it as a JSON object`},
		{[]abi.Setting{{Key: "template", Value: "[]"}}, `template = "[]": write it as a JSON object`},
		{[]abi.Setting{{Key: "template", Value: strings.Repeat(" ", 70000)}}, `template = "`},
		{[]abi.Setting{{Key: "template", Value: strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)}}, `template = "{`},
	} {
		_, err := template.ResponseTemplate().New(sdk.Options{Settings: tt.settings})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("New with %.80v: error %v, want %s…", tt.settings, err, tt.want)
		}
	}
}

// FuzzTemplate compiles what may be a template: no panic, and a text is read.
func FuzzTemplate(f *testing.F) {
	for _, dir := range dirs(f) {
		f.Add(readTemplate(f, dir), "a<b>\n{}")
	}
	f.Add(`{"fields": {"tool_calls": {"open_pattern": "(?<=a)((a*)*)*b(?=c|$)", "close": ["x", "xy"], "content": "xml-inline", "content_args": {"tag_pattern": "(?P<key>x+x+)+y"}}}}`, "aabxxy")
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(text) > 64 {
			t.Skip("longer than the cuts are meant for")
		}
		spec := with(source)
		if _, err := spec.New(sdk.Options{}); err == nil {
			sdktest.Stable(t, spec, sdk.Options{}, text, sdk.Stop)
		}
	})
}

// FuzzText reads any text with one of the templates.
func FuzzText(f *testing.F) {
	var specs []sdk.Spec
	for i, dir := range dirs(f) {
		specs = append(specs, with(readTemplate(f, dir)))
		for _, input := range inputs(f, dir) {
			f.Add(input, uint8(i), false)
			f.Add(input[:len(input)*2/3], uint8(i), true)
		}
	}
	f.Fuzz(func(t *testing.T, input string, number uint8, length bool) {
		if len(input) > 256 {
			t.Skip("longer than the cuts are meant for")
		}
		reason := sdk.Stop
		if length {
			reason = sdk.Length
		}
		sdktest.Stable(t, specs[int(number)%len(specs)], sdk.Options{}, input, reason)
	})
}

func BenchmarkFeed(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run("hermes/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
			spec := with(readTemplate(b, "testdata/hermes"))
			line := `a line of text with \"quotes\" and a newline\n`
			text := []byte(`<tool_call>{"name": "write_file", "arguments": {"content": "` +
				strings.Repeat(line, size<<10/len(line)) + `"}}</tool_call>`)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				p, err := spec.New(sdk.Options{})
				if err != nil {
					b.Fatal(err)
				}
				var out sdk.Out
				for rest := text; len(rest) > 0; rest = rest[min(len(rest), 64):] {
					p.Feed(rest[:min(len(rest), 64)], &out)
					out.Take()
				}
				p.Finish(sdk.Stop, &out)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	source := readTemplate(b, "testdata/qwen3_coder")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := with(source).New(sdk.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
