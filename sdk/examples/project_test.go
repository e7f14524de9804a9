package examples_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/guests"
	"github.com/callgate/callgate/internal/install"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/author"
	"github.com/callgate/callgate/plugins/pluginstest"
)

// folders are those that a new project is made of, by its language.
var folders = map[string]map[string]string{
	author.Go:             {"starter": ""},
	author.Rust:           {"lines-rust": "", "cases": "testdata/"},
	author.C:              {"lines-c": "", "cases": "testdata/"},
	author.AssemblyScript: {"lines-assemblyscript": "", "cases": "testdata/"},
}

// TestProjectsAreTheExamples holds that a new project is the example that is tested here, with
// another name and nothing else: no file more, none less.
func TestProjectsAreTheExamples(t *testing.T) {
	t.Parallel()
	for _, language := range author.Languages() {
		dir := filepath.Join(t.TempDir(), "nova_2")
		if err := author.New(dir, "nova_2", language); err != nil {
			t.Fatal(err)
		}
		got, want := texts(t, dir), map[string]string{}
		for from, to := range folders[language] {
			for name, text := range texts(t, from) {
				want[to+name] = strings.ReplaceAll(text, parser, "nova_2")
			}
		}
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s: %s is not that of the example", language, name)
			}
		}
		for name := range got {
			sdk := strings.HasPrefix(name, "third_party/") || name == "go.mod"
			if _, ok := want[name]; !ok && (language != author.Go || !sdk) {
				t.Errorf("%s: %s is not in the example", language, name)
			}
		}
	}
}

// texts are the files of a folder by their paths, without what a build has left there, and
// without the answers in cases/texts.
func texts(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	folder := os.DirFS(root)
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "build" || name == "node_modules" || name == "target" || name == "texts"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) == ".wasm":
			return nil
		}
		text, err := fs.ReadFile(folder, name)
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// least are parsers that use as little of the ABI's file as a parser can: they give every region
// back.
var least = map[string]map[string]string{
	author.Rust: {"src/lib.rs": `mod callgate;

use callgate::{Kind, Options, Out, Parser, Plugin, Verdict};

pub static PLUGIN: Plugin = Plugin {
    manifest: r#"{"abi": 1, "name": "least", "version": "1.0.0", "parsers": [{"name": "least", "version": "1.0.0", "priority": 1, "triggers": ["<<<"]}]}"#,
    parsers: &[Kind { can_parse: |_| Verdict::No, open: |_: Options| Box::new(Least(0)) }],
};

struct Least(usize);

impl Parser for Least {
    fn feed(&mut self, text: &[u8], _: &mut Out) {
        self.0 += text.len();
    }

    fn finish(&mut self, _: bool, out: &mut Out) {
        out.malformed(0, self.0);
    }
}
`},
	author.C: {"parser.c": `#include "callgate.h"

typedef struct {
  events *out;
  u32 pos;
} least;

static int can_parse(const byte *head, u32 n) { return n && !*head ? YES : NO; }

static void begin(void *state, events *out, const options *o) {
  ((least *)state)->out = out;
  (void)o;
}

static void feed(void *state, const byte *text, u32 n) {
  (void)text;
  ((least *)state)->pos += n;
}

static void finish(void *state, int reason) {
  (void)reason;
  malformed(((least *)state)->out, 0, ((least *)state)->pos);
}

static const parser parsers[] = {{can_parse, begin, feed, finish, sizeof(least)}};
const plugin callgate_plugin = {
    "{\"abi\": 1, \"name\": \"least\", \"version\": \"1.0.0\", \"parsers\": [{\"name\": \"least\", \"version\": \"1.0.0\","
    "\"priority\": 1, \"triggers\": [\"<<<\"]}]}", parsers, 1};
`},
	author.AssemblyScript: {"assembly/index.ts": `import { Kind, Parser, plugin } from "./callgate";
export {
  callgate1_alloc, callgate1_can_parse, callgate1_close, callgate1_feed, callgate1_finish, callgate1_manifest, callgate1_open,
} from "./callgate";

class Least extends Parser {
  private pos: u32 = 0;

  reset(): void {
    this.pos = 0;
  }

  feed(text: usize, n: u32): void {
    this.pos += n;
  }

  finish(cut: bool): void {
    this.out.malformed(0, this.pos);
  }
}

plugin(
  '{"abi": 1, "name": "least", "version": "1.0.0", "parsers": [{"name": "least", "version": "1.0.0", "priority": 1, "triggers": ["<<<"]}]}',
  [new Kind((head: usize, n: u32): i32 => 0, (): Parser => new Least())],
);
`, "assembly/parser.ts": ""},
}

// build builds a project with what is installed for its language, and returns what the compiler
// says too.
func build(t *testing.T, dir, language string) (wasm []byte, said string) {
	t.Helper()
	env, err := guests.Prepare(t.Context(), dir, language)
	install.Need(t, err, requireToolchains)
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	var warnings bytes.Buffer
	wasm, err = author.Build(t.Context(), dir, &warnings)
	if err != nil {
		t.Fatalf("%#v", err)
	}
	return wasm, warnings.String()
}

// TestNoWarnings builds a new project, and one whose parser uses hardly anything of the ABI's
// file: the compiler says nothing, and the gateway loads what it makes.
func TestNoWarnings(t *testing.T) {
	for _, language := range author.Languages()[1:] { // package author's tests vet one in Go
		for _, change := range []map[string]string{nil, least[language]} {
			name := map[bool]string{true: "least", false: "as it is"}[change != nil]
			t.Run(language+"/"+name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), parser)
				if err := author.New(dir, parser, language); err != nil {
					t.Fatal(err)
				}
				for file, text := range change {
					if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				wasm, said := build(t, dir, language)
				if said != "" {
					t.Errorf("the compiler says:\n%s", said)
				}
				h, err := plugins.New(t.Context(), plugins.Config{CacheDir: pluginstest.CacheDir(t)})
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close(context.WithoutCancel(t.Context()))
				if err := h.Load(t.Context(), plugins.Source{Name: "plugin.wasm", Wasm: wasm}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
