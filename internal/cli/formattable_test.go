package cli

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the documents' tables anew")

// TestReadmeTable checks that the table in docs/formats.md is what the parsers say
// of themselves.
func TestReadmeTable(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/formats.md", "<!-- formats: ", "<!-- end of formats -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	line, rest, _ := strings.Cut(rest, "\n")
	table, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatal("docs/formats.md has no place for the table")
	}
	status, want, stderr := command(t, "", "plugin", "list", "--markdown")
	if status != 0 {
		t.Fatalf("got exit status %d: %s", status, stderr)
	}
	want = "\n" + want + "\n"
	if *update && table != want {
		if err := os.WriteFile(page, []byte(before+begin+line+"\n"+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table of docs/formats.md is not what bin/callgate plugin list --markdown prints; make golden writes it anew")
	}
}
