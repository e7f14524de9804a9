// Command testrun runs "go test" on the modules of this repository and says what became of
// it: a line for each package as it ends, what a test that failed printed, and at the end in
// a few lines what ran, what was skipped and why, and how long it took. It ends with status 1
// if a test failed.
//
//	go run ./internal/testrun -in . -in internal/e2e -- -count=1 -race
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"
)

// quiet is how long nothing ends before what is under way is told.
const quiet = 20 * time.Second

func main() {
	var modules []string
	flag.Func("in", "a module's `directory`; may be given several times", func(dir string) error {
		modules = append(modules, dir)
		return nil
	})
	var first []string
	flag.Func("first", "a `package` that takes longest, which starts before the others; may be given several times", func(name string) error {
		first = append(first, name)
		return nil
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if !run(ctx, os.Stdout, modules, first, flag.Args()) {
		os.Exit(1) //nolint:gocritic // the signals end with the process
	}
}

// run tests all packages of some modules at once, some packages before the others, and
// reports whether all went well.
func run(ctx context.Context, out io.Writer, modules, first, args []string) (ok bool) {
	began := time.Now()
	r := newReport(out)
	var all sync.WaitGroup
	sooner := map[string][]string{} // by module
	for _, dir := range modules {
		packages, err := list(ctx, dir)
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", dir, err)
			return false
		}
		r.expect(packages)
		for _, name := range first {
			if i := slices.IndexFunc(packages, func(p string) bool { return short(p) == name }); i >= 0 {
				sooner[dir] = append(sooner[dir], packages[i])
			}
		}
	}
	for _, dir := range modules {
		all.Go(func() {
			if err := test(ctx, dir, slices.Concat(args, sooner[dir]), r.add); err != nil {
				r.broke(dir, err)
			}
		})
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		all.Wait()
	}()
	for {
		select {
		case <-over:
			return r.summary(time.Since(began))
		case <-time.After(quiet):
			r.waits(quiet)
		}
	}
}

// list are the packages of a module that have tests.
func list(ctx context.Context, dir string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	text, err := cmd.Output()
	return strings.Fields(string(text)), err
}

// test runs the tests of a module. Packages that the arguments name come before the others: the
// go command tests in the order of its command line. A test that fails is no error; it is told
// as an event.
func test(ctx context.Context, dir string, args []string, tell func(event)) error {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"test", "-json"}, args...), "./...")...) //nolint:gosec // who runs it chooses them
	var said strings.Builder
	cmd.Dir, cmd.Stderr = dir, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed := false
	for events := json.NewDecoder(stdout); err == nil; {
		var e event
		if err = events.Decode(&e); err == nil {
			failed = failed || e.Action == "fail"
			tell(e)
		}
	}
	broken := err
	err = cmd.Wait()
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.As(err, &status) && failed:
		return nil
	case err != nil:
		return fmt.Errorf("%w\n%s", err, said.String())
	case broken != io.EOF:
		return broken
	}
	return nil
}
