package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are what Run may be told. The zero value runs the whole suite, one case after
// the other.
type Options struct {
	Cases    []Case            // instead of the suite's own
	Match    func(string) bool // the names of the cases to run; nil is all
	Known    []string          // cases that fail; see ReadKnown
	Level    Level             // up to which failures make the run fail; "" is the last. All levels are judged
	Wait     time.Duration     // how long the gateway may take until it leads to the upstream; it may be up first, and have given up
	Parallel int               // cases at once, of models that differ at the upstream; default 1
	// Partial skips the cases of models that do not lead to the upstream, as long as one
	// does. Without it they are an error.
	Partial bool
	// Progress is called after each case, by one goroutine at a time. It may be nil.
	Progress func(o *Outcome)
}

// Run runs the suite on a target whose upstream is up. The error says that nothing could
// be run at all: the target does not lead to the upstream, or the options are wrong. A
// case that fails is no error: see Report.OK. If ctx ends, what is left is not run.
func Run(ctx context.Context, target Target, up *Upstream, o Options) (*Report, error) {
	cases, err := o.choose()
	if err != nil {
		return nil, err
	}
	if _, err := ParseLevel(string(o.Level)); err != nil {
		return nil, err
	}
	began := time.Now()
	claimed := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return target.skips(&c) != "" })
	way, err := probe(ctx, &target, up, claimed, &o)
	if err != nil {
		return nil, err
	}
	if err := way.missing(); err != nil && !o.Partial {
		return nil, err
	}
	r := &runner{ctx: ctx, target: &target, up: up, way: way, options: &o, outcomes: map[string]*Outcome{}}
	r.all(cases)
	report := &Report{Target: target.BaseURL, Level: o.Level, Began: began, Took: time.Since(began)}
	for i := range cases {
		if out := r.outcomes[cases[i].Name]; out != nil {
			report.Cases = append(report.Cases, out)
		}
	}
	if n := up.stray(); n > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d requests came to the upstream that belonged to no running case: retries that come late, or another client", n))
	}
	if n := report.unasked(); n > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d cases failed since the upstream was not asked at all: switch the gateway's circuit breakers, "+
			"cool-downs, rate limits and caches off for the run, or a case that plays a failing upstream fails the next", n))
	}
	return report, ctx.Err()
}

// unasked is how many cases failed where the gateway did not ask the upstream, and said so with
// an error of its own: what a circuit breaker does.
func (r *Report) unasked() (n int) {
	for _, o := range r.Cases {
		if slices.ContainsFunc(o.Failures, func(f Failure) bool {
			return (f.Status == http.StatusTooManyRequests || f.Status >= http.StatusInternalServerError) &&
				slices.ContainsFunc(f.Faults, func(f Fault) bool {
					return strings.HasPrefix(f.Text, "the upstream was not asked") || strings.HasPrefix(f.Text, "the upstream was asked 0 times")
				})
		}) {
			n++
		}
	}
	return n
}

// choose are the cases to run.
func (o *Options) choose() ([]Case, error) {
	cases := o.Cases
	if cases == nil {
		var err error
		if cases, err = Cases(); err != nil {
			return nil, err
		}
	}
	if err := checkKnown(o.Known, cases); err != nil {
		return nil, err
	}
	if o.Match == nil {
		return cases, nil
	}
	cases = slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return !o.Match(c.Name) })
	if len(cases) == 0 {
		return nil, fmt.Errorf("no case has a name that matches")
	}
	return cases, nil
}

// runner is a run.
type runner struct {
	ctx     context.Context //nolint:containedctx // a run's context lives as long as the run
	target  *Target
	up      *Upstream
	way     *probed
	options *Options

	mu       sync.Mutex
	outcomes map[string]*Outcome
}

// all runs cases: those of different lanes at once, then those that need the upstream
// for themselves, since nobody knows what their bytes make the gateway ask for.
func (r *runner) all(cases []Case) {
	var lanes [][]*Case
	var alone []*Case
	at := map[string]int{}
	for i := range cases {
		c := &cases[i]
		lane := r.way.lanes[r.target.model(c.Reader())]
		if c.Client != nil || c.RawRequest != nil || lane == "" {
			alone = append(alone, c)
			continue
		}
		if _, ok := at[lane]; !ok {
			at[lane] = len(lanes)
			lanes = append(lanes, nil)
		}
		lanes[at[lane]] = append(lanes[at[lane]], c)
	}
	slices.SortStableFunc(lanes, func(a, b []*Case) int { return len(b) - len(a) }) // the longest is not to be the last
	each(r.options.Parallel, lanes, func(list []*Case) {
		for _, c := range list {
			r.one(c, true)
		}
	})
	for _, c := range alone {
		r.one(c, false)
	}
}

// one runs a case, on its lane or with the upstream for itself.
func (r *runner) one(c *Case, shared bool) {
	if r.ctx.Err() != nil {
		return
	}
	began := time.Now()
	model := r.target.model(c.Reader())
	out := &Outcome{Case: c}
	if out.Skipped = r.target.skips(c); out.Skipped == "" && r.way.why[model] != "" {
		out.Skipped = fmt.Sprintf("the model %q does not lead to the upstream", model)
	}
	if out.Skipped == "" {
		on := route{model: model}
		if shared {
			on.lane = r.way.lanes[model]
		}
		out.Result = c.run(r.ctx, r.target, r.up, on)
	}
	if r.ctx.Err() != nil && len(out.Failures) > 0 {
		return // it failed because the run was ended
	}
	out.Took = time.Since(began)
	level := r.options.Level
	if level == "" {
		level = Own
	}
	out.judge(level, slices.Contains(r.options.Known, c.Name))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[c.Name] = out
	if r.options.Progress != nil {
		r.options.Progress(out)
	}
}
