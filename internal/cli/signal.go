package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errTerminated is the cause of the end of a context that SIGTERM has ended: a machine wants the
// process to go, and may still send it requests for a while. At Ctrl-C nobody does.
var errTerminated = errors.New("terminated")

// untilSignal returns a context that ends with SIGTERM or Ctrl-C. A second one ends the process at
// once, as the system does it. stop must be called.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if s == syscall.SIGTERM {
				cancel(errTerminated)
			}
			cancel(nil)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// hangups are the signals that ask a server to read its configuration again. Until stop is called
// they do not end the process.
func hangups() (c <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}
