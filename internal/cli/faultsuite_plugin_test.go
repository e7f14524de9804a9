package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// hostilePlugins are parsers that do harm with the first text that they are given, by
// name, and what is said of each.
func hostilePlugins() map[string]struct {
	guest Guest
	says  string
} {
	forever := func(code ...any) []byte { return Code(Loop, Void, Code(code...), Br, 0, End, Unreachable) }
	grow := Code(Loop, Void, Const(64), MemoryGrow, 0, Const(-1), Eq, If, Void, Unreachable, End, Br, 0, End, Unreachable)
	return map[string]struct {
		guest Guest
		says  string
	}{
		"loops":     {Guest{Funcs: []Func{Feed(forever())}}, "time_limit"},
		"allocates": {Guest{Funcs: []Func{Feed(grow)}}, "memory_limit"},
		"traps":     {Guest{Funcs: []Func{Feed(Unreachable)}}, "trap"},
		"shouts":    {Guest{Funcs: []Func{Feed(Const(160), MemoryGrow, 0, Drop, Const64(abi.Pack(0, 9<<20)))}}, "output_limit"},
		"lies":      {Guest{Raw: "\x63\x01\x02"}, "bad_events"},
		"points":    {Guest{Funcs: []Func{Feed(Const64(abi.Pack(0x7fffffff, 8)))}}, "bad_pointer"},
	}
}

// TestFaultSuitePlugins has text come to plugins that loop, take all memory or break in
// other ways (17). The client gets the text as the model wrote it, the call in front of
// it, and the name of the plugin with what was wrong, and no other's. One that goes on
// failing is left out, and the built-in parsers are not.
func TestFaultSuitePlugins(t *testing.T) {
	t.Parallel()
	for name, p := range hostilePlugins() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, text := t.TempDir(), " Before <"+name+"> and after."
			p.guest.Manifest = Manifest(name)
			if err := os.WriteFile(filepath.Join(dir, name+".wasm"), p.guest.Wasm(), 0o600); err != nil {
				t.Fatal(err)
			}
			var s setup
			fmt.Fprintf(&s.head, "plugins: {dir: %q, limits: {time: 200ms, total: 1s}, quarantine: {failures: 4}}\n", dir)
			s.provider("healthy", well(t).url, "parser: auto")
			s.provider("up", either(t, role+stream(hermesCall+text), completion(hermesCall+text)).url, fmt.Sprintf("parser: [%s, hermes]", name))
			g := serve(t, s.String())
			want := said{content: strings.TrimSpace(text), finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}}
			for i := range 6 {
				stream, warning := i%2 == 0, "plugin:"+name+":"+p.says
				if i >= 4 {
					warning = "plugin:" + name + ":quarantined"
				}
				r := g.chat(prompt("up/m", "hi", stream))
				clean(t, r)
				got, warnings := understood(t, r, stream)
				got.content = strings.TrimSpace(got.content)
				got.same(t, want)
				if warnings != warning {
					t.Errorf("request %d: got warnings %q, want %q", i, warnings, warning)
				}
			}
			healthyAnswer(t, g.chat(prompt("healthy/m", "hi", true)), true)
		})
	}
}

// understood is what a client understands of an answer, and what it is warned of.
func understood(t *testing.T, r result, stream bool) (got said, warnings string) {
	t.Helper()
	if !stream {
		return whole(t, r.body), r.header.Get("x-callgate-warnings")
	}
	_, comment, _ := strings.Cut(r.body, ": callgate ")
	comment, _, _ = strings.Cut(comment, "\n")
	for field := range strings.FieldsSeq(comment) {
		if list, ok := strings.CutPrefix(field, "warnings="); ok {
			warnings = list
		}
	}
	return streamed(t, r.body), warnings
}
