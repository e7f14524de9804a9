package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// figure is a measured value. It is NaN where there is none.
type figure float64

// none stands where there is no figure.
func none() figure { return figure(math.NaN()) }

func (f figure) missing() bool { return math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) }

// String writes three significant digits, more for large numbers.
func (f figure) String() string {
	size := math.Abs(float64(f))
	switch {
	case f.missing():
		return "-"
	case size < 9.995:
		return fmt.Sprintf("%.2f", float64(f))
	case size < 99.95:
		return fmt.Sprintf("%.1f", float64(f))
	}
	return fmt.Sprintf("%.0f", float64(f))
}

// target is what a figure should be: at most a limit.
type target struct {
	what  string // is to be so, such as "sandboxed median"
	value figure
	limit float64
	unit  string
}

func upTo(what string, value figure, limit float64, unit string) *target {
	return &target{what, value, limit, unit}
}

func (t *target) String() string {
	if t == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s ≤ %g%s", t.what, t.limit, t.unit))
}

// verdict says whether the target is met.
func (t *target) verdict() string {
	switch {
	case t == nil:
		return ""
	case math.IsNaN(float64(t.value)):
		return "n/a"
	case float64(t.value) <= t.limit:
		return "met"
	}
	return "MISSED"
}

// column has a heading of two lines. Neighbours may share the first.
type column struct{ group, name string }

// row has a figure for each column of its table.
type row struct {
	name    string
	figures []figure
	target  *target
	// In the main table: a figure that would be better still, what others' gateways take,
	// and a line below the table.
	beyond, peers, note string
}

// table is what a section measured.
type table struct {
	Name, Title string
	Columns     []column
	Rows        []row
	Note        string
	Others      figure // percent of the CPUs that others used meanwhile
}

// print writes the table for people.
func (t *table) print(out io.Writer) {
	fmt.Fprintf(out, "\n%s: %s\n\n", t.Name, t.Title)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var groups, names []string
	last, notes := "", ""
	for _, c := range t.Columns {
		group := c.group
		if group == last {
			group = ""
		}
		last = c.group
		groups, names = append(groups, group), append(names, c.name)
	}
	if strings.Join(groups, "") != "" {
		fmt.Fprintf(w, "\t%s\n", strings.Join(groups, "\t"))
	}
	further := ""
	if slices.ContainsFunc(t.Rows, func(r row) bool { return r.beyond+r.peers != "" }) {
		further = "\tbeyond\tpeers"
	}
	fmt.Fprintf(w, "\t%s\ttarget\t%s\n", strings.Join(names, "\t"), further)
	for _, r := range t.Rows {
		fmt.Fprint(w, r.name)
		for _, f := range r.figures {
			fmt.Fprint(w, "\t", f)
		}
		fmt.Fprintf(w, "\t%s\t%s\t%s\t%s\n", r.target, r.target.verdict(), r.beyond, r.peers)
		notes += r.note
	}
	_ = w.Flush() // of a writer that keeps its error for nobody
	if notes+t.Note != "" {
		fmt.Fprintf(out, "\n%s%s\n", notes, t.Note)
	}
	if !t.Others.missing() {
		fmt.Fprintf(out, "\nOther processes used %s %% of the CPUs meanwhile.\n", t.Others)
	}
}

// quantile is the value that the share q of values does not exceed.
func quantile(values []float64, q float64) figure {
	if len(values) == 0 {
		return none()
	}
	sorted := slices.Sorted(slices.Values(values))
	return figure(sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)])
}

// best is the value without what a busy machine adds: the tenth percentile.
func best(values []float64) figure { return quantile(values, 0.1) }

// median is the value in the middle, or between the two that are.
func median(values []float64) figure {
	n := len(values)
	if n == 0 {
		return none()
	}
	sorted := slices.Sorted(slices.Values(values))
	return figure((sorted[(n-1)/2] + sorted[n/2]) / 2)
}

// pairwise is the median over the rounds of f of both values of a round.
func pairwise(a, b []float64, f func(a, b float64) float64) figure {
	var values []float64
	for i := range min(len(a), len(b)) {
		values = append(values, f(a[i], b[i]))
	}
	return median(values)
}

func quotient(a, b float64) float64 { return a / b }

func difference(a, b float64) float64 { return a - b }
