package history_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/history"
)

// goldenCase is a file of testdata: what it shows, a line "needs: …", a line
// "repairs: …", and the messages before and after. Without the latter they must
// stay as they are.
type goldenCase struct {
	needs   history.Needs
	repairs string
	in, out []byte
}

func readCase(t *testing.T, file string) goldenCase {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c goldenCase
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "needs":
			c.needs = parseNeeds(t, value)
		case "repairs":
			c.repairs = strings.TrimSpace(value)
		}
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "in.json":
			c.in = f.Data
		case "out.json":
			c.out = f.Data
		default:
			t.Fatalf("got a file %q, want in.json or out.json", f.Name)
		}
	}
	if c.out == nil {
		c.out = c.in
	}
	return c
}

func parseNeeds(t *testing.T, words string) (n history.Needs) {
	t.Helper()
	for word := range strings.FieldsSeq(words) {
		switch word {
		case "arguments":
			n.Arguments = true
		case "pairs":
			n.Pairs = true
		default:
			form, ok := forms[word]
			if !ok {
				t.Fatalf("got the need %q, want one there is", word)
			}
			n.IDs = form
		}
	}
	return n
}

var forms = map[string]history.IDForm{
	"any": history.AnyID, "kimi": history.KimiID, "anthropic": history.AnthropicID,
	"short": history.ShortID, "mistral": history.MistralID,
}

func list(repairs map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(repairs)) {
		parts = append(parts, fmt.Sprintf("%s=%d", kind, repairs[kind]))
	}
	return strings.Join(parts, " ")
}

func TestRepair(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d cases and the error %v, want some", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			c := readCase(t, file)
			if !jsontext.Value(c.in).IsValid() {
				t.Fatal("in.json is not valid")
			}
			before := string(c.in)
			edits, repairs, _ := history.Repair(conversation.Read(c.in), c.needs, mend)
			if string(c.in) != before {
				t.Fatal("the client's bytes were written to")
			}
			if got := apply(c.in, edits); string(got) != string(c.out) {
				t.Errorf("got  %swant %s", got, c.out)
			}
			if got := list(repairs); got != c.repairs {
				t.Errorf("got the repairs %q, want %q", got, c.repairs)
			}
			if !jsontext.Value(c.out).IsValid() {
				t.Error("out.json is not valid")
			}
			if edits, repairs, _ := history.Repair(conversation.Read(c.out), c.needs, mend); len(edits) > 0 || repairs != nil {
				t.Errorf("a second repair: got %d edits, %v, want none", len(edits), repairs)
			}
		})
	}
}
