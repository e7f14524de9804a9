package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// FuzzParse checks that no file panics or takes much memory, that errors hold no
// secret, and that the printed configuration means what the file meant.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"good", "bad"} {
		names, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			if data := read(f, name); len(data) < 4096 && !strings.Contains(string(data), canary) {
				f.Add(data)
			}
		}
	}
	lookup := env("E=", "X="+canary, "U=http://127.0.0.1/v1")
	f.Fuzz(func(t *testing.T, data []byte) {
		var c *config.Config
		var err error
		if took := allocated(func() { c, err = config.Parse("f", data, lookup) }); took > worst {
			t.Errorf("%d bytes of the file took %d bytes of memory, want %d at most", len(data), took, uint64(worst))
		}
		if err != nil {
			if strings.Contains(err.Error(), canary) && !strings.Contains(string(data), canary) {
				t.Errorf("the error holds a secret: %v", err)
			}
			return
		}
		printed := c.YAML()
		again, err := config.Parse("f", printed, nil)
		if problems, ok := errors.AsType[*config.Error](err); ok {
			for _, p := range problems.Problems {
				if !strings.HasPrefix(p.Path, "keys") && p.Path != "admin.key_hash" && p.Path != "redis.url" { // what is redacted is none
					t.Errorf("the printed configuration has a problem: %v\n%s", err, printed)
				}
			}
			return
		}
		if got := again.YAML(); string(got) != string(printed) {
			t.Errorf("got\n%s\nwant\n%s", got, printed)
		}
	})
}
