package prompted_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/prompted"
)

var update = flag.Bool("update", false, "write what the golden files of testdata should be")

// tester is a test of any kind.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func find(tb tester, name string) *prompted.Format {
	tb.Helper()
	f, ok := prompted.Find(name)
	if !ok {
		tb.Fatalf("there is no form for %q, and there has to be one", name)
	}
	return f
}

// request is a file in.json or request.json.
type request struct {
	Messages json.RawMessage `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
}

func readRequest(t *testing.T, data []byte) (r request) {
	t.Helper()
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// written is what a format makes of a request. It checks that the input stays as it is.
func written(tb tester, f *prompted.Format, messages, tools []byte, choice prompted.Choice) (string, []string) {
	tb.Helper()
	before := string(messages) + string(tools)
	out, warnings := f.Messages(conversation.Read(messages), tools, choice)
	if string(messages)+string(tools) != before {
		tb.Fatalf("the client's bytes were written to")
	}
	if !jsontext.Value(out).IsValid() {
		tb.Fatalf("got %s, which is no JSON", out)
	}
	return string(out), warnings
}

// compare compares a golden file, or a part of one, with what was made. It returns what
// is to be kept.
func compare(t *testing.T, what, got, want string) string {
	t.Helper()
	if got != want && !*update {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
		return want
	}
	return got
}

func save(t *testing.T, file string, data []byte) {
	t.Helper()
	if !*update {
		return
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestForms writes one conversation in every form, for people to compare with the
// templates: see the README of testdata.
func TestForms(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/forms/request.json")
	if err != nil {
		t.Fatal(err)
	}
	req := readRequest(t, raw)
	for _, name := range prompted.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, warnings := written(t, find(t, name), req.Messages, req.Tools, prompted.Choice{Required: true})
			if len(warnings) > 0 {
				t.Errorf("got the warnings %q, want none", warnings)
			}
			file := filepath.Join("testdata/forms", name+".txt")
			want, err := os.ReadFile(file)
			if err != nil && !*update {
				t.Fatal(err)
			}
			got := compare(t, file, readable(t, out), string(want))
			save(t, file, []byte(got))
		})
	}
	files, err := filepath.Glob("testdata/forms/*.txt")
	if err != nil || len(files) != len(prompted.Names()) {
		t.Errorf("got %d golden files and the error %v, want one for each of %q", len(files), err, prompted.Names())
	}
}

// readable writes messages with nothing escaped. ¶ is the end of each.
func readable(t *testing.T, messages string) string {
	t.Helper()
	var list []map[string]string
	if err := json.Unmarshal([]byte(messages), &list); err != nil {
		t.Fatalf("%v: a member is no string in %s", err, messages)
	}
	var b strings.Builder
	for i, m := range list {
		fmt.Fprintf(&b, "==== %d %s\n%s¶\n", i, m["role"], m["content"])
		if len(m) != 2 {
			t.Errorf("got the message %v, want nothing but role and content", m)
		}
	}
	return b.String()
}

// ruleCase is a file of testdata/cases: the name of the format, what is asked for, the
// warnings, the request and the messages that it becomes.
type ruleCase struct {
	format   string
	choice   prompted.Choice
	warnings string
	archive  *txtar.Archive
}

func readRuleCase(t *testing.T, file string) (c ruleCase) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c.archive = archive
	_, fields, _ := strings.Cut(string(archive.Comment), "\n\n") // behind what it shows
	for line := range strings.Lines(fields) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "format":
			c.format = value
		case "choice":
			words := strings.Fields(value)
			c.choice.None = slices.Contains(words, "none")
			c.choice.Required = slices.Contains(words, "required")
			c.choice.Single = slices.Contains(words, "single")
			if i := slices.Index(words, "tool"); i >= 0 {
				c.choice.Tool = words[i+1]
			}
		case "warnings":
			c.warnings = value
		default:
			t.Fatalf("%q is no field", line)
		}
	}
	if len(archive.Files) != 2 || archive.Files[0].Name != "in.json" || archive.Files[1].Name != "out.json" {
		t.Fatal("want the files in.json and out.json")
	}
	return c
}

// TestRules checks what is done to messages, byte for byte.
func TestRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d cases and the error %v, want some", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			c := readRuleCase(t, file)
			req := readRequest(t, c.archive.Files[0].Data)
			out, warnings := written(t, find(t, c.format), req.Messages, req.Tools, c.choice)
			if got := strings.Join(warnings, ","); got != c.warnings {
				t.Errorf("got the warnings %q, want %q", got, c.warnings)
			}
			got := compare(t, file, lines(t, out), string(c.archive.Files[1].Data))
			c.archive.Files[1].Data = []byte(got)
			save(t, file, txtar.Format(c.archive))
		})
	}
}

// lines are messages one a line, and otherwise as they are.
func lines(t *testing.T, messages string) string {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(messages), &list); err != nil {
		return messages + "\n"
	}
	var b strings.Builder
	joined := make([]string, len(list))
	for i, m := range list {
		joined[i] = string(m)
		fmt.Fprintf(&b, "%s\n", m)
	}
	if want := "[" + strings.Join(joined, ",") + "]"; messages != want {
		t.Errorf("got %s, want %s", messages, want)
	}
	return b.String()
}
