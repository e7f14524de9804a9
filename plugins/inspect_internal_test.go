package plugins

import (
	"slices"
	"testing"

	"github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	wasm := pluginstest.Guest{
		Imports: []pluginstest.Import{{Module: "m", Name: "f", Params: "iI", Results: "i"}},
		Customs: [][2]string{{"other", "x"}, {abi.ManifestSection, "{}"}},
	}.Wasm()
	got, err := inspect(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if want := []external{{module: "m", name: "f", sig: "(i32, i64) i32"}}; !slices.Equal(got.imports, want) {
		t.Errorf("imports: got %v, want %v", got.imports, want)
	}
	for _, want := range required {
		if got := got.exports[want.name]; got.kind != want.kind || got.sig != want.sig {
			t.Errorf("export %s: got %v, want %s", want.name, got, want.sig)
		}
	}
	if string(got.manifest) != "{}" {
		t.Errorf("manifest: got %q", got.manifest)
	}
}

// FuzzInspect checks that no bytes make it panic, loop or allocate without bound.
func FuzzInspect(f *testing.F) {
	f.Add(pluginstest.Guest{}.Wasm())
	f.Add(pluginstest.Guest{Customs: [][2]string{{abi.ManifestSection, "{}"}}, Imports: []pluginstest.Import{{Module: "m", Name: "f"}}}.Wasm())
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x01\x06\xff\xff\xff\xff\x0f\x60"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if s, err := inspect(b); err == nil {
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
