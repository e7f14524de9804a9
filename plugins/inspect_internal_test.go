package plugins

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	wasm := pluginstest.Guest{
		Imports: []pluginstest.Import{{Module: "m", Name: "f", Params: "iI", Results: "i"}},
		Customs: [][2]string{{"other", "x"}, {abi.ManifestSection, "{}"}},
	}.Wasm()
	got, err := meter.Inspect(wasm, abi.ManifestSection)
	if err != nil {
		t.Fatal(err)
	}
	if want := []meter.Import{{Module: "m", Name: "f", Type: "func(i32, i64) i32"}}; !slices.Equal(got.Imports, want) {
		t.Errorf("imports: got %v, want %v", got.Imports, want)
	}
	for _, want := range required {
		if got := got.Exports[want.name]; got != want.kind {
			t.Errorf("export %s: got %v, want %s", want.name, got, want.kind)
		}
	}
	if string(got.Custom) != "{}" {
		t.Errorf("manifest: got %q", got.Custom)
	}
}

// Nothing of a module is there once for each of those that refer to it, and what is said of it is
// no longer than one reads: a file of a megabyte took all memory of the process that looked at it.
func TestInspectIsBounded(t *testing.T) {
	t.Parallel()
	const many = 2000
	var exports, imports []byte
	for i := range many {
		name := []byte{3, 'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676)}
		exports = append(append(exports, name...), 0, 0)
		imports = append(append(append(imports, name...), 0), 0, 0)
	}
	section := func(wasm []byte, id byte, n int, body []byte) []byte {
		body = append(binary.AppendUvarint(nil, uint64(n)), body...)
		return append(binary.AppendUvarint(append(wasm, id), uint64(len(body))), body...)
	}
	params := append(binary.AppendUvarint([]byte{0x60}, 10*many), bytes.Repeat([]byte{0x7f}, 10*many)...)
	wasm := section([]byte("\x00asm\x01\x00\x00\x00"), 1, 1, append(params, 0))
	wasm = section(section(wasm, 2, many, imports), 7, many, exports)
	s, err := meter.Inspect(wasm, abi.ManifestSection)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Imports) != many || len(s.Exports) != many {
		t.Fatalf("got %d imports and %d exports, want %d", len(s.Imports), len(s.Exports), many)
	}
	for _, kind := range []string{s.Imports[0].Type, s.Exports["aaa"]} {
		if len(kind) > 200 || !strings.HasPrefix(kind, "func(i32, i32, ") {
			t.Errorf("the type is %.300s (%d bytes), want its beginning", kind, len(kind))
		}
	}
	if reason := checkImports(s); len(reason) > 2000 || !strings.Contains(reason, "aaa., ") || !strings.HasSuffix(reason, " and 1990 more") {
		t.Errorf("the reason is %.300s (%d bytes), want the first of the imports", reason, len(reason))
	}
}

// FuzzInspect checks that no bytes make it panic, loop or allocate without bound.
func FuzzInspect(f *testing.F) {
	f.Add(pluginstest.Guest{}.Wasm())
	f.Add(pluginstest.Guest{Customs: [][2]string{{abi.ManifestSection, "{}"}}, Imports: []pluginstest.Import{{Module: "m", Name: "f"}}}.Wasm())
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x01\x06\xff\xff\xff\xff\x0f\x60"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if s, err := meter.Inspect(b, abi.ManifestSection); err == nil {
			_ = checkModule(s)
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(pluginstest.Manifest("a", "b")))
	f.Add([]byte(`{"abi":1,"name":"n","version":"1","parsers":[{"name":"p","version":"1","priority":50,"starts":["{"]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseManifest(b)
		if err == nil && (m.ABI != abi.Version || len(m.Parsers) == 0) {
			t.Errorf("accepted %q", b)
		}
	})
}
