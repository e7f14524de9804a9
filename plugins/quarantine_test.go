package plugins_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// fussy is a guest with the parsers "a" and "b" that traps on one byte of text and
// else ends the region; "a" traps in can_parse on one byte.
func fussy() []byte {
	trap := Code(LocalGet, 2, Const(1), Eq, If, Void, Unreachable, End)
	return Guest{
		Manifest: Manifest("a", "b"),
		Raw:      string(abi.AppendEvent(nil, abi.Event{Kind: abi.End, To: 1})),
		Funcs: []Func{
			Feed(trap, Const64(abi.Pack(EventsAt, 2))),
			{Name: abi.ExportOpen, Params: "iii", Results: "i", Body: Code(LocalGet, 0)}, // a handle for each
			{Name: abi.ExportCanParse, Params: "iii", Results: "i", Body: Code(trap, Const(1))},
		},
	}.Wasm()
}

const (
	bad  = "x"
	good = "good text"
)

func state(h *plugins.Host, parser string) plugins.State {
	for _, p := range h.Parsers() {
		if p.Name == parser {
			return p.State
		}
	}
	return ""
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, quarantine) // where no time passes but what the test sleeps
}

func quarantine(t *testing.T) {
	h := newHost(t, plugins.Config{Failures: 3, Quarantine: time.Minute})
	load(t, h, "hand.wasm", fussy())
	use := func(text string, want plugins.ErrorKind) {
		t.Helper()
		_, err := feed(t, h, "a", text)
		wantKind(t, err, want)
	}
	use(bad, plugins.KindTrap)
	use(bad, plugins.KindTrap)
	use(good, "") // in between, so that it is not three in a row
	use(bad, plugins.KindTrap)
	use(bad, plugins.KindTrap)
	if got := state(h, "a"); got != plugins.StateOK {
		t.Errorf("got %s before the third failure", got)
	}
	use(bad, plugins.KindTrap)
	use(good, plugins.KindQuarantined)
	s := h.Session()
	_, err := s.CanParse(t.Context(), "a", []byte("head"))
	wantKind(t, err, plugins.KindQuarantined)
	s.Close()
	if a, b := state(h, "a"), state(h, "b"); a != plugins.StateQuarantined || b != plugins.StateOK {
		t.Errorf("got a %s, b %s", a, b)
	}
	if _, err := feed(t, h, "b", good); err != nil {
		t.Errorf("the other parser of the plugin: %v", err)
	}

	time.Sleep(time.Minute + 1)
	use(bad, plugins.KindTrap) // the probe fails
	use(good, plugins.KindQuarantined)
	time.Sleep(time.Minute + 1)
	use(good, "") // the probe succeeds
	if got := state(h, "a"); got != plugins.StateOK {
		t.Errorf("got %s after it was tried with success", got)
	}
	if got := h.Parsers()[0].Failed; got != 6 {
		t.Errorf("got %d failures, want 6", got)
	}
}

func TestOneProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, oneProbe)
}

func oneProbe(t *testing.T) {
	h := newHost(t, plugins.Config{Failures: 1, Quarantine: time.Minute})
	load(t, h, "hand.wasm", fussy())
	_, _ = feed(t, h, "a", bad)
	time.Sleep(time.Minute + 1)
	s := h.Session()
	open(t, s, "a")
	_, err := feed(t, h, "a", good)
	wantKind(t, err, plugins.KindQuarantined)
	s.Close() // without a result, so that the next one is a probe again
	if _, err := feed(t, h, "a", good); err != nil {
		t.Error(err)
	}
}

