package conformance_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/callgate/callgate/conformance"
)

// update makes the tests write what they get into the files of want that a case has,
// in place of comparing. Each change is printed, to be read before it is committed.
var update = flag.Bool("update", false, "write the files of want that the cases have anew, and print what changes")

var rewriting sync.Mutex // the tests of the gateway and of the parsers write to the same files

// rewrite writes what a case's files of want should be, those that are there.
func rewrite(t *testing.T, c *conformance.Case, got map[string]string) {
	t.Helper()
	if len(got) == 0 {
		return
	}
	rewriting.Lock()
	defer rewriting.Unlock()
	file := filepath.Join("testdata", filepath.FromSlash(c.Name)+".txtar")
	if err := rewriteFile(file, got, os.Stdout); err != nil {
		t.Error(err)
	}
}

// rewriteFile is rewrite for one file; the changes go to log.
func rewriteFile(file string, got map[string]string, log *os.File) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	now := conformance.Rewrite(old, got)
	if bytes.Equal(old, now) {
		return nil
	}
	fmt.Fprintf(log, "%s", diff.Diff(file, old, file, now))
	return os.WriteFile(file, now, 0o600)
}

// TestRewrite checks that files of want are written anew if they are there and say
// something else, and that the others are left alone.
func TestRewrite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "case.txtar")
	if err := os.WriteFile(file, []byte(good+"-- want/events.txt --\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	got := map[string]string{
		"want/events.txt":    "content \"Hi.\"\n",
		"want/stream.jsonl":  "{}\n",                                                           // is not there
		"want/response.json": "{\n  \"content\": \"Hi.\",\n  \"finish_reason\": \"stop\"\n}\n", // is the same
	}
	for range 2 { // the second time there is nothing to change
		if err := rewriteFile(file, got, log); err != nil {
			t.Fatal(err)
		}
	}
	now, _ := os.ReadFile(file)
	if want := good + "-- want/events.txt --\ncontent \"Hi.\"\n"; string(now) != want {
		t.Errorf("got\n%s\nwant\n%s", now, want)
	}
	printed, _ := os.ReadFile(log.Name())
	if strings.Count(string(printed), "+content \"Hi.\"\n") != 1 {
		t.Errorf("the change is to be printed once:\n%s", printed)
	}
	got["want/response.json"] = "{\"content\": \"Ho.\", \"finish_reason\": \"stop\"}\n"
	if err := rewriteFile(file, got, log); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(file); !strings.Contains(string(now), got["want/response.json"]) {
		t.Errorf("another answer is not written:\n%s", now)
	}
}
