package plugins

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/callgate/callgate/plugins/pluginstest"
)

// TestPrunedMeanwhile has another process remove an entry of the cache behind the check of its hash: what was checked is
// what wazero reads, and nothing is compiled in its place.
func TestPrunedMeanwhile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	var said bytes.Buffer
	s, err := openStore(&Config{CacheDir: dir, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	wasm := pluginstest.Guest{}.Wasm()
	get := func(meanwhile func(entry string)) *code {
		c, err := s.open(t.Context(), wasm, true)
		if err != nil {
			t.Fatal(err)
		}
		meanwhile(c.entry)
		rt := wazero.NewRuntimeWithConfig(t.Context(), runtimeConfig(c.cache))
		defer rt.Close(t.Context())
		if _, err := c.compile(t.Context(), rt, wasm); err != nil {
			t.Fatal(err)
		}
		c.close(t.Context())
		return c
	}
	nothing := func(string) {}
	if c := get(nothing); c.from != CodeProcess {
		t.Fatalf("got code from %q at first", c.from)
	}
	if c := get(nothing); c.from != CodeKept || !exists(c.entry) {
		t.Fatalf("got code from %q, want what is kept to stay", c.from)
	}
	c := get(func(entry string) {
		if err := os.RemoveAll(entry); err != nil {
			t.Error(err)
		}
	})
	if c.from != CodeKept || exists(c.entry) || said.Len() > 0 {
		t.Errorf("got code from %q, an entry that was removed: %t, and the log %s", c.from, !exists(c.entry), &said)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, stagingPrefix+"*")); len(left) > 0 {
		t.Errorf("got %q left behind", left)
	}
}
