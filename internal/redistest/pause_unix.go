//go:build unix

package redistest

import "syscall"

// Pause stops the server as SIGSTOP does: connections are there, and nobody answers.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server.Signal(s)
}
