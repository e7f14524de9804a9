package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is one of "go test -json": see "go doc test2json" and "go help buildjson".
type event struct {
	Action      string
	Package     string
	ImportPath  string // of what is built
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string // why a package failed: what was not built
}

const (
	mostOutput  = 64 << 10 // bytes that are kept of what a test prints: its end
	mostReasons = 6        // reasons for skipping in the summary
	mostFailed  = 3        // names of what failed in the summary
	root        = "github.com/callgate/callgate/"
)

// report is what is known of a run. It tells what ends as it ends.
type report struct {
	mu       sync.Mutex
	out      io.Writer
	expected map[string]bool
	running  map[string]*pkg
	built    map[string]string // what the compiler said, by package
	told     time.Time         // when something was written

	done        int // packages
	tests, subs int // that ran
	failed      []string
	skipped     int
	reasons     map[string]int // why tests were skipped, and how many
}

// pkg is a package whose tests run.
type pkg struct {
	began  time.Time
	output map[string][]byte // by test; "" is the package itself
	ended  map[string]string // actions, by test
}

func newReport(out io.Writer) *report {
	return &report{out: out, expected: map[string]bool{}, running: map[string]*pkg{}, built: map[string]string{}, reasons: map[string]int{}, told: time.Now()}
}

// expect adds packages that will come.
func (r *report) expect(packages []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range packages {
		r.expected[p] = true
	}
}

// add takes an event.
func (r *report) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.Action {
	case "build-output":
		r.built[e.ImportPath] += e.Output
		return
	case "build-fail":
		return
	}
	p := r.running[e.Package]
	if p == nil {
		p = &pkg{began: time.Now(), output: map[string][]byte{}, ended: map[string]string{}}
		r.running[e.Package] = p
	}
	switch e.Action {
	case "output":
		p.output[e.Test] = append(p.output[e.Test], e.Output...)
		p.output[e.Test] = p.output[e.Test][max(0, len(p.output[e.Test])-mostOutput):]
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.end(e, p)
			return
		}
		p.ended[e.Test] = e.Action
		r.count(e, p)
	}
}

// count adds a test that has ended to the sums.
func (r *report) count(e event, p *pkg) {
	switch {
	case e.Action == "skip":
		r.skipped++
		r.reasons[cmp.Or(reason(p.output[e.Test]), short(e.Package)+"."+e.Test+" does not say why")]++
	case strings.Contains(e.Test, "/"):
		r.subs++
	default:
		r.tests++
	}
	if e.Action != "fail" {
		delete(p.output, e.Test)
	}
}

var position = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// reason is why a test was skipped: the last that it said.
func reason(output []byte) (why string) {
	for line := range strings.Lines(string(output)) {
		if m := position.FindStringSubmatch(line); m != nil {
			why = strings.TrimSpace(m[1])
		}
	}
	return why
}

// end tells how a package went, and what those of its tests printed that failed.
func (r *report) end(e event, p *pkg) {
	delete(r.running, e.Package)
	if !r.expected[e.Package] && e.Action != "fail" {
		return // it has no tests
	}
	r.done++
	word := "ok"
	if e.Action == "fail" {
		word = "FAIL"
		r.tellFailures(e, p)
	}
	r.say("[%*d/%d] %-4s %6.1fs %s", len(fmt.Sprint(len(r.expected))), r.done, len(r.expected), word, e.Elapsed, short(e.Package))
}

// tellFailures prints what the tests of a package printed that failed, and notes them.
func (r *report) tellFailures(e event, p *pkg) {
	r.say("")
	var failed []string
	for _, test := range slices.Sorted(maps.Keys(p.output)) {
		// One that was under way as another one ended the process did not fail.
		if p.ended[test] == "fail" || test != "" && panics(p.output[test]) {
			failed = append(failed, test)
			r.say("%s", told(p.output[test]))
		}
	}
	if len(failed) == 0 { // it was not built, or failed as a whole
		r.failed = append(r.failed, short(e.Package))
		r.say("%s", told([]byte(r.built[e.FailedBuild]+string(p.output[""]))))
	}
	for i, test := range failed { // in order: what is within a test follows it
		if i+1 == len(failed) || !strings.HasPrefix(failed[i+1], test+"/") {
			r.failed = append(r.failed, short(e.Package)+"."+test)
		}
	}
}

func panics(output []byte) bool { return bytes.Contains(output, []byte("panic: ")) }

// told is what a test printed, without the lines about when it ran.
func told(output []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(output)) {
		if !strings.HasPrefix(line, "=== ") {
			b.WriteString(line)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// broke notes that the tests of a module could not be run to their end.
func (r *report) broke(dir string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, "the tests in "+dir)
	r.say("the tests in %s: %v", dir, err)
}

// waits tells what is under way if nothing was told for a while.
func (r *report) waits(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.told) < d || len(r.running) == 0 {
		return
	}
	var list []string
	for name, p := range r.running {
		list = append(list, fmt.Sprintf("%s for %ds, %d tests", short(name), int(time.Since(p.began).Seconds()), len(p.ended)))
	}
	slices.Sort(list)
	r.say("    ... %s", strings.Join(list, "; "))
}

// summary tells the whole, in ten lines at most, and whether all went well.
func (r *report) summary(took time.Duration) (ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say("")
	if n := len(r.failed); n > 0 {
		r.say("FAILED: %s", some(r.failed, mostFailed))
	}
	r.say("%d tests with %d subtests ran in %d of %d packages, in %s: %d failed, %d skipped",
		r.tests, r.subs, r.done, len(r.expected), took.Round(time.Second), len(r.failed), r.skipped)
	reasons := slices.SortedFunc(maps.Keys(r.reasons), func(a, b string) int {
		return cmp.Or(r.reasons[b]-r.reasons[a], strings.Compare(a, b))
	})
	for i, why := range reasons {
		if i == mostReasons && len(reasons) > mostReasons {
			r.say("  skipped, for %d more reasons: see go test -v", len(reasons)-i)
			break
		}
		r.say("  %d skipped: %.300s", r.reasons[why], why)
	}
	return len(r.failed) == 0
}

// some are the first of a list, and how many more there are.
func some(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}

func short(path string) string { return strings.TrimPrefix(path, root) }

func (r *report) say(format string, args ...any) {
	r.told = time.Now()
	fmt.Fprintf(r.out, format+"\n", args...)
}
