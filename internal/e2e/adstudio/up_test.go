package adstudio_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/e2e/gate"
	"github.com/callgate/callgate/internal/testserver"
)

// TestUp starts all of the example by its one command, as "make example" does, and holds that
// nothing is left when it is interrupted.
func TestUp(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "adstudio.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, ".")
	build.Dir = example
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var ports []string
	for range 4 {
		ports = append(ports, testserver.Refusing(t)) // until the example listens there
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(t.Context(), program, "up", "-callgate", gate.Path(t), "-data", t.TempDir(), "-app", ports[0], "-tools", ports[1], "-gateway", ports[2], "-admin", ports[3])
	cmd.Dir, cmd.Stdout, cmd.Stderr = example, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	gate.Await(t, "the address of the page", func() bool {
		text, err := os.ReadFile(log.Name())
		said = string(text)
		return err == nil && strings.Contains(said, "Ad studio   http://"+ports[0])
	}, &said)
	resp, err := http.Post("http://"+ports[0]+"/api/ai/generate", "application/json", strings.NewReader(fmt.Sprintf(`{"brief":%q}`, coffee)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got %d for a brief, want 200", resp.StatusCode)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want a good end: %s", err, said)
	}
	for _, p := range ports {
		if c, err := net.Dial("tcp", p); err == nil {
			c.Close()
			t.Errorf("%s is still open", p)
		}
	}
}
