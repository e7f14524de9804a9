package examples_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/author"
	"github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/plugins/trial"
	"github.com/callgate/callgate/sdk/abi"
)

// TestMistakes makes mistakes of authors in new projects, without a case that shows them: each
// gives one line that says what is wrong.
func TestMistakes(t *testing.T) {
	for _, m := range []struct{ name, language, file, from, to, want string }{
		{"no handle is freed", author.C, "callgate.h", "regions[handle].used = 0;", ";", "regions of my_model, 40 regions in a row, "},
		{"alloc gives less than it is asked for", author.C, "callgate.h", "size = n > MAX_FEED ? n : MAX_FEED;", "size = MAX_FEED;", "regions of my_model, a region whose tools take 100 KB, "},
		{"a state for all regions", author.C, "callgate.h", "if (r->by->size > r->size) r->state = room_of_state(r->size = r->by->size);", "static byte *all; if (!all) all = room_of_state(r->by->size); r->state = all;", "regions of my_model, two regions side by side, "},
		{"a key comes twice", author.C, "parser.c", "same(r->key[i] + 1, r->head, n)) return 0;", "same(r->key[i] + 1, r->head, n)) break;", `arguments of my_model, an argument that comes twice, "@@call get_weather\ncity: Oslo\ncity: Oslo\n@@end"`},
		{"nothing is escaped", author.C, "parser.c", "arg_escaped(r->out", "arg(r->out", "arguments of my_model, "},
		{"a key comes twice", author.Rust, "src/lib.rs", " || self.keys.contains(&key)", "", `the arguments have the key "city" twice`},
		{"a number is what looks like one", author.Rust, "src/lib.rs", "n == 0 || n > 1 && b[0] == b'0'", "n == 0", "arguments of my_model, a value that is no JSON as it is, "},
		{"a call is complete at the output's end", author.Rust, "src/lib.rs", "if self.open && cut {", "if self.open && !cut { self.end_call(out); out.end(self.pos); } else if self.open {", "complete nothing that the model did not write"},
		{"a call is void at its own end", author.AssemblyScript, "assembly/parser.ts", "finish(cut: bool): void {\n    if (this.open && cut)", "finish(cut: bool): void {\n    if (this.open)", "give it back as malformed"},
		{"something of a region stays", author.AssemblyScript, "assembly/parser.ts", "    this.inValue = this.open = this.fresh = false;\n", "", "regions of my_model, a region behind one that was left half read, "},
	} {
		t.Run(m.language+"/"+m.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), parser)
			if err := author.New(dir, parser, m.language); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, filepath.FromSlash(m.file))
			text, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(text, []byte(m.from)) {
				t.Fatalf("got %v, want %s with %q", err, m.file, m.from)
			}
			if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(m.from), []byte(m.to)), 0o600); err != nil {
				t.Fatal(err)
			}
			wasm, _ := build(t, dir, m.language)
			report, err := trial.Run(t.Context(), trial.Config{
				Plugin: plugins.Source{Name: "plugin.wasm", Wasm: wasm}, CacheDir: pluginstest.CacheDir(t),
				Read: func(ctx context.Context, s *plugins.Session, p *abi.Parser, opts abi.Options, text string) []string {
					return chain.ReadAlone(ctx, chain.Runs(s), p, opts, text).Warnings
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Failures) != 1 || !strings.Contains(report.Failures[0].String(), m.want) {
				t.Errorf("got %v\nwant one line with %q", report.Failures, m.want)
			}
		})
	}
}
