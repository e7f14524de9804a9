package pluginstest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// WithManifest is a module with this manifest.
func WithManifest(s string) []byte { return Guest{Manifest: s}.Wasm() }

// WithParser is a manifest whose parser has these fields beyond the needed ones.
func WithParser(fields string) []byte {
	return WithManifest(`{"abi":1,"name":"n","version":"1","parsers":[{"name":"p","version":"1","priority":50` + fields + `}]}`)
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

// Refused is a module that a gateway does not load.
type Refused struct {
	Name string
	Wasm []byte
	Want string // in the reason
}

// RefusedModules are modules that are no plugins, in every way that there is.
func RefusedModules() []Refused { return slices.Concat(refusedModules(), refusedManifests()) }

// refusedModules are wrong before their manifest is read.
func refusedModules() []Refused {
	good := Guest{}.Wasm()
	start := FeedFunc
	return []Refused{
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
		{"unknown function of WASI", Guest{Imports: WASI("sock_open", "ii")}.Wasm(), "wasi_snapshot_preview1.sock_open"},
		{"wrong signature of WASI", Guest{Imports: WASI("fd_write", "ii")}.Wasm(),
			"import wasi_snapshot_preview1.fd_write is func(i32, i32) i32, want func(i32, i32, i32, i32) i32"},
		{"too much memory", Module{
			Memory: &Memory{Name: "memory", Min: 1000}, Funcs: exports(),
		}.Wasm(), "it needs 65536000 bytes of memory, the limit is 33554432"},
		{"trap in start", Guest{Start: &start, Funcs: []Func{{Name: "s", Body: Code(Unreachable)}}}.Wasm(), "plugin bad: "},
		{"trap in _initialize", Guest{Funcs: []Func{{Name: "_initialize", Body: Code(Unreachable)}}}.Wasm(), "_initialize: failed: wasm error: unreachable"},
		{"loop in _initialize", Guest{Funcs: []Func{{Name: "_initialize", Body: Endless()}}}.Wasm(), "_initialize: stopped after 2s"},
		{"no buffer", Guest{Funcs: []Func{{Name: abi.ExportAlloc, Params: "i", Results: "i", Body: Const(0)}}}.Wasm(), "its buffer of 65536 bytes is outside of its memory"},
		{"buffer out of bounds", Guest{Funcs: []Func{{Name: abi.ExportAlloc, Params: "i", Results: "i", Body: Const(BufferAt + 0x10001)}}}.Wasm(), "its buffer of 65536 bytes is outside of its memory"},
	}
}

// refusedManifests are modules that start, with something wrong in their manifest.
func refusedManifests() []Refused {
	return []Refused{
		{"manifest is empty", WithManifest(" "), "manifest: EOF"},
		{"manifest is no JSON", WithManifest("hello"), "manifest: invalid character"},
		{"manifest is out of bounds", Guest{Funcs: []Func{{Name: abi.ExportManifest, Results: "I", Body: Const64(abi.Pack(1<<30, 5))}}}.Wasm(), "manifest: its result is outside of its memory"},
		{"manifest ends early", WithManifest(`{"abi":1,"name":"n"`), "manifest: unexpected EOF"},
		{"two manifests", WithManifest(Manifest("a") + Manifest("b")), "manifest: more after the JSON object"},
		{"two manifest sections", Guest{Customs: [][2]string{{abi.ManifestSection, "{}"}, {abi.ManifestSection, "{}"}}}.Wasm(), "two sections callgate.manifest"},
		{"bad manifest section", Guest{Customs: [][2]string{{abi.ManifestSection, "{}"}}}.Wasm(), "manifest: abi is 0, want 1"},
		{"manifest is not UTF-8", WithManifest(Manifest("a\xff")), "manifest: not valid UTF-8"},
		{"manifest is too long", WithManifest(Manifest("a") + strings.Repeat(" ", 257<<10)), "plugin bad: "},
		{"unknown key", WithParser(`,"color":"red"`), `manifest: json: unknown field "color"`},
		{"manifest of ABI 2", WithManifest(strings.Replace(Manifest("a"), `"abi":1`, `"abi":2`, 1)), "manifest: abi is 2, want 1"},
		{"no version", WithManifest(strings.Replace(Manifest("a"), `"version":"1.0.0"`, `"version":""`, 1)), "manifest: version:"},
		{"no parsers", WithManifest(Manifest()), "manifest: 0 parsers, want 1 to 128"},
		{"too many parsers", WithManifest(manyParsers(129)), "manifest: 129 parsers, want 1 to 128"},
		{"upper case", WithManifest(Manifest("Hand")), `manifest: parser 0 ("Hand"): name: "Hand" is not`},
		{"no name", WithManifest(Manifest("")), "manifest: parser 0"},
		{"same name twice", WithManifest(Manifest("a", "b", "a")), `manifest: parser 2: name "a" is used twice`},
		{"priority 0", WithManifest(strings.Replace(Manifest("a"), `"priority":50`, `"priority":0`, 1)), "priority is 0, want 1 to 100"},
		{"priority 101", WithManifest(strings.Replace(Manifest("a"), `"priority":50`, `"priority":101`, 1)), "priority is 101, want 1 to 100"},
		{"short trigger", WithParser(`,"triggers":["<"]`), `triggers: "<" is not 2 to 64 bytes`},
		{"long trigger", WithParser(`,"triggers":["` + strings.Repeat("<", 65) + `"]`), "is not 2 to 64 bytes"},
		{"long example", WithParser(`,"example":"` + strings.Repeat("x", 257) + `"`), "is not 1 to 256 bytes"},
		{"many triggers", WithParser(`,"triggers":[` + strings.Repeat(`"<a>",`, 64) + `"<a>"]`), "65 triggers, at most 64 are allowed"},
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
