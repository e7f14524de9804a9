package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/callgate/callgate/plugins"
)

// ready is a host that takes everything at once.
type ready struct{}

func (ready) Load(context.Context, plugins.Source) error { return nil }

func (ready) Unload(string, func([]plugins.Info) error) (bool, error) { return true, nil }

// TestWaitBesideLoads has many wait for loads while others begin, as the start of a gateway does that has
// lost patience with a slow plugin: the next one may begin to be loaded as the last one ends.
func TestWaitBesideLoads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := New(Options{Dir: dir, Host: ready{}})
	name := filepath.Join(dir, "a.wasm")
	var waiting sync.WaitGroup
	for i := range 300 {
		if err := os.WriteFile(name, fmt.Append(nil, i), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, int64(1+i%7)); err != nil { // the stamp differs whatever the clock does
			t.Fatal(err)
		}
		if err := f.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			waiting.Go(func() {
				if err := f.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	waiting.Wait()
	if err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files := f.Files(); len(files) != 1 || files[0].State != Loaded {
		t.Errorf("got %v, want that the file is loaded", files)
	}
}
