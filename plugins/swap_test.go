package plugins_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/plugins"
	. "github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// names are the names of parsers, in their order.
func names(infos []plugins.Info) string {
	var out []string
	for _, i := range infos {
		out = append(out, i.Name)
	}
	return strings.Join(out, " ")
}

// A response keeps to the plugins that were there when it began, also for what it has not
// used yet.
func TestSessionKeepsItsPlugins(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "one.wasm", Guest{Manifest: Manifest("a", "b")}.Wasm())
	old := h.Session()
	defer old.Close()
	load(t, h, "one.wasm", Guest{Manifest: Manifest("a")}.Wasm())
	next := h.Session()
	defer next.Close()
	if old.Version() == next.Version() {
		t.Errorf("both sessions have version %d", old.Version())
	}
	if got := names(old.Parsers()); got != "a b" {
		t.Errorf("the old session has %q, want a b", got)
	}
	open(t, old, "b")
	if _, err := next.Open(t.Context(), "b", abi.Options{}); kindOf(err) != plugins.KindUnknownParser {
		t.Errorf("the new session: got %v, want unknown_parser", err)
	}
	open(t, next, "a")
}

// The fingerprint is that of the code, whatever the files are called and in which order they
// came, and a session keeps its own.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	one, two := Guest{Manifest: Manifest("a")}.Wasm(), Guest{Manifest: Manifest("b")}.Wasm()
	h, other := newHost(t, plugins.Config{}), newHost(t, plugins.Config{})
	seen := map[string]bool{h.Fingerprint(): true}
	load(t, h, "one.wasm", one)
	seen[h.Fingerprint()] = true
	old := h.Session()
	defer old.Close()
	load(t, h, "two.wasm", two)
	both := h.Fingerprint()
	seen[both] = true
	load(t, h, "two.wasm", Guest{Manifest: Manifest("b", "c")}.Wasm())
	seen[h.Fingerprint()] = true
	if len(seen) != 4 {
		t.Errorf("got %d fingerprints of 4 sets of modules", len(seen))
	}
	load(t, h, "two.wasm", two)
	load(t, other, "b.wasm", two)
	load(t, other, "a.wasm", one)
	if h.Fingerprint() != both || other.Fingerprint() != both {
		t.Errorf("got %s and %s of the same modules, want %s", h.Fingerprint(), other.Fingerprint(), both)
	}
	if _, err := h.Unload("two.wasm", nil); err != nil {
		t.Fatal(err)
	}
	if got := old.Fingerprint(); got == both || got != h.Fingerprint() {
		t.Errorf("got %s of an old session, want that of its one module, %s", got, h.Fingerprint())
	}
}

// A plugin that was taken out goes when the last response that began with it has ended, and
// the host ends only then.
func TestUnload(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "one.wasm", Guest{Manifest: Manifest("a")}.Wasm())
	load(t, h, "two.wasm", Guest{Manifest: Manifest("b")}.Wasm())
	s := h.Session()
	if found, err := h.Unload("three.wasm", nil); found || err != nil {
		t.Errorf("of a plugin that is not there: got %t, %v", found, err)
	}
	no := errors.New("it is needed")
	if found, err := h.Unload("one.wasm", func(left []plugins.Info) error {
		if got := names(left); got != "b" {
			t.Errorf("left would be %q, want b", got)
		}
		return no
	}); !found || !errors.Is(err, no) {
		t.Errorf("got %t, %v, want the refusal", found, err)
	}
	if got := names(h.Parsers()); got != "a b" {
		t.Errorf("after a refusal there are %q, want a b", got)
	}
	if found, err := h.Unload("one.wasm", nil); !found || err != nil {
		t.Errorf("got %t, %v", found, err)
	}
	if got := names(h.Parsers()); got != "b" {
		t.Errorf("there are %q, want b", got)
	}
	open(t, s, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := h.Close(ctx); err == nil {
		t.Error("the host ended before the response")
	}
	s.Close()
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAcceptRefuses(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "one.wasm", Guest{Manifest: Manifest("a")}.Wasm())
	no := errors.New("a model needs the parser a")
	err := h.Load(t.Context(), plugins.Source{Name: "one.wasm", Wasm: Guest{Manifest: Manifest("b")}.Wasm(), Accept: func(infos []plugins.Info) error {
		if got := names(infos); got != "b" {
			t.Errorf("there would be %q, want b", got)
		}
		return no
	}})
	if want := "plugin one.wasm: it cannot take over: a model needs the parser a"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := names(h.Parsers()); got != "a" {
		t.Errorf("there are %q, want a", got)
	}
}

// Two hundred responses are read while the plugin is replaced again and again: each by one
// version of it from its beginning to its end.
func TestSwapUnderLoad(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	versions := [][]byte{Guest{Manifest: Manifest("a", "odd")}.Wasm(), Guest{Manifest: Manifest("a", "even")}.Wasm()}
	load(t, h, "one.wasm", versions[0])
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			s := h.Session()
			defer s.Close()
			name := s.Parsers()[1].Name
			if name == "a" {
				name = s.Parsers()[0].Name
			}
			for range 20 {
				for _, parser := range []string{"a", name} {
					r, err := s.Open(t.Context(), parser, abi.Options{})
					if err != nil {
						t.Errorf("version %d: %v", s.Version(), err)
						return
					}
					if _, err := r.Feed(t.Context(), []byte("text")); err != nil {
						t.Error(err)
					}
					r.Close()
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	for i := range 20 {
		load(t, h, "one.wasm", versions[(i+1)%2])
	}
	wg.Wait()
}

// A session that begins while its host ends has no parsers, and no trouble.
func TestSessionOfClosedHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, err := plugins.New(t.Context(), plugins.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		s := h.Session()
		defer s.Close()
		if _, err := s.Open(t.Context(), "a", abi.Options{}); kindOf(err) != plugins.KindUnknownParser {
			t.Errorf("got %v, want unknown_parser", err)
		}
	})
}
