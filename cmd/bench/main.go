// Command bench prints the figures that docs/benchmarks.md quotes, all in one run and as
// ratios where it can, so that they mean the same on every machine. The main table is what
// the gateway costs beside a plain reverse proxy; it and that of limits have an older gateway
// beside this one if -beside names one. The others are what the sandbox costs a parser, and how
// soon the gateway answers after a start. What single packages cost is in their own benchmarks.
//
// "make bench" builds what it measures and runs it. Servers are processes of their
// own on loopback: the gateway, and this program again as proxy and as upstream.
// Things that are compared take turns, since a machine is seldom alone, and every
// answer is checked. A missed target is shown and does not fail the run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxRun        = 30 * time.Minute // bounds the whole run
	gatewayBinary = "bin/callgate"   // is what "make build" makes
)

// bench is one run.
type bench struct {
	time     time.Duration // for each thing that is measured
	rounds   int           // in which all contenders take turns
	dir      string        // for temporary files
	large    int           // bytes of a large answer
	files    int           // configurations that were written
	programs []*program    // this tree's gateway, and perhaps an older one
}

// section is one table of figures.
type section struct {
	name string
	run  func(context.Context, *bench) (*table, error)
}

// sections are those whose name the expression fits. A fit of one of its parts is enough
// for the main table, which then has that part.
func sections(wanted *regexp.Regexp) []section {
	var list []section
	main := slices.DeleteFunc(parts(), func(p part) bool { return !wanted.MatchString(p.name) })
	if len(main) > 0 {
		list = append(list, section{"gateway", measureMain(main)})
	}
	return append(list, slices.DeleteFunc([]section{
		{"parse", measureParse},
		{"structured", measureStructured},
		{"languages", measureLanguages},
		{"tools", measureTools},
		{"limits", measureLimits},
		{"start", measureStart},
	}, func(s section) bool { return !wanted.MatchString(s.name) })...)
}

func main() { os.Exit(command()) }

// command runs the program until it is done, or told to stop, and gives its exit
// status.
func command() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, maxRun)
	defer cancel()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	return 1
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 2 && args[0] == mockCommand {
		large, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return serveMock(ctx, stdout, large)
	}
	if len(args) == 2 && args[0] == proxyCommand {
		return serveProxy(ctx, stdout, args[1])
	}
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	for _, s := range sections(regexp.MustCompile("^[^/]*$")) {
		names = append(names, s.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	each := flags.Duration("time", 3*time.Second, "how long each thing is measured, 100ms to 1m")
	only := flags.String("only", "", "`regexp` of what to measure: "+strings.Join(names, ", "))
	beside := flags.String("beside", "", "an older gateway's `binary`, to be measured in turn with this tree's")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *each < 100*time.Millisecond || *each > time.Minute {
		return fmt.Errorf("-time is %v, want 100ms to 1m", *each)
	}
	chosen := sections(wanted)
	if len(chosen) == 0 {
		return fmt.Errorf("-only %q fits nothing", *only)
	}
	dir, err := os.MkdirTemp("", "callgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{time: *each, rounds: mostRounds, dir: dir, large: largeAnswer, programs: []*program{{name: "callgate", path: gatewayBinary, cacheDir: filepath.Join(dir, "cache")}}}
	if *beside != "" {
		b.programs = append(b.programs, &program{name: "older", path: *beside, cacheDir: filepath.Join(dir, "cache-older")})
	}
	return b.measure(ctx, chosen, stdout)
}

// measure runs sections and prints each table when it is there.
func (b *bench) measure(ctx context.Context, chosen []section, stdout io.Writer) error {
	fmt.Fprintf(stdout, "%s %s/%s, %d CPUs, %v each\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.time)
	for _, s := range chosen {
		load := watchCPU()
		t, err := s.run(ctx, b)
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", s.name, context.Cause(ctx))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		t.Name, t.Others = s.name, figure(load.others())
		t.print(stdout)
	}
	return nil
}

// cpuWatch measures how much of the machine others use.
type cpuWatch struct {
	began          time.Time
	busy, ownAtAll float64
}

func watchCPU() cpuWatch { return cpuWatch{time.Now(), busyTime(), familyTime()} }

// others is the share of all CPUs, in percent, that went to processes that are
// neither this one nor its ended children. Where it is much, figures are worse
// than the code.
func (w cpuWatch) others() float64 {
	spent := busyTime() - w.busy - (familyTime() - w.ownAtAll)
	return math.Max(0, 100*spent/time.Since(w.began).Seconds()/float64(runtime.NumCPU()))
}
