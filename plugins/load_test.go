package plugins_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// withManifest is a module with this manifest.
func withManifest(s string) []byte { return Guest{Manifest: s}.Wasm() }

// withParser is a manifest whose parser has these fields beyond the needed ones.
func withParser(fields string) []byte {
	return withManifest(`{"abi":1,"name":"n","version":"1","parsers":[{"name":"p","version":"1","priority":50` + fields + `}]}`)
}

func asVersion(v string, wasm []byte) []byte {
	return []byte(strings.ReplaceAll(string(wasm), "callgate1_", "callgate"+v+"_"))
}

func manyParsers(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("p", i))
	}
	return Manifest(names...)
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	good := Guest{}.Wasm()
	start := feedFunc
	tests := []struct {
		name string
		wasm []byte
		want string // in the error
	}{
		{"empty file", nil, "not a valid WebAssembly module"},
		{"text", []byte("#!/bin/sh\necho hello\n"), "not a valid WebAssembly module"},
		{"truncated header", good[:6], "not a valid WebAssembly module"},
		{"truncated", good[:len(good)/2], "it ends early"},
		{"truncated section", good[:len(good)-1], "it ends early"},
		{"damaged code", []byte(strings.Replace(string(good), string(Const(BufferAt)), "\xff\xff\xff\xff", 1)), "plugin bad: "},
		{"no exports", Module{}.Wasm(), "not a parser plugin"},
		{"ABI 2", asVersion("2", good), "it speaks ABI 2, this gateway speaks 1: rebuild it"},
		{"missing exports", Module{
			Memory: &Memory{Name: "memory", Min: 1},
			Funcs:  []Func{{Name: abi.ExportManifest, Results: "I", Body: Const64(0)}},
		}.Wasm(), "missing exports: callgate1_alloc, callgate1_can_parse, callgate1_open, callgate1_feed, callgate1_finish, callgate1_close"},
		{"memory not exported", Guest{Without: abi.ExportMemory}.Wasm(), "missing exports: memory"},
		{"close missing", Guest{Without: abi.ExportClose}.Wasm(), "missing exports: callgate1_close"},
		{"wrong signature", Guest{Funcs: []Func{{Name: abi.ExportAlloc, Params: "I", Results: "i", Body: Const(0)}}}.Wasm(),
			"export callgate1_alloc is func(i64) i32, want func(i32) i32"},
		{"wrong signature of _initialize", Guest{Funcs: []Func{{Name: "_initialize", Results: "i", Body: Const(0)}}}.Wasm(),
			"export _initialize is func() i32, want func()"},
		{"command", Guest{Funcs: []Func{{Name: "_start"}}}.Wasm(), "it is a command"},
		{"import of a function", Guest{Imports: []Import{{Module: "env", Name: "abort", Params: "iiii"}}}.Wasm(),
			"it imports what a plugin does not get: env.abort"},
		{"import of the host's own", Guest{Imports: []Import{{Module: "callgate_host", Name: "yield", Results: "i"}}}.Wasm(), "callgate_host.yield"},
		{"unknown function of WASI", Guest{Imports: wasi("sock_open", "ii")}.Wasm(), "wasi_snapshot_preview1.sock_open"},
		{"wrong signature of WASI", Guest{Imports: wasi("fd_write", "ii")}.Wasm(),
			"import wasi_snapshot_preview1.fd_write is func(i32, i32) i32, want func(i32, i32, i32, i32) i32"},
		{"too much memory", Module{
			Memory: &Memory{Name: "memory", Min: 1000}, Funcs: exports(),
		}.Wasm(), "it needs 65536000 bytes of memory, the limit is 33554432"},
		{"trap in start", Guest{Start: &start, Funcs: []Func{{Name: "s", Body: Code(Unreachable)}}}.Wasm(), "plugin bad: "},
		{"trap in _initialize", Guest{Funcs: []Func{{Name: "_initialize", Body: Code(Unreachable)}}}.Wasm(), "_initialize: failed: wasm error: unreachable"},
		{"loop in _initialize", Guest{Funcs: []Func{{Name: "_initialize", Body: endless()}}}.Wasm(), "_initialize: stopped after 2s"},
		{"no buffer", Guest{Funcs: []Func{{Name: abi.ExportAlloc, Params: "i", Results: "i", Body: Const(0)}}}.Wasm(), "its buffer of 65536 bytes is outside of its memory"},
		{"buffer out of bounds", Guest{Funcs: []Func{{Name: abi.ExportAlloc, Params: "i", Results: "i", Body: Const(BufferAt + 0x10001)}}}.Wasm(), "its buffer of 65536 bytes is outside of its memory"},

		{"manifest is empty", withManifest(" "), "manifest: EOF"},
		{"manifest is no JSON", withManifest("hello"), "manifest: invalid character"},
		{"manifest is out of bounds", Guest{Funcs: []Func{{Name: abi.ExportManifest, Results: "I", Body: Const64(abi.Pack(1<<30, 5))}}}.Wasm(), "manifest: its result is outside of its memory"},
		{"manifest ends early", withManifest(`{"abi":1,"name":"n"`), "manifest: unexpected EOF"},
		{"two manifests", withManifest(Manifest("a") + Manifest("b")), "manifest: more after the JSON object"},
		{"two manifest sections", Guest{Customs: [][2]string{{abi.ManifestSection, "{}"}, {abi.ManifestSection, "{}"}}}.Wasm(), "two sections callgate.manifest"},
		{"bad manifest section", Guest{Customs: [][2]string{{abi.ManifestSection, "{}"}}}.Wasm(), "manifest: abi is 0, want 1"},
		{"manifest is not UTF-8", withManifest(Manifest("a\xff")), "manifest: not valid UTF-8"},
		{"manifest is too long", withManifest(Manifest("a") + strings.Repeat(" ", 257<<10)), "plugin bad: "},
		{"unknown key", withParser(`,"color":"red"`), `manifest: json: unknown field "color"`},
		{"manifest of ABI 2", withManifest(strings.Replace(Manifest("a"), `"abi":1`, `"abi":2`, 1)), "manifest: abi is 2, want 1"},
		{"no version", withManifest(strings.Replace(Manifest("a"), `"version":"1.0.0"`, `"version":""`, 1)), "manifest: version:"},
		{"no parsers", withManifest(Manifest()), "manifest: 0 parsers, want 1 to 128"},
		{"too many parsers", withManifest(manyParsers(129)), "manifest: 129 parsers, want 1 to 128"},
		{"upper case", withManifest(Manifest("Hand")), `manifest: parser 0 ("Hand"): name: "Hand" is not`},
		{"no name", withManifest(Manifest("")), "manifest: parser 0"},
		{"same name twice", withManifest(Manifest("a", "b", "a")), `manifest: parser 2: name "a" is used twice`},
		{"priority 0", withManifest(strings.Replace(Manifest("a"), `"priority":50`, `"priority":0`, 1)), "priority is 0, want 1 to 100"},
		{"priority 101", withManifest(strings.Replace(Manifest("a"), `"priority":50`, `"priority":101`, 1)), "priority is 101, want 1 to 100"},
		{"short trigger", withParser(`,"triggers":["<"]`), `triggers: "<" is not 2 to 64 bytes`},
		{"long trigger", withParser(`,"triggers":["` + strings.Repeat("<", 65) + `"]`), "is not 2 to 64 bytes"},
		{"long example", withParser(`,"example":"` + strings.Repeat("x", 257) + `"`), "is not 1 to 256 bytes"},
		{"many triggers", withParser(`,"triggers":[` + strings.Repeat(`"<a>",`, 64) + `"<a>"]`), "65 triggers, at most 64 are allowed"},
	}
	h := newHost(t, plugins.Config{})
	load(t, h, "good", good)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := h.Load(t.Context(), plugins.Source{Name: "bad", Wasm: tt.wasm})
			if _, ok := errors.AsType[*plugins.LoadError](err); !ok {
				t.Fatalf("got %v, want a *LoadError", err)
			}
			if got := err.Error(); !strings.Contains(got, tt.want) || !strings.HasPrefix(got, "plugin bad: ") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if _, err := feed(t, h, "hand", "x"); err != nil {
		t.Error(err)
	}
	if n := len(h.Modules()); n != 1 {
		t.Errorf("got %d modules, want 1", n)
	}
}

