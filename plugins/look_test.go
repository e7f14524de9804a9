package plugins_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

func TestLook(t *testing.T) {
	t.Parallel()
	got := plugins.Look(Guest{Imports: WASI("fd_write", "iiii"), MaxPages: 9, Customs: [][2]string{{abi.ManifestSection, Manifest("packed")}},
		Funcs: []Func{Feed(Endless())}}.Wasm())
	if got.Refused != "" || got.ABI != 1 || got.MinPages != 3 || got.MaxPages != 9 || got.Packed == nil || got.Packed.Parsers[0].Name != "packed" {
		t.Errorf("got %+v, want a module that is not refused", got)
	}
	if want := []string{"wasi_snapshot_preview1.fd_write func(i32, i32, i32, i32) i32"}; !reflect.DeepEqual(got.Imports, want) {
		t.Errorf("got imports %q, want %q", got.Imports, want)
	}
	if want := "callgate1_feed func(i32, i32, i32) i64"; !strings.Contains(strings.Join(got.Exports, ", "), want) || len(got.Exports) != 8 {
		t.Errorf("got exports %q, want 8 with %s", got.Exports, want)
	}
	if m := got.Metered; m.Loops != 1 || m.Funcs != 7 || m.Before <= 0 || m.After <= m.Before {
		t.Errorf("got %+v, want counters in 7 functions and a loop, and more code", m)
	}
	if got := plugins.Look(asVersionTwo()); got.ABI != 2 || !strings.Contains(got.Refused, "it speaks ABI 2") {
		t.Errorf("got ABI %d and %q, want 2 and that it is another", got.ABI, got.Refused)
	}
}

func asVersionTwo() []byte {
	return []byte(strings.ReplaceAll(string(Guest{}.Wasm()), abi.Prefix, "callgate2_"))
}

// TestLookAgrees checks that what Look refuses a host refuses for the same reason, and that
// it can look at all of them.
func TestLookAgrees(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	refused := 0
	for _, m := range RefusedModules() {
		o := plugins.Look(m.Wasm)
		if o.Size != len(m.Wasm) || len(o.SHA256) != 64 {
			t.Errorf("%s: got %d bytes, sha256 %q", m.Name, o.Size, o.SHA256)
		}
		if o.Refused == "" {
			continue
		}
		refused++
		if err := h.Load(t.Context(), plugins.Source{Name: "bad", Wasm: m.Wasm}); err == nil || !strings.HasSuffix(err.Error(), o.Refused) {
			t.Errorf("%s: got %q, and a host says %v", m.Name, o.Refused, err)
		}
	}
	if refused < 20 {
		t.Errorf("got %d modules refused by their bytes alone, want all that are wrong before their start", refused)
	}
}

// TestWork checks that the count of a guest's work is the same each time, whatever the
// session, and grows with the work.
func TestWork(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Idle: 1})
	load(t, h, "go.wasm", goGuest(t))
	work := func(text string) int64 {
		s := h.Session()
		defer s.Close()
		if _, err := feedIn(t.Context(), s, "go", text); err != nil {
			t.Error(err)
		}
		return s.Work()
	}
	short, long := work("text"), work(strings.Repeat("text", 10_000))
	if again := work("text"); short <= 0 || again != short || long <= short {
		t.Errorf("got %d, %d and %d for a long text, want the same twice and then more", short, again, long)
	}
	s := h.Session()
	defer s.Close()
	_, err := feedIn(t.Context(), s, "go", "!loop")
	wantKind(t, err, plugins.KindTimeLimit)
	if got := s.Work(); got < 100_000 {
		t.Errorf("got %d for a loop of 100 ms, want the work of an instance that was thrown away too", got)
	}
}

// FuzzLook reads modules that nobody has checked.
func FuzzLook(f *testing.F) {
	for _, m := range RefusedModules() {
		if len(m.Wasm) < 4<<10 {
			f.Add(m.Wasm)
		}
	}
	f.Add(Guest{}.Wasm())
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if o := plugins.Look(wasm); o.Size != len(wasm) || strings.Contains(o.Refused, "\n") {
			t.Errorf("got %+v", o)
		}
	})
}
