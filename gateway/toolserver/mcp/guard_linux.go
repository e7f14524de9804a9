package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// orphaned is the signal that a guard gets when the gateway has ended, however it has.
const orphaned = syscall.SIGUSR1

// GuardMain is the process that stands between the gateway and a server: it runs the command in
// its own process group, passes its input and output through, and kills the whole group, itself
// with it, when the server has ended or the gateway is gone. Without it, what a server has started
// outlives a gateway that is killed. It returns, with the status for the process to end with, only
// where nothing was started.
func GuardMain(command []string) int {
	if len(command) > 0 && strings.HasPrefix(command[0], limitedTo) {
		return becomeLimited(command)
	}
	gone, told := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(gone, orphaned)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) // the group has got it too
	if len(command) == 0 {
		return 2
	}
	if strings.HasPrefix(command[0], limitsOf) {
		command = limitedCommand(command)
	}
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec,noctx // the gateway's own arguments
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	// Only the server holds the pipes now, so that their ends are its end.
	_ = os.Stdin.Close()
	_ = os.Stdout.Close()
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-gone:
	case <-ended: // perhaps since the gateway is gone and has closed its input: who knows first is chance
		sayEnd(cmd.ProcessState, gone)
	}
	_ = syscall.Kill(0, syscall.SIGKILL)
	return 1
}

// sayEnd tells the gateway how the command has ended, which it cannot see. A gateway that reads nothing is
// not waited for, and one that is gone must not end the guard before it has done its work.
func sayEnd(state *os.ProcessState, gone <-chan os.Signal) {
	piped := make(chan os.Signal, 1)
	signal.Notify(piped, syscall.SIGPIPE) // else it would kill the guard
	said := make(chan struct{})
	go func() {
		fmt.Fprintf(os.Stderr, "\n%s%v\n", guardSays, state)
		close(said)
	}()
	select {
	case <-said:
	case <-gone:
	case <-time.After(fallTime):
	}
}
