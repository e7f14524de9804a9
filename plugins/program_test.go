package plugins_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

func says(text string) []byte { return Gives(abi.Event{Kind: abi.Content, Text: text}).Wasm() }

// trusted loads a module as a part of the program, and returns where its code is from.
func trusted(t *testing.T, h *plugins.Host, wasm []byte) string {
	t.Helper()
	if err := h.Load(t.Context(), plugins.Source{Name: "part", Wasm: wasm, Trusted: true}); err != nil {
		t.Fatal(err)
	}
	return h.Modules()[0].Code
}

func wantSays(t *testing.T, h *plugins.Host, want string) {
	t.Helper()
	if got, err := feed(t, h, "hand", "x"); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func closeHost(t *testing.T, h *plugins.Host) {
	t.Helper()
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestShared loads a module of the program in several hosts: they share what was made of it,
// and nothing else.
func TestShared(t *testing.T) {
	t.Parallel()
	cfg := plugins.Config{CacheDir: filepath.Join(t.TempDir(), "cache")}
	first, second := newHost(t, cfg), newHost(t, cfg)
	if got := trusted(t, first, says("one")); got != plugins.CodeProcess {
		t.Errorf("the first host's code is from %q", got)
	}
	if got := trusted(t, second, says("one")); got != plugins.CodeShared {
		t.Errorf("the second host's code is from %q", got)
	}
	a, b := first.Modules()[0], second.Modules()[0]
	if a.SHA256 != b.SHA256 || a.Size != b.Size || a.Pages != b.Pages || a.Loops != b.Loops || b.Compile != 0 {
		t.Errorf("the hosts describe it as %+v and %+v", a, b)
	}
	wantSays(t, first, "one")
	wantSays(t, second, "one")
	if idle := first.Modules()[0].Idle; idle != 1 {
		t.Errorf("the first host has %d instances, want one of its own", idle)
	}
	closeHost(t, first)
	wantSays(t, second, "one")
	third := newHost(t, cfg)
	if got := trusted(t, third, says("one")); got != plugins.CodeShared {
		t.Errorf("after the first host has gone, the code is from %q", got)
	}
	closeHost(t, second)
	wantSays(t, third, "one")
	closeHost(t, third)
	if got := trusted(t, newHost(t, cfg), says("one")); got != plugins.CodeKept {
		t.Errorf("after all hosts have gone, the code is from %q", got)
	}
}

// TestSharedNot has hosts whose modules differ in one thing, which is reason enough.
func TestSharedNot(t *testing.T) {
	t.Parallel()
	cfg := plugins.Config{CacheDir: filepath.Join(t.TempDir(), "cache")}
	first := newHost(t, cfg)
	trusted(t, first, says("one"))

	changed := newHost(t, cfg)
	if got := trusted(t, changed, says("two")); got == plugins.CodeShared {
		t.Error("another module is taken for the first one")
	}
	wantSays(t, changed, "two")
	if got := trusted(t, changed, says("one")); got != plugins.CodeShared { // it replaces the other
		t.Errorf("the code of the module that the first host has is from %q", got)
	}
	wantSays(t, changed, "one")
	wantSays(t, first, "one")

	limited := cfg
	limited.Limits.Depth = 7
	if got := trusted(t, newHost(t, limited), says("one")); got != plugins.CodeKept {
		t.Errorf("with other limits the code is from %q", got)
	}
	if got := trusted(t, newHost(t, plugins.Config{CacheDir: filepath.Join(t.TempDir(), "other")}), says("one")); got != plugins.CodeProcess {
		t.Errorf("with another directory the code is from %q", got)
	}
	h := newHost(t, cfg)
	load(t, h, "part", says("one"))
	if got := h.Modules()[0].Code; got != plugins.CodeKept {
		t.Errorf("the code of a plugin that is not trusted is from %q", got)
	}
}

// TestSharedAtOnce has many hosts load and close at once. Run with -race.
func TestSharedAtOnce(t *testing.T) {
	t.Parallel()
	cfg := plugins.Config{CacheDir: filepath.Join(t.TempDir(), "cache")}
	var hosts sync.WaitGroup
	for range 16 {
		hosts.Go(func() {
			for range 4 {
				h, err := plugins.New(t.Context(), cfg)
				if err == nil {
					err = h.Load(t.Context(), plugins.Source{Name: "part", Wasm: says("one"), Trusted: true})
				}
				if err == nil {
					var got string
					if got, err = feed(t, h, "hand", "x"); err == nil && got != "one" {
						err = errors.New("it says " + got)
					}
				}
				if err = errors.Join(err, h.Close(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	hosts.Wait()
}

// TestSharedFails has hosts load at once what cannot be loaded: each is told why.
func TestSharedFails(t *testing.T) {
	t.Parallel()
	cfg := plugins.Config{CacheDir: filepath.Join(t.TempDir(), "cache")}
	broken := Guest{Funcs: []Func{{Name: abi.ExportInitialize, Body: []byte{Unreachable}}}}.Wasm()
	var hosts sync.WaitGroup
	for range 8 {
		h := newHost(t, cfg)
		hosts.Go(func() {
			err := h.Load(t.Context(), plugins.Source{Name: "part", Wasm: broken, Trusted: true})
			if refused, ok := errors.AsType[*plugins.LoadError](err); !ok || refused.Reason != "it cannot be started" {
				t.Errorf("got %v", err)
			}
		})
	}
	hosts.Wait()
}

// TestSharedGivenUp has the host leave that makes what others wait for.
func TestSharedGivenUp(t *testing.T) {
	t.Parallel()
	cfg := plugins.Config{CacheDir: filepath.Join(t.TempDir(), "cache")}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	h := newHost(t, cfg)
	if err := h.Load(gone, plugins.Source{Name: "part", Wasm: says("one"), Trusted: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	trusted(t, h, says("one"))
	wantSays(t, h, "one")
}
