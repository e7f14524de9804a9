package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	startTime = 5 * time.Minute // on a machine that others use too
	tries     = 5               // at ports that others may take meanwhile
)

// Process is a Redis server that runs until Stop.
type Process struct {
	program, dir, addr string
	args               []string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	output bytes.Buffer // read after exited
}

// Run starts a server on a free port of the loopback interface, with nothing kept on
// disk, and waits until it answers. dir is its working directory; args are options of
// redis-server. The caller stops it.
func Run(ctx context.Context, dir string, args ...string) (*Process, error) {
	program, err := find(ctx)
	if err != nil {
		return nil, err
	}
	for range tries {
		p := &Process{program: program, dir: dir, args: args}
		if p.addr, err = freeAddress(ctx); err != nil {
			return nil, err
		}
		if err = p.Start(ctx); err == nil {
			return p, nil
		}
	}
	return nil, err
}

// freeAddress is one that nobody listened on a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// PID is the process's id while it runs.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Addr is where the server listens, host:port. It does not change.
func (p *Process) Addr() string { return p.addr }

// Start starts a server that was stopped, at the address that it had and with nothing of
// what it knew.
func (p *Process) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"--bind", host, "--port", port, "--dir", p.dir, "--save", "", "--appendonly", "no", "--loglevel", "warning"}, p.args)
	p.cmd = exec.Command(p.program, args...)
	p.output.Reset()
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = &p.output, &p.output, attributes()
	p.exited = make(chan struct{})
	started := make(chan error)
	go func() {
		defer close(p.exited)
		// Linux ends the server with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // it is killed
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	if err := p.await(ctx); err != nil {
		_ = p.kill()
		return err
	}
	return nil
}

// await waits until the server answers.
func (p *Process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := ping(ctx, p.addr)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("redis-server ended: %s", strings.TrimSpace(p.output.String()))
		case <-ctx.Done():
			return fmt.Errorf("redis-server does not answer after %v: %w", startTime, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ping asks for a sign of life. A server that wants a password first gives one too.
func ping(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	end, _ := ctx.Deadline()
	if err := c.SetDeadline(end); err != nil {
		return err
	}
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 64)
	n, err := c.Read(answer)
	if err != nil {
		return err
	}
	if text := string(answer[:n]); !strings.HasPrefix(text, "+PONG") && !strings.HasPrefix(text, "-NOAUTH") {
		return fmt.Errorf("got %q, want a pong", text)
	}
	return nil
}

// Stop kills the server and waits until it is gone. One that is stopped stays so.
func (p *Process) Stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kill()
}

func (p *Process) kill() error {
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.exited
	return err
}
