package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/guests"
	"github.com/callgate/callgate/internal/install"
	"github.com/callgate/callgate/plugins/author"
)

// TestPluginLanguages does in each language but Go, where TestReadmePlugin does so, what the
// README of a new project tells its author: from nothing but callgate and the toolchain to a
// request that only the new plugin can read.
func TestPluginLanguages(t *testing.T) {
	t.Parallel()
	for _, language := range author.Languages()[1:] {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t)
			w.sh(t, "bin/callgate plugin new my_model --lang "+language)
			project := filepath.Join(w.dir, "my_model")
			env, err := guests.Prepare(t.Context(), project, language)
			install.Need(t, err, "CALLGATE_REQUIRE_TOOLCHAINS")
			w.env = append(append(w.env, env...), w.toolchains(t)...)
			w.sh(t, "mkdir plugins.d")

			readme, err := os.ReadFile(filepath.Join(project, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(readme), "\n"); n > 60 {
				t.Errorf("the README has %d lines, want a screen", n)
			}
			blocks := codeIn(string(readme))
			curl := ""
			for _, block := range blocks {
				switch {
				case strings.HasPrefix(block, "@@call"):
				case strings.HasPrefix(block, "callgate serve"):
					_, curl, _ = strings.Cut(block, "\n")
				default:
					for command := range strings.Lines(block) {
						w.follow(t, command)
					}
				}
			}
			if !strings.HasPrefix(curl, "curl ") {
				t.Fatalf("got blocks %q, want a request", blocks)
			}
			address := w.serve(t)
			got := whole(t, w.sh(t, strings.ReplaceAll(curl, "127.0.0.1:8080", address)))
			got.same(t, said{finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}})
		})
	}
}

// toolchains are the variables by which the user's toolchains find what they have installed, and
// what they have built before: the workshop has a home of its own.
func (w *workshop) toolchains(t *testing.T) (env []string) {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir() // of the compiled parsers and of the C library; TestReadmePlugin has an empty one
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "XDG_CACHE_HOME="+cache)
	for name, folder := range map[string]string{"RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo"} {
		dir := os.Getenv(name)
		if dir == "" {
			dir = filepath.Join(home, folder)
		}
		env = append(env, name+"="+dir)
	}
	return env
}

// codeIn are the blocks of code of a text that stand indented in it, without that.
func codeIn(text string) (blocks []string) {
	block := ""
	for line := range strings.Lines(text + "\n.\n") {
		code, is := strings.CutPrefix(line, "    ")
		switch {
		case is:
			block += strings.TrimLeft(code, " ")
		case block != "" && strings.TrimSpace(line) != "":
			blocks, block = append(blocks, block), ""
		}
	}
	return blocks
}

// follow runs a command of a project's README in the project, and looks at what it prints. What
// an author has installed is there: the C compiler may be another one.
func (w *workshop) follow(t *testing.T, command string) {
	t.Helper()
	command = strings.TrimSpace(command)
	for _, v := range w.env {
		if cc, ok := strings.CutPrefix(v, "CC="); ok {
			if rest, is := strings.CutPrefix(command, "clang "); is {
				command = cc + " " + rest
			}
		}
	}
	events := filepath.Join(w.dir, "my_model", "testdata", "call.case")
	before, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	update := strings.Contains(command, "--update")
	if update { // the author has written a new case, without its events
		head, _, _ := strings.Cut(string(before), "-- events --")
		if err := os.WriteFile(events, []byte(strings.TrimSpace(head)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := w.sh(t, "PATH=$PWD/bin:$PATH; cd my_model; "+command)
	want := ""
	switch {
	case strings.HasPrefix(command, "callgate plugin build"):
		want = "parser my_model 0.1.0, priority 60"
	case strings.HasPrefix(command, "callgate plugin test"):
		want = "my_model keeps the contract"
	}
	if !strings.Contains(out, want) {
		t.Errorf("%s: got\n%s\nwant %q", command, out, want)
	}
	if after, err := os.ReadFile(events); err != nil || string(after) != string(before) {
		t.Errorf("%s: got %v and the case\n%s\nwant\n%s", command, err, after, before)
	}
	if want := "; events of 1 written"; update && !strings.Contains(out, want) {
		t.Errorf("%s: got\n%s\nwant %q", command, out, want)
	}
}
