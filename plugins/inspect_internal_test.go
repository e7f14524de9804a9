package plugins

import (
	"slices"
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