// exports are functions with the names and signatures of the default guest.
func exports() []Func {
	return []Func{
		{Name: abi.ExportManifest, Results: "I", Body: Const64(0)},
		{Name: abi.ExportAlloc, Params: "i", Results: "i", Body: Const(0)},
		{Name: abi.ExportCanParse, Params: "iii", Results: "i", Body: Const(0)},
		{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Const(0)},
		{Name: abi.ExportFeed, Params: "iii", Results: "I", Body: Const64(0)},
		{Name: abi.ExportFinish, Params: "ii", Results: "I", Body: Const64(0)},
		{Name: abi.ExportClose, Params: "i"},
	}
}

func TestLoadAccepts(t *testing.T) {
	t.Parallel()
	start := 7
	tests := []struct {
		name  string
		guest Guest
	}{
		{"plain", Guest{}},
		{"manifest in a section", Guest{
			Manifest: "not this one",
			Customs:  [][2]string{{abi.ManifestSection, Manifest("hand")}},
		}},
		// What start and _initialize write is in the memory of later instances too.
		{"start", Guest{Start: &start, Funcs: []Func{writeEvent("s")}}},
		{"_initialize", Guest{Funcs: []Func{writeEvent("_initialize")}}},
		// Segments and start are left in, so that every instance runs them.
		{"start in a module that names data segments", Guest{Start: &start, DataCount: true, Funcs: []Func{
			{Name: "s", Body: Code(Const(8), MemoryGrow, 0, Drop, Const(EventsAt), Const(1), Store, 2, 0, Const(0), Const(0), Const(0), 0xfc, 8, 0, 0)},
		}}},
		{"memory that grows at the start", Guest{Funcs: []Func{
			{Name: "_initialize", Body: Code(Const(8), MemoryGrow, 0, Drop)},
		}}},
		{"WASI", Guest{Imports: wasi("clock_time_get", "iIi")}},
		// Without the warm-up.
		{"trap on the sample", Guest{Globals: []int32{0}, Funcs: []Func{Feed(
			LocalGet, 2, Const(100), 0x4b, If, Void, Unreachable, End, Const64(0))}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, plugins.Config{Idle: 1})
			load(t, h, "hand.wasm", tt.guest.Wasm())
			sessions := []*plugins.Session{h.Session(), h.Session(), h.Session()} // at once, so that they need several instances
			for _, s := range sessions {
				defer s.Close()
				if _, err := feedIn(t.Context(), s, "hand", "x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func writeEvent(name string) Func {
	return Func{Name: name, Body: Code(Const(EventsAt), Const(1), Store, 2, 0)}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "b.wasm", withManifest(`{"abi":1,"name":"b","version":"2.0.0","parsers":[
		{"name":"low","version":"1.0.0","priority":1},
		{"name":"high","version":"1.0.0","priority":100,"aliases":["alias"],"triggers":["<high>"],"starts":["{"],"models":["b*"],"formats":["f"]}]}`))
	load(t, h, "a.wasm", Guest{Manifest: Manifest("y", "x"), Imports: wasi("sched_yield", "")}.Wasm())
	if _, err := feed(t, h, "high", "text"); err != nil {
		t.Error(err)
	}
	var got []string
	for _, p := range h.Parsers() {
		got = append(got, fmt.Sprintf("%s %d %s %s %d", p.Name, p.Priority, p.Plugin, p.State, p.Opened))
	}
	want := "high 100 b.wasm ok 1, x 50 a.wasm ok 0, y 50 a.wasm ok 0, low 1 b.wasm ok 0"
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	mods := h.Modules()
	if len(mods) != 2 || mods[0].Plugin != "b.wasm" || mods[1].Plugin != "a.wasm" {
		t.Fatalf("got %+v", mods)
	}
	m := mods[1]
	if want := "wasi_snapshot_preview1.sched_yield"; strings.Join(m.Imports, " ") != want {
		t.Errorf("imports: got %v, want %s", m.Imports, want)
	}
	if m.Funcs != 7 || m.MinPages != 3 || m.Pages != 3 || len(m.Exports) != 8 || len(m.SHA256) != 64 || m.Idle != 1 || m.InUse != 0 {
		t.Errorf("got %+v", m)
	}
}
