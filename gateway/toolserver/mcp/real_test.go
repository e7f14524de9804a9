package mcp_test

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/toolserver/mcp"
	"github.com/callgate/callgate/internal/testserver"
)

// everything builds the SDK's own server of the conformance suite, once.
var everything = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "callgate-everything")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "everything-server")
	text, err := exec.Command("go", "build", "-o", out, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput()
	if err != nil {
		return "", &buildError{string(text)}
	}
	built = out
	return out, nil
})

// built is the program, "" if it was not needed.
var built string

type buildError struct{ text string }

func (e *buildError) Error() string { return e.text }

func program(t *testing.T) string {
	t.Helper()
	p, err := everything()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEverythingProcess plays the SDK's server as a process.
func TestEverythingProcess(t *testing.T) {
	s := mcp.Open(mcp.Options{Name: "everything", Command: []string{program(t)}})
	defer s.Close()
	plays(t, s)
}

// TestEverythingHTTP plays it over HTTP.
func TestEverythingHTTP(t *testing.T) {
	addr := testserver.Refusing(t) // until the program listens there
	cmd := exec.Command(program(t), "-http", addr)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	s := mcp.Open(mcp.Options{Name: "everything", URL: &url.URL{Scheme: "http", Host: addr, Path: "/"}, Changed: func() {}})
	defer s.Close()
	plays(t, s)
}

func plays(t *testing.T, s *mcp.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := s.List(ctx)
	if err != nil {
		t.Fatalf("list: %v", explain(err))
	}
	t.Logf("version %s, %d tools", l.Version, len(l.Tools))
	for _, d := range l.Tools {
		t.Logf("%s %s", d.Name, d.Parameters)
	}
	r, err := s.Call(ctx, "test_simple_text", json.RawMessage(`{}`))
	if err != nil {
		t.Fatalf("call: %v", explain(err))
	}
	if !strings.Contains(r.Text, "simple text") {
		t.Errorf("got %+v", r)
	}
	for _, name := range []string{"test_image_content", "test_audio_content", "test_embedded_resource", "test_multiple_content_types", "test_error_handling", "test_tool_with_progress", "test_sampling", "test_elicitation", "nope"} {
		r, err := s.Call(ctx, name, json.RawMessage(`{"prompt":"x","message":"y"}`))
		t.Logf("%s: %+v, %v", name, r, explain(err))
	}
}

func explain(err error) any { return err }
