package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/callgate/callgate/conformance"
)

// self is this program as a gateway of its own process.
type self struct {
	url, key string
	dir      string
	command  *exec.Cmd
	log      tail
}

// The times of self. Compiling the parsers takes seconds the first time.
const (
	selfReady = 2 * time.Minute
	selfStop  = 10 * time.Second
)

// startSelf starts this program with the configuration that the suite needs, and waits
// until it is ready. The caller stops it. Whoever stops reading what the suite prints, such as head,
// does not end this process from now on: nobody would stop the other one.
func startSelf(ctx context.Context, upstream string) (_ *self, err error) {
	signal.Ignore(syscall.SIGPIPE)
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cases, err := conformance.Cases()
	if err != nil {
		return nil, err
	}
	s := &self{key: "conformance-" + rand.Text()}
	if s.dir, err = os.MkdirTemp("", "callgate-conformance-"); err != nil {
		return nil, err
	}
	file := filepath.Join(s.dir, "callgate.yaml")
	if err := os.WriteFile(file, []byte(callgateConfig(conformance.Readers(cases), upstream, s.key, "")), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	s.command = exec.Command(program, "serve", "-c", file, "--listen", "127.0.0.1:0") //nolint:gosec,noctx // this program; stop ends it
	s.command.Stderr = &s.log
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.command.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.await(ctx, stdout); err != nil {
		s.stop()
		return nil, fmt.Errorf("conformance: the gateway did not start: %w; the end of its log:\n%s", err, s.log.String())
	}
	return s, nil
}

// await waits until the gateway says where it listens, and that it is ready.
func (s *self) await(ctx context.Context, stdout io.Reader) error {
	lines := bufio.NewReader(stdout)
	first, _ := lines.ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	_, rest, found := strings.Cut(first, " listens on ")
	address, _, _ := strings.Cut(rest, " ")
	if !found {
		return fmt.Errorf("it said %q", first)
	}
	s.url = address + "/v1"
	ctx, cancel := context.WithTimeout(ctx, selfReady)
	defer cancel()
	for {
		said, err := ready(ctx, address+"/readyz")
		if err != nil || said == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %s", said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ready asks a gateway why it is not ready.
func ready(ctx context.Context, url string) (said string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode == http.StatusOK {
		return "", err
	}
	return strings.TrimSpace(string(body)) + ".", err
}

// stop ends the process, if need be by force, and removes its files.
func (s *self) stop() {
	if s.command.Process.Signal(os.Interrupt) != nil { // it has ended, or the system cannot interrupt
		_ = s.command.Process.Kill()
	}
	hard := time.AfterFunc(selfStop, func() { _ = s.command.Process.Kill() })
	_ = s.command.Wait() // how it ended is of no account any more
	hard.Stop()
	_ = os.RemoveAll(s.dir)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end bytes.Buffer
}

// maxTail is how much of a log is worth showing.
const maxTail = 4000

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end.Write(p)
	if n := t.end.Len() - maxTail; n > maxTail { // now and then
		t.end.Next(n)
	}
	return len(p), nil
}

// String is the end.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.end.Bytes()
	return string(b[max(0, len(b)-maxTail):])
}
