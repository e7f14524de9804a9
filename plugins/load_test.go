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

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	good := Guest{}.Wasm()
	h := newHost(t, plugins.Config{})
	load(t, h, "good", good)
	for _, tt := range RefusedModules() {
		t.Run(tt.Name, func(t *testing.T) {
			err := h.Load(t.Context(), plugins.Source{Name: "bad", Wasm: tt.Wasm})
			if _, ok := errors.AsType[*plugins.LoadError](err); !ok {
				t.Fatalf("got %v, want a *LoadError", err)
			}
			if got := err.Error(); !strings.Contains(got, tt.Want) || !strings.HasPrefix(got, "plugin bad: ") {
				t.Errorf("got %q, want %q", got, tt.Want)
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
		{"WASI", Guest{Imports: WASI("clock_time_get", "iIi")}},
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
	load(t, h, "b.wasm", WithManifest(`{"abi":1,"name":"b","version":"2.0.0","parsers":[
		{"name":"low","version":"1.0.0","priority":1},
		{"name":"high","version":"1.0.0","priority":100,"aliases":["alias"],"triggers":["<high>"],"starts":["{"],"models":["b*"],"formats":["f"]}]}`))
	load(t, h, "a.wasm", Guest{Manifest: Manifest("y", "x"), Imports: WASI("sched_yield", "")}.Wasm())
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

// TestStartSaysWhatWasPrinted checks that who builds a plugin learns what its start has
// panicked with, in one line.
func TestStartSaysWhatWasPrinted(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	const said = "panic: no name\n\ngoroutine 1"
	guest := Guest{Imports: WASI("fd_write", "iiii"), Funcs: []Func{{Name: "_initialize", Body: Code(
		Const(8), Const(int32(len(said))), Store, 2, 0, // a vector of one text
		Const(4), Const(EventsAt), Store, 2, 0,
		Const(2), Const(4), Const(1), Const(100), Call, 0, Drop, Unreachable)}}, Raw: said}
	err := h.Load(t.Context(), plugins.Source{Name: "bad", Wasm: guest.Wasm()})
	const want = "plugin bad: it cannot be started: _initialize: failed: wasm error: unreachable; it printed: panic: no name"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