// A response counts once, whatever happens in it.
func TestResponseCountsOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		use  func(t *testing.T, s *plugins.Session)
		want map[string]plugins.State
	}{
		{"two failures", func(t *testing.T, s *plugins.Session) {
			t.Helper()
			_, err := feedIn(t.Context(), s, "a", bad)
			wantKind(t, err, plugins.KindTrap)
			_, err = feedIn(t.Context(), s, "a", bad)
			if !oneOf(kindOf(err), plugins.KindTrap+" "+plugins.KindQuarantined) {
				t.Error(err)
			}
		}, map[string]plugins.State{"a": plugins.StateOK}},
		{"failure of can_parse", func(t *testing.T, s *plugins.Session) {
			t.Helper()
			_, err := s.CanParse(t.Context(), "a", []byte(bad))
			wantKind(t, err, plugins.KindTrap)
		}, map[string]plugins.State{"a": plugins.StateOK}},
		{"failure before a success", func(t *testing.T, s *plugins.Session) {
			t.Helper()
			_, _ = feedIn(t.Context(), s, "a", bad)
			if _, err := feedIn(t.Context(), s, "a", good); !oneOf(kindOf(err), " "+plugins.KindQuarantined) {
				t.Error(err)
			}
		}, map[string]plugins.State{"a": plugins.StateOK}},
		{"failure of the other parser's run", func(t *testing.T, s *plugins.Session) {
			t.Helper()
			a, b := open(t, s, "a"), open(t, s, "b")
			_, err := a.Feed(t.Context(), []byte(bad))
			wantKind(t, err, plugins.KindTrap)
			_, err = b.Feed(t.Context(), []byte(good))
			wantKind(t, err, plugins.KindTrap)
			b.Close()
			a.Close()
		}, map[string]plugins.State{"b": plugins.StateOK}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, plugins.Config{Failures: 2})
			load(t, h, "hand.wasm", fussy())
			for range 2 {
				for name, want := range tt.want {
					if got := state(h, name); got != want {
						t.Errorf("parser %s: got %s, want %s", name, got, want)
					}
				}
				s := h.Session()
				tt.use(t, s)
				s.Close()
			}
			// After two responses that failed.
			wantA := plugins.StateQuarantined
			if got := state(h, "a"); got != wantA {
				t.Errorf("got %s, want %s", got, wantA)
			}
			if got := state(h, "b"); got != plugins.StateOK {
				t.Errorf("b: got %s", got)
			}
		})
	}
}

// What the plugin is not to blame for does not count.
func TestNeutralOutcomes(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Failures: 1, Limits: plugins.Limits{Input: 100}})
	load(t, h, "hand.wasm", fussy())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, use := range map[string]func(s *plugins.Session) error{
		"canceled": func(s *plugins.Session) error {
			_, err := open(t, s, "a").Feed(ctx, []byte(good))
			return err
		},
		"input": func(s *plugins.Session) error {
			_, err := open(t, s, "a").Feed(t.Context(), make([]byte, 101))
			return err
		},
		"canceled open": func(s *plugins.Session) error {
			_, err := s.Open(ctx, "a", abi.Options{})
			return err
		},
	} {
		s := h.Session()
		if err := use(s); err == nil {
			t.Errorf("%s: got no error", name)
		}
		s.Close()
		if got := state(h, "a"); got != plugins.StateOK {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// closing is a guest whose regions end at once, with this code for close.
func closing(code ...any) []byte {
	return Guest{
		Events: []abi.Event{{Kind: abi.End, To: 1}},
		Funcs:  []Func{{Name: abi.ExportClose, Params: "i", Body: Code(code...)}},
	}.Wasm()
}

func TestFailureOfClose(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{Failures: 1, Limits: plugins.Limits{Time: 400 * time.Millisecond, Total: 300 * time.Millisecond}})
	load(t, h, "hand.wasm", closing(Unreachable))
	if _, err := feed(t, h, "hand", good); err != nil {
		t.Error(err)
	}
	if got := state(h, "hand"); got != plugins.StateQuarantined {
		t.Errorf("close traps: got %s", got)
	}

	// One parser uses the time up. That the other's handle cannot be closed then is
	// not the other's fault.
	load(t, h, "hand.wasm", closing())
	load(t, h, "loop.wasm", Guest{Manifest: Manifest("loop"), Funcs: []Func{Feed(Endless())}}.Wasm())
	s := h.Session()
	defer s.Close()
	r := open(t, s, "hand")
	if _, err := r.Feed(t.Context(), []byte(good)); err != nil {
		t.Error(err)
	}
	_, err := feedIn(t.Context(), s, "loop", bad)
	wantKind(t, err, plugins.KindTimeLimit)
	r.Close()
	if hand, loop := state(h, "hand"), state(h, "loop"); hand != plugins.StateOK || loop != plugins.StateQuarantined {
		t.Errorf("got hand %s, loop %s", hand, loop)
	}
}
