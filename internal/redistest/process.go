package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/internal/testserver"
)

// tries are at ports that others may take meanwhile.
const tries = 5

// Process is a Redis server that runs until Stop.
type Process struct {
	program, dir, addr string
	args               []string

	mu     sync.Mutex
	server *testserver.Process
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
		if p.addr, err = testserver.FreeAddress(ctx); err != nil {
			return nil, err
		}
		if err = p.Start(ctx); err == nil {
			return p, nil
		}
	}
	return nil, err
}

// PID is the process's id while it runs.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server.PID()
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
	cmd := exec.Command(p.program, args...)
	cmd.SysProcAttr = attributes()
	server, err := testserver.Start(ctx, cmd, func(ctx context.Context) error { return ping(ctx, p.addr) })
	if err != nil {
		return err
	}
	p.server = server
	return nil
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
	return p.server.End(os.Kill)
}
