package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// program is a gateway that is measured.
type program struct {
	name, path, cacheDir string
	compiled             bool // its parsers, in a run before
}

// server is a process that listens on loopback.
type server struct {
	name    string
	address string
	admin   string    // of a gateway, for its metrics
	began   time.Time // before it was started
	cmd     *exec.Cmd
	stderr  *said
	gone    chan struct{} // closed when it has ended
	stop    context.CancelFunc
}

// startServer starts a process and waits until it says where its listeners are: one, or a
// second one for the operator. It ends with ctx at the latest.
func startServer(ctx context.Context, name string, listeners int, program string, args ...string) (*server, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{name: name, stop: cancel, stderr: &said{}, gone: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, program, args...) //nolint:gosec // this program or the one that it measures
	s.cmd.Stderr = s.stderr
	dieWithParent(s.cmd)
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	s.began = time.Now()
	if err := s.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("%s: %w (\"make build\" builds bin/callgate)", name, err)
	}
	url := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)
	lines := bufio.NewScanner(stdout)
	for _, address := range []*string{&s.address, &s.admin}[:listeners] {
		for *address == "" && lines.Scan() {
			if m := url.FindStringSubmatch(lines.Text()); m != nil {
				*address = m[1]
			}
		}
	}
	if s.address == "" || listeners > 1 && s.admin == "" {
		s.close()
		return nil, s.failed(errors.New("it ended without listening"))
	}
	go func() {
		defer close(s.gone)
		for lines.Scan() { // what it says further is of no interest, but must be read
		}
	}()
	return s, nil
}

// startMock starts the upstream.
func (b *bench) startMock(ctx context.Context) (*server, error) {
	return startSelf(ctx, mockCommand, strconv.Itoa(b.large))
}

// startSelf starts this program as another one.
func startSelf(ctx context.Context, args ...string) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, args[0], 1, program, args...)
}

// startGateway starts a gateway with a configuration. Its parsers are kept in the cache
// directory. All else is as it is by default.
func (b *bench) startGateway(ctx context.Context, p *program, config, cacheDir string) (*server, error) {
	b.files++ // each has its own: a gateway reads its file again when that changes
	file := filepath.Join(b.dir, fmt.Sprintf("callgate-%d.yaml", b.files))
	config += fmt.Sprintf("plugins: {dir: \"\", cache_dir: %q}\nadmin: {listen: \"127.0.0.1:0\"}\n", cacheDir)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	return startServer(ctx, p.name, 2, p.path, "serve", "--config", file, "--listen", "127.0.0.1:0")
}

// startReady starts a gateway that has its compiled parsers from the cache, as any
// start but the first one does, and waits until it is ready.
func (b *bench) startReady(ctx context.Context, p *program, config string) (*server, error) {
	for {
		s, err := b.startGateway(ctx, p, config, p.cacheDir)
		if err != nil {
			return nil, err
		}
		if _, err := waitReady(ctx, s); err != nil {
			s.close()
			return nil, s.failed(err)
		}
		if p.compiled {
			return s, nil
		}
		s.close() // it has compiled them, which leaves memory behind
		p.compiled = true
	}
}

// failed adds to an error what the process said on its way out.
func (s *server) failed(err error) error {
	if text := s.stderr.String(); text != "" {
		return fmt.Errorf("%s: %w; it says: %s", s.name, err, text)
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// cpu is the time in seconds that the process has used of all CPUs.
func (s *server) cpu() float64 { return cpuTime(s.cmd.Process.Pid) }

// close ends the process.
func (s *server) close() {
	s.stop()
	_ = s.cmd.Wait() // it was killed
}

// said keeps the last part of what a process says.
type said struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *said) Write(p []byte) (int, error) {
	const keep = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text = append(t.text, p...); len(t.text) > 2*keep {
		t.text = append(t.text[:0], t.text[len(t.text)-keep:]...)
	}
	return len(p), nil
}

func (t *said) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
