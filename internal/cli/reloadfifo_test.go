//go:build unix

package cli

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/callgate/callgate/gateway/httpapi"
)

// TestFIFOAtReload has a named pipe in the place of the configuration, which would be waited for: it is refused,
// and the next file counts.
func TestFIFOAtReload(t *testing.T) {
	t.Parallel()
	const file = "providers: {demo: {type: demo}}\n"
	g := serveChanging(t, file)
	if err := os.Remove(g.file); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(g.file, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := g.adminDo("POST", "/admin/reload"); !strings.Contains(r.body, httpapi.Refused) || !strings.Contains(r.body, "is a named pipe and not a plain file") {
		t.Errorf("got status %d, %s", r.status, r.body)
	}
	if err := os.Remove(g.file); err != nil {
		t.Fatal(err)
	}
	g.applied(file+"log: {level: debug}\n", "log.level")
}
