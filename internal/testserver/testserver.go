// Package testserver runs the programs of servers for tests: with their output for errors, until they
// answer, and no longer than the test.
package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const (
	startTime = 5 * time.Minute // on a machine that others use too
	askEvery  = 5 * time.Millisecond
)

// Process is a program that runs.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	output bytes.Buffer // read after exited
}

// Start runs a program, and waits until its server answers ping. The caller ends it.
func Start(ctx context.Context, cmd *exec.Cmd, ping func(context.Context) error) (*Process, error) {
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	started := make(chan error)
	go func() {
		defer close(p.exited)
		// Linux ends the server with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is told to end
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	if err := p.await(ctx, ping); err != nil {
		return nil, errors.Join(err, p.End(os.Kill))
	}
	return p, nil
}

// await waits until the server answers.
func (p *Process) await(ctx context.Context, ping func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	name := filepath.Base(p.cmd.Path)
	for {
		err := ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended: %s", name, strings.TrimSpace(p.output.String()))
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer after %v: %w", name, startTime, err)
		case <-time.After(askEvery):
		}
	}
}

// PID is the process's id while it runs.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends it a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// End sends it a signal that ends it, and waits until it is gone. One that has ended stays so.
func (p *Process) End(s os.Signal) error {
	err := p.Signal(s)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.exited
	return err
}

// FreeAddress is one of the loopback interface that nobody listens on. Where that can be, as on Linux, it is
// one of an IP address of its own, whose ports the system gives to no other test: it stays free until the
// caller listens on it, and is the caller's again after a restart.
func FreeAddress(ctx context.Context) (string, error) {
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))) //nolint:gosec // no secret
	if err != nil {
		// Not all systems have more than one.
		l, err = c.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Refusing is a free address that refuses connections for as long as the test runs.
func Refusing(tb testing.TB) string {
	tb.Helper()
	addr, err := FreeAddress(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return addr
}
