package conformance

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// Option changes what Run does.
type Option func(*options)

type options struct {
	cases []Case
	known []string
}

// Only runs these cases and not the suite's own, or some of those.
func Only(cases ...Case) Option { return func(o *options) { o.cases = cases } }

// KnownFailing names cases that fail on the target. They are run all the same, and
// one that passes is an error until it is taken off the list. The text has one name
// a line; what follows a # is a comment.
func KnownFailing(text string) Option {
	return func(o *options) {
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			if line = strings.TrimSpace(line); line != "" {
				o.known = append(o.known, line)
			}
		}
	}
}

// Run runs the suite on a target whose upstream is up, each case as a subtest. It
// ends with how many ran and how many were skipped, by reason.
func Run(t *testing.T, target Target, up *Upstream, opts ...Option) {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.cases == nil {
		var err error
		if o.cases, err = Cases(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range o.known {
		if !slices.ContainsFunc(o.cases, func(c Case) bool { return c.Name == name }) {
			t.Errorf("the list of known failures has %q, but there is no such case", name)
		}
	}
	var n tally
	for _, c := range o.cases {
		t.Run(c.Name, func(t *testing.T) {
			r := Check(t.Context(), target, up, c)
			known := slices.Contains(o.known, c.Name)
			n.add(&c, &r, known)
			report(t, &c, &r, known)
		})
	}
	n.log(t)
}

// report turns a result into that of a test.
func report(t *testing.T, c *Case, r *Result, known bool) {
	t.Helper()
	switch {
	case r.Skipped != "":
		t.Skip(r.Skipped)
	case known && len(r.Failures) == 0:
		t.Error("this case is on the list of known failures and passes: take it off")
	case known:
		t.Logf("fails, as is known: %s: %s", r.Failures[0].Exchange, r.Failures[0].Faults[0])
	case len(r.Failures) > 0:
		t.Errorf("%s\nrule: %s", c.About, c.Rule)
		for i, f := range r.Failures {
			answer := ""
			if i == 0 {
				answer = fmt.Sprintf("\nthe answer, status %d:\n%s", f.Status, excerpt(f.Body))
			}
			t.Errorf("%s:\n  %s%s", f.Exchange, strings.Join(f.Faults, "\n  "), answer)
		}
	}
}

// excerpt is the beginning and the end of a body.
func excerpt(body []byte) string {
	const half = 1500
	if len(body) <= 2*half {
		return string(body)
	}
	return string(body[:half]) + "\n…\n" + string(body[len(body)-half:])
}

// tally counts results.
type tally struct {
	dirs    map[string]*count // by directory of the suite
	skipped map[string]int    // by reason
}

type count struct{ passed, failed, known, exchanges int }

func (n *tally) add(c *Case, r *Result, known bool) {
	if n.dirs == nil {
		*n = tally{map[string]*count{}, map[string]int{}}
	}
	if r.Skipped != "" {
		n.skipped[r.Skipped]++
		return
	}
	dir := path.Dir(c.Name)
	if n.dirs[dir] == nil {
		n.dirs[dir] = &count{}
	}
	d := n.dirs[dir]
	d.exchanges += r.Exchanges
	switch {
	case len(r.Failures) == 0:
		d.passed++
	case known:
		d.known++
	default:
		d.failed++
	}
}

func (n *tally) log(t *testing.T) {
	t.Helper()
	for _, dir := range slices.Sorted(maps.Keys(n.dirs)) {
		d := n.dirs[dir]
		t.Logf("%s: %d passed, %d failed, %d known to fail, in %d exchanges", dir, d.passed, d.failed, d.known, d.exchanges)
	}
	for _, reason := range slices.Sorted(maps.Keys(n.skipped)) {
		t.Logf("%d skipped: %s", n.skipped[reason], reason)
	}
}
