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

// TestTruncated ends every input at every place. A call is given out only if its
// arguments were complete, and stays if more of the output comes.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, dir := range dirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			spec := with(readTemplate(t, dir))
			for _, c := range sdktest.Cases(t, dir) {
				if len(c.Input) > 2000 {
					continue
				}
				whole := sdktest.Calls(sdktest.Run(t, spec, sdk.Options{}, c.Input, sdk.Length))
				for cut := range sdktest.Truncated(t, spec, sdk.Options{}, c.Input) {
					// The last call may lie in a region that is spoiled later.
					sure := cut.Calls[:max(0, len(cut.Calls)-1)]
					if cut.Reason == sdk.Length && !sdktest.Begins(whole, sure) {
						t.Fatalf("%q gives the calls %q, the whole output %q", cut.Text, cut.Calls, whole)
					}
				}
			}
		})
	}
}

// TestFragments puts pieces of the inputs together at random.
func TestFragments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1)) // a repeatable test
	for _, dir := range dirs(t) {
		fragments := []string{" ", "\n", "<", `"`, "{", "}", "x", "é", "\xff", "\xe2\x96"}
		for _, c := range sdktest.Cases(t, dir) {
			for range 6 {
				from := random.IntN(len(c.Input) + 1)
				fragments = append(fragments, c.Input[from:min(len(c.Input), from+random.IntN(40))])
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
	sdktest.Steps(t, spec, sdk.Options{}, [][2]string{
		{"<thi", ""},
		{"nk>\nI", `reasoning "I"` + "\n"},
		{" think <", `reasoning " think"` + "\n"},
		{"b", `reasoning " <b"` + "\n"},
		{"</think", ""},
		{">\n\nOk", `content "Ok"` + "\n"},
		{". \n<tool", `content "."` + "\n"},
		{"_call>{\"name\": \"f\"}", ""},
		{"</tool_call", ""},
		{">", "call_start 0 \"f\"\nargs 0 \"{}\"\ncall_end 0\n"},
	})
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
			return // longer than the cuts are meant for
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
		for _, c := range sdktest.Cases(f, dir) {
			f.Add(uint8(i), c.Input, false)
			f.Add(uint8(i), c.Input[:len(c.Input)*2/3], true)
		}
	}
	sdktest.Fuzz(f, sdk.Options{}, specs...)
}

func BenchmarkFeed(b *testing.B) {
	for _, size := range []int{1, 16, 256} {
		b.Run("hermes/"+strconv.Itoa(size)+"KB", func(b *testing.B) {
			spec := with(readTemplate(b, "testdata/hermes"))
			line := `a line of text with \"quotes\" and a newline\n`
			text := `<tool_call>{"name": "write_file", "arguments": {"content": "` +
				strings.Repeat(line, size<<10/len(line)) + `"}}</tool_call>`
			sdktest.Benchmark(b, spec, sdk.Options{}, text)
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
