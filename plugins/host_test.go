package plugins_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/pluginstest"
	"github.com/callgate/callgate/sdk/abi"
)

// newHost makes a host that is closed at the end of the test, which also checks
// that the test closed its sessions.
func newHost(tb testing.TB, cfg plugins.Config) *plugins.Host {
	tb.Helper()
	if cfg.CacheDir == "" {
		cfg.CacheDir = pluginstest.CacheDir(tb)
	}
	h, err := plugins.New(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	return h
}

func load(tb testing.TB, h *plugins.Host, name string, wasm []byte) {
	tb.Helper()
	if err := h.Load(tb.Context(), plugins.Source{Name: name, Wasm: wasm}); err != nil {
		tb.Fatal(err)
	}
}

func goGuest(tb testing.TB) []byte {
	tb.Helper()
	return pluginstest.Build(tb, "testdata/goguest")
}

// feed gives text to a parser in a session of its own and returns the joined
// content.
func feed(tb testing.TB, h *plugins.Host, parser string, texts ...string) (string, error) {
	tb.Helper()
	s := h.Session()
	defer s.Close()
	return feedIn(tb.Context(), s, parser, texts...)
}

func feedIn(ctx context.Context, s *plugins.Session, parser string, texts ...string) (string, error) {
	r, err := s.Open(ctx, parser, abi.Options{})
	if err != nil {
		return "", err
	}
	defer r.Close()
	got := ""
	for _, text := range texts {
		events, err := r.Feed(ctx, []byte(text))
		if err != nil {
			return got, err
		}
		got += content(events)
	}
	events, err := r.Finish(ctx, abi.Stop)
	return got + content(events), err
}

func content(events []abi.Event) (s string) {
	for _, e := range events {
		if e.Kind == abi.Content {
			s += e.Text
		}
	}
	return s
}

func kindOf(err error) plugins.ErrorKind {
	if e, ok := errors.AsType[*plugins.Error](err); ok {
		return e.Kind
	}
	return ""
}

// works checks that the parser of the Go guest does its work.
func works(t *testing.T, h *plugins.Host) {
	t.Helper()
	got, err := feed(t, h, "go", "<go>hello", " there")
	if want := "<go>hello there"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	h := newHost(t, plugins.Config{})
	load(t, h, "g.wasm", goGuest(t))
	works(t, h)
}
