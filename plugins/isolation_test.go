package plugins_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

func TestResponsesAreIsolated(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Idle: 1})
	load(t, h, "go.wasm", goGuest(t)) // large, so that pages are mapped
	for i := range 3000 {
		got, err := feed(t, h, "go", "!recall")
		if err != nil || got != "" {
			t.Fatalf("response %d: got %q, %v, want nothing", i, got, err)
		}
		if got, err := feed(t, h, "go", "!remember secret", "!recall"); err != nil || got != "secret" {
			t.Fatalf("response %d: got %q, %v, want what it remembered itself", i, got, err)
		}
	}
	if m := h.Modules()[0]; m.Idle != 1 || m.InUse != 0 {
		t.Errorf("got %d idle and %d used instances, want the same one all the time", m.Idle, m.InUse)
	}
}

// remembering is a small guest that keeps a count in a global and one in memory,
// and returns as many events as both together.
func remembering() []byte {
	const count = 0x8000
	return Guest{
		Globals: []int32{0},
		Funcs: []Func{Feed(
			GlobalGet, 0, Const(1), Add, GlobalSet, 0,
			Const(count), Const(count), Load, 2, 0, Const(1), Add, Store, 2, 0,
			// The length: two bytes an event.
			GlobalGet, 0, Const(count), Load, 2, 0, Add, Const(1), 0x74, Extend,
			Const64(EventsAt<<32), 0x84)},
		Raw: strings.Repeat("\x01\x00", 32),
	}.Wasm()
}

func TestIsolation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		isolation string
		want      []int // events of the first feed of each response
	}{
		{plugins.IsolationReset, []int{2, 2, 2}},
		{plugins.IsolationPooled, []int{2, 4, 6}},
	}
	for _, tt := range tests {
		t.Run(tt.isolation, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, plugins.Config{Isolation: tt.isolation, Limits: plugins.Limits{Memory: 4 << 20}})
			load(t, h, "hand.wasm", remembering())
			base := -1
			for i, want := range tt.want {
				s := h.Session()
				got, err := open(t, s, "hand").Feed(t.Context(), []byte("x"))
				if err != nil {
					t.Fatal(err)
				}
				if base < 0 { // the warm-up counts too
					base = len(got) - want
				}
				if len(got)-base != want {
					t.Errorf("response %d: got %d events, want %d", i, len(got)-base, want)
				}
				s.Close()
			}
		})
	}
}

func TestUnknownIsolation(t *testing.T) {
	t.Parallel()
	if _, err := plugins.New(t.Context(), plugins.Config{Isolation: "none"}); err == nil {
		t.Error("got no error")
	}
}

func TestGrownInstanceIsThrownAway(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	// Grows on every text that is not the sample of the warm-up, and returns an
	// event for each page beyond the first.
	load(t, h, "hand.wasm", Guest{
		Raw: strings.Repeat("\x01\x00", 8),
		Funcs: []Func{Feed(
			LocalGet, 2, Const(1), Eq, If, Void, Const(1), MemoryGrow, 0, Drop, End,
			0x3f, 0, Const(1), 0x74, Extend, Const64(EventsAt<<32), 0x84)},
	}.Wasm())
	for i := range 3 {
		s := h.Session()
		if got, err := open(t, s, "hand").Feed(t.Context(), []byte("x")); len(got) != 4 || err != nil {
			t.Errorf("response %d: got %d events, %v, want 4", i, len(got), err)
		}
		s.Close()
		if n := h.Modules()[0].Idle; n != 0 {
			t.Errorf("response %d: got %d idle instances, want 0", i, n)
		}
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	says := func(text string, parsers ...string) []byte {
		return Guest{Manifest: Manifest(parsers...), Events: []abi.Event{{Kind: abi.Content, Text: text}}}.Wasm()
	}
	load(t, h, "p.wasm", says("old", "a", "b"))
	running := h.Session()
	defer running.Close()
	r := open(t, running, "a")

	load(t, h, "p.wasm", says("new", "a", "c"))
	if got, err := r.Feed(t.Context(), []byte("x")); content(got) != "old" || err != nil {
		t.Errorf("running session: got %q, %v, want old", content(got), err)
	}
	r.Close()
	if got, err := feedIn(t.Context(), running, "b", "x"); got != "old" || err != nil {
		t.Errorf("other parser in the running session: got %q, %v, want old", got, err)
	}
	if got, err := feed(t, h, "a", "x"); got != "new" || err != nil {
		t.Errorf("new session: got %q, %v, want new", got, err)
	}
	_, err := feed(t, h, "b", "x")
	wantKind(t, err, plugins.KindUnknownParser)

	// A refused module leaves the old one alone.
	if err := h.Load(t.Context(), plugins.Source{Name: "p.wasm", Wasm: []byte("x")}); err == nil {
		t.Error("no error")
	}
	if got, err := feed(t, h, "c", "x"); got != "new" || err != nil {
		t.Errorf("after a failed load: got %q, %v, want new", got, err)
	}
}

func TestNamesClash(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "one.wasm", WithParser(`,"aliases":["q"]`))
	err := h.Load(t.Context(), plugins.Source{Name: "two.wasm", Wasm: WithManifest(Manifest("p"))})
	if want := `plugin two.wasm: parser name "p" is taken by plugin one.wasm`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	load(t, h, "two.wasm", WithManifest(Manifest("q"))) // an alias is not taken: it may stand for several
}

func TestLoadAfterClose(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "hand.wasm", Guest{}.Wasm())
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Load(t.Context(), plugins.Source{Name: "x", Wasm: Guest{}.Wasm()}); err == nil {
		t.Error("load: got no error")
	}
	_, err := feed(t, h, "hand", "x")
	wantKind(t, err, plugins.KindUnknownParser)
}
