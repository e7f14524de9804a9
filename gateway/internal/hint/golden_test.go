package hint_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/hint"
	"github.com/callgate/callgate/gateway/wire"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// body is what is read of a request.
type body struct {
	Tools    json.RawMessage `json:"tools"`
	Messages json.RawMessage `json:"messages"`
}

func parse(t testing.TB, text string) body {
	t.Helper()
	var b body
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return b
}

func (b body) talk() *conversation.Conversation { return conversation.Read(b.Messages) }

// pad stands for so many bytes of text in the data files: PAD(600).
var pad = regexp.MustCompile(`PAD\((\d+)\)`)

func padded(text string) string {
	return pad.ReplaceAllStringFunc(text, func(mark string) string {
		n, _ := strconv.Atoi(pad.FindStringSubmatch(mark)[1])
		return strings.Repeat("lorem ipsum ", n/12+1)[:n]
	})
}

// unpadded puts the marks back in the place of what they stand for in a text.
func unpadded(text, original string) string {
	for _, mark := range pad.FindAllString(original, -1) {
		text = strings.ReplaceAll(text, padded(mark), mark)
	}
	return text
}

func archives(t *testing.T, dir string) map[string]*txtar.Archive {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files of %s, %v, want some", len(files), dir, err)
	}
	all := map[string]*txtar.Archive{}
	for _, file := range files {
		if all[file], err = txtar.ParseFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestHistories plays the requests of each file of testdata/history in their order. Each
// section is a request; its name is the tenant, and behind a space what the request has
// changed, if anything.
func TestHistories(t *testing.T) {
	t.Parallel()
	for file, a := range archives(t, "history") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			h := hint.NewHistories()
			for i, f := range a.Files {
				tenant, want, _ := strings.Cut(f.Name, " ")
				b := parse(t, padded(string(f.Data)))
				got := ""
				if c := h.See([]string{tenant, "route"}, b.Tools, b.talk()); c != nil {
					got = c.String()
				}
				if got != want {
					t.Errorf("request %d: got %q, want %q", i+1, got, want)
				}
			}
		})
	}
}

// TestMarks puts marks into the requests of testdata/marks. A comment's line "own: 1" says
// how many messages at the end are the gateway's, "least: 1024" how many tokens a prompt
// has at least.
func TestMarks(t *testing.T) {
	t.Parallel()
	for file, a := range archives(t, "marks") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			set := map[string]int{}
			for _, m := range regexp.MustCompile(`(?m)^(own|least): (\d+)$`).FindAllStringSubmatch(string(a.Comment), -1) {
				set[m[1]], _ = strconv.Atoi(m[2])
			}
			original := string(a.Files[0].Data)
			out := txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
			for name, form := range map[string]hint.Form{"members.json": hint.Members, "parts.json": hint.Parts} {
				b := parse(t, padded(original))
				r := hint.Request{Tools: b.Tools, Talk: b.talk(), Own: set["own"]}
				tools, messages := hint.Marks(r, form, set["least"])
				got := pretty(t, map[string]json.RawMessage{"tools": apply(b.Tools, tools), "messages": apply(b.Messages, messages)})
				got = unpadded(got, original)
				if want := section(a, name); !*update && got != want {
					t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
				}
				out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(got)})
			}
			if *update {
				if out.Files[1].Name > out.Files[2].Name {
					out.Files[1], out.Files[2] = out.Files[2], out.Files[1]
				}
				if err := os.WriteFile(file, txtar.Format(&out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// pretty writes a request with a message a line.
func pretty(t *testing.T, b map[string]json.RawMessage) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{"tools", "messages"} {
		fmt.Fprintln(&out, name)
		if b[name] == nil {
			continue
		}
		if !jsontext.Value(b[name]).IsValid() {
			t.Errorf("got %s, want JSON", b[name])
		}
		wire.Elements(b[name], 0, func(_ int, at wire.Span) bool {
			fmt.Fprintf(&out, "  %s\n", at.Of(b[name]))
			return true
		})
	}
	return out.String()
}

// apply returns a text with edits, which are in its order.
func apply(text []byte, edits []wire.Edit) []byte {
	var out []byte
	from := 0
	for _, e := range edits {
		out = append(append(out, text[from:e.At.Start]...), e.With...)
		from = e.At.End
	}
	return append(out, text[from:]...)
}
