// Command with runs another command while a Redis server runs, whose address is in
// CALLGATE_REDIS_URL:
//
//	go run ./internal/redistest/with -- make bench-prefix
//
// The exit status is the command's. If there can be no server it says why in one line and
// runs the command without, unless CALLGATE_REQUIRE_REDIS=1. An address that is set
// already is left as it is.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/callgate/callgate/internal/redistest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "with redis:", err)
	}
	os.Exit(status)
}

func run(ctx context.Context, args []string) (status int, err error) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New("name a command: with -- CMD ARG…")
	}
	if os.Getenv(redistest.URL) == "" {
		stop, err := start(ctx)
		if err != nil && os.Getenv(redistest.Require) == "1" {
			return 1, err
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "with redis: there is none: %v\n", err)
		} else {
			defer stop()
		}
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil // it has said why
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// start starts a server and puts its address into the environment.
func start(ctx context.Context) (stop func(), err error) {
	dir, err := os.MkdirTemp("", "callgate-redis-")
	if err != nil {
		return nil, err
	}
	p, err := redistest.Run(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return func() {
		_ = p.Stop() // it is killed, which cannot fail twice
		_ = os.RemoveAll(dir)
	}, os.Setenv(redistest.URL, "redis://"+p.Addr())
}
