package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestSettingsPage holds that docs/settings.md is what the program says of its keys, flags and
// environment variables.
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	printedPage(t, "settings.md", "check", "--reference")
}

// printedPage holds that a page of the documents is what a command prints.
func printedPage(t *testing.T, name string, args ...string) {
	t.Helper()
	page := filepath.Join("..", "..", "docs", name)
	status, want, stderr := command(t, "", args...)
	if status != exitOK {
		t.Fatalf("got exit status %d: %s", status, stderr)
	}
	if *update {
		put(t, page, want)
		return
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Errorf("docs/%s is not what bin/callgate %s prints (%v); make golden writes it anew", name, strings.Join(args, " "), err)
	}
}

// TestServeVariables holds that each flag of serve has an environment variable with its name.
func TestServeVariables(t *testing.T) {
	t.Parallel()
	k, err := kong.New(&cli{}, commandLine()...)
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, leaf := range k.Model.Leaves(true) {
		if leaf.Name != "serve" {
			continue
		}
		for _, f := range leaf.Flags {
			flags++
			if want := "CALLGATE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")); len(f.Tag.Envs) != 1 || f.Tag.Envs[0] != want {
				t.Errorf("got the variables %v of --%s, want %s", f.Tag.Envs, f.Name, want)
			}
		}
	}
	if flags < 10 {
		t.Errorf("got %d flags, want more: are they found?", flags)
	}
}

// TestVariables starts the gateway by environment variables alone: they win over the file, a flag
// wins over them, and one that is empty is none.
func TestVariables(t *testing.T) {
	file := configFile(t, `{listen: "127.0.0.1:1", admin: {listen: "127.0.0.1:3"}, log: {level: error}, providers: {demo: {type: demo}}}`)
	t.Setenv("CALLGATE_CONFIG", file)
	t.Setenv("CALLGATE_LISTEN", "127.0.0.1:2") // the harness has the flag
	t.Setenv("CALLGATE_ADMIN", "127.0.0.1:0")
	t.Setenv("CALLGATE_LOG_LEVEL", "info")
	t.Setenv("CALLGATE_LOG_FORMAT", "text")
	t.Setenv("CALLGATE_RELOAD", "off")
	t.Setenv("CALLGATE_UPSTREAM", "")
	t.Setenv("CALLGATE_PARSER", "")
	t.Setenv("CALLGATE_TOOLS", "")
	t.Setenv("CALLGATE_RAW_TOOL_TEXT", "")
	g := serve(t, "")
	if r := g.adminDo("POST", "/admin/reload"); r.status != 400 || !strings.Contains(r.body, "reload: off") {
		t.Errorf("got status %d, %q from the admin listener, want that reload is off", r.status, r.body)
	}
	await(t, "a line of the log, as text and of the level info", func() bool { return strings.Contains(g.stderr.String(), "level=INFO msg=ready") })
	if got := g.chat(prompt("demo/hermes", "hi", false)); got.status != 200 {
		t.Errorf("got status %d, want the file's provider", got.status)
	}

	t.Setenv("CALLGATE_CONFIG", "/nowhere/callgate.yaml")
	if status, _, stderr := command(t, "", "serve"); status != exitUsage || !strings.Contains(stderr, "/nowhere/callgate.yaml") {
		t.Errorf("got exit status %d, %q, want that the variable's file is not there", status, stderr)
	}
	t.Setenv("CALLGATE_CONFIG", "")
	t.Setenv("CALLGATE_LOG_LEVEL", "loud")
	if status, _, stderr := command(t, "", "serve"); status != exitUsage || !strings.Contains(stderr, "loud") {
		t.Errorf("got exit status %d, %q, want that the variable's word is refused", status, stderr)
	}
}

// TestStoreAway holds that a gateway whose database is away ends with another status than one whose file is
// wrong: systemd starts it again, see deploy/systemd.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	for _, section := range []string{"store: {kind: postgres, ", "usage: {store: postgres, "} {
		file := configFile(t, section+"url: \"postgres://u@127.0.0.1:1/d\"}\nadmin: {listen: \"off\"}\n")
		status, _, stderr := command(t, "", "serve", "--listen", "127.0.0.1:0", "-c", file)
		if status != exitFailed || !strings.Contains(stderr, "start it, or correct the URL") || strings.Count(stderr, "refused") != 1 {
			t.Errorf("%s: got exit status %d, %q; want 1, and once that nobody is there", section, status, stderr)
		}
	}
}

// TestCheckMakesNothing holds that a check neither makes the files of a ledger nor asks for its database.
func TestCheckMakesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, usage := range []string{
		fmt.Sprintf("{store: sqlite, path: %q, journal: %q}", filepath.Join(dir, "usage.db"), filepath.Join(dir, "journal")),
		`{store: postgres, url: "postgres://u@127.0.0.1:1/d"}`,
	} {
		if status, _, stderr := command(t, "", "check", configFile(t, "usage: "+usage+"\n")); status != exitOK {
			t.Errorf("%s: got exit status %d, %s", usage, status, stderr)
		}
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
		t.Errorf("got the files %v, %v; want none", made, err)
	}
}
