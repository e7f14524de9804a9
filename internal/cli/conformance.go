package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/callgate/callgate/conformance"
)

type conformCmd struct {
	Suite  suiteCmd       `cmd:"" name:"run" default:"withargs" help:"Test a gateway, this one or another, against the suite; conformance alone does so too."`
	Config suiteConfigCmd `cmd:"" help:"Print the configuration that a gateway under test needs."`
}

// suiteCmd runs the conformance suite on any gateway.
type suiteCmd struct {
	Target         string            `xor:"target" required:"" help:"Base URL of the gateway under test, with its /v1." placeholder:"URL"`
	Self           bool              `xor:"target" required:"" help:"Test this program: start it as a child process, with the configuration of \"callgate conformance config\"."`
	Key            string            `env:"CALLGATE_CONFORMANCE_KEY" help:"A key of the gateway; without one the cases about keys are skipped." placeholder:"KEY"`
	UpstreamListen string            `help:"Address on which the suite plays the gateway's upstream; ${default} by default." default:"127.0.0.1:9090" placeholder:"ADDR"`
	Level          string            `enum:"core,strict,callgate," default:"" help:"Level up to which failures count for the exit status: core (what clients need, each rule with its source), strict (bytes, framing, spelling too), callgate (this project's conventions too). All are run and printed. Default: core, and callgate with --self." placeholder:"LEVEL"`
	Header         []string          `sep:"none" help:"A header that is sent with every request, such as 'x-portkey-provider: openai'. May be repeated." placeholder:"NAME:VALUE"`
	Wait           time.Duration     `default:"15s" help:"How long the gateway may take to reach the suite's upstream, which it may have found gone when it started first." placeholder:"TIME"`
	Features       []string          `help:"Features that the gateway claims; the rest is skipped. Default: all." placeholder:"NAME"`
	Without        []string          `help:"Features that it does not claim, instead of --features." placeholder:"NAME"`
	Models         map[string]string `help:"The gateway's models, by the parser that reads their text, such as \"hermes=qwen3-32b;none=plain\"; cases with other parsers are skipped. Default: named as the parsers." placeholder:"PARSER=MODEL"`
	ModelPrefix    string            `help:"Prefix of the default names." placeholder:"TEXT"`
	KnownFailing   string            `type:"existingfile" help:"List of cases that are known to fail, one a line. They must still fail." placeholder:"FILE"`
	Pattern        string            `name:"run" help:"Run the cases whose names match, such as '^(http|json)/'." placeholder:"REGEXP"`
	Report         []string          `help:"Write a report: .json, .xml (JUnit) or .md. May be repeated." placeholder:"FILE"`
	Parallel       int               `help:"Cases to run at once." default:"4"`
	Quiet          bool              `short:"q" help:"Print no progress, only failures and totals."`
}

// Run runs the suite, prints what failed and the totals, and writes the reports.
func (s *suiteCmd) Run(e *env) (err error) {
	options, target, err := s.prepare()
	if err != nil {
		return usageError{fmt.Errorf("conformance: %w", err)}
	}
	up := conformance.NewUpstream()
	defer func() { err = errors.Join(err, up.Close()) }()
	listen := s.UpstreamListen
	if s.Self {
		listen = "127.0.0.1:0"
	}
	url, err := up.Listen(listen)
	if err != nil {
		return usageError{fmt.Errorf("conformance: the upstream cannot listen (--upstream-listen): %w", err)}
	}
	if s.Self {
		child, err := startSelf(e.ctx, url)
		if err != nil {
			return err
		}
		defer child.stop()
		target.BaseURL, target.Key = child.url, child.key
	}
	if !s.Quiet && !s.Self {
		fmt.Fprintln(e.stderr, "warning: the gateway's own retries, circuit breakers, cool-downs, rate limits and caches must be off: "+
			"the suite plays upstreams that fail, and what a gateway remembers of one case fails the next")
	}
	if !s.Quiet {
		fmt.Fprintf(e.stderr, "testing %s; its upstream is %s\n", target.BaseURL, url)
		options.Progress = progress(e.stderr)
	}
	report, err := conformance.Run(e.ctx, target, up, options)
	if err != nil && report == nil {
		return fmt.Errorf("conformance: %w", err)
	}
	printConformance(e.stdout, report)
	if err := errors.Join(err, writeReports(s.Report, report)); err != nil {
		return err
	}
	if !report.OK() {
		return errFailed
	}
	return nil
}

// prepare turns the flags into what the suite takes.
func (s *suiteCmd) prepare() (o conformance.Options, t conformance.Target, err error) {
	t = conformance.Target{BaseURL: s.Target, Key: s.Key}
	if !s.Self {
		if _, err = baseURL(s.Target, "http://127.0.0.1:4000/v1"); err != nil {
			return o, t, fmt.Errorf("--target: %w", err)
		}
	}
	if t.Features, err = s.features(); err != nil {
		return o, t, err
	}
	if t.Header, err = readHeaders(s.Header); err != nil {
		return o, t, err
	}
	if o.Level, err = s.level(); err != nil {
		return o, t, err
	}
	o.Wait = s.Wait
	if s.Parallel < 1 {
		return o, t, fmt.Errorf("--parallel must be above 0, not %d", s.Parallel)
	}
	o.Parallel, o.Partial = s.Parallel, s.Models == nil && !s.Self // what is named by hand has to be there
	for _, file := range s.Report {
		if reportForms[filepath.Ext(file)] == nil {
			return o, t, fmt.Errorf("--report %s: the name must end in .json, .xml or .md", file)
		}
	}
	if t.Model, err = s.model(); err != nil {
		return o, t, err
	}
	if s.Pattern != "" {
		re, err := regexp.Compile(s.Pattern)
		if err != nil {
			return o, t, fmt.Errorf("--run: %w", err)
		}
		o.Match = re.MatchString
	}
	if s.KnownFailing != "" {
		text, err := os.ReadFile(s.KnownFailing)
		if err != nil {
			return o, t, err
		}
		o.Known = conformance.ReadKnown(string(text))
	}
	return o, t, nil
}

// model names the gateway's models, by the parsers; nil is the parsers' own names.
func (s *suiteCmd) model() (func(parser string) string, error) {
	switch prefix := s.ModelPrefix; {
	case s.Models != nil && prefix != "":
		return nil, errors.New("--models has whole names: leave --model-prefix out")
	case s.Models != nil:
		return func(parser string) string { return s.Models[parser] }, nil
	case prefix != "":
		return func(parser string) string { return prefix + parser }, nil
	}
	return nil, nil //nolint:nilnil // the names need no function
}

// level is what counts for the exit status.
func (s *suiteCmd) level() (conformance.Level, error) {
	if s.Level == "" && !s.Self {
		return conformance.Core, nil
	}
	return conformance.ParseLevel(s.Level)
}

// readHeaders reads headers as they are written.
func readHeaders(lines []string) (http.Header, error) {
	header := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("--header %q: it must be a name, a colon and a value", line)
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}

// features are those that the target claims, nil for all.
func (s *suiteCmd) features() ([]string, error) {
	all := append(conformance.Features(), conformance.Pieces)
	for _, f := range slices.Concat(s.Features, s.Without) {
		if !slices.Contains(all, f) {
			return nil, fmt.Errorf("there is no feature %q; there are %s", f, strings.Join(all, ", "))
		}
	}
	switch {
	case s.Features != nil && s.Without != nil:
		return nil, errors.New("--features and --without exclude each other")
	case s.Without != nil:
		return slices.DeleteFunc(all, func(f string) bool { return slices.Contains(s.Without, f) }), nil
	}
	return s.Features, nil
}

// progress prints each case that fails as it does, and how far the run is.
func progress(w io.Writer) func(o *conformance.Outcome) {
	const step = 200
	done, failed := 0, 0
	return func(o *conformance.Outcome) {
		if done++; o.Verdict.Unexpected() && !o.Beyond {
			failed++
			fmt.Fprintf(w, "%s %s\n", strings.ToUpper(string(o.Verdict)), o.Case.Name)
		}
		if done%step == 0 {
			fmt.Fprintf(w, "%d cases, %d failed\n", done, failed)
		}
	}
}

// maxPrinted is how many failures are printed in full. The reports have all of them.
const maxPrinted = 40

// printConformance prints what failed, each with its rule and file, and the totals.
func printConformance(w io.Writer, r *conformance.Report) {
	unexpected := r.Unexpected()
	for _, o := range unexpected[:min(len(unexpected), maxPrinted)] {
		fmt.Fprintf(w, "%s: %s\n  %s\n  rule: %s\n  file: %s\n", strings.ToUpper(string(o.Verdict)), o.Case.Name, o.Case.About, o.BrokenRule(), o.Case.File())
		fmt.Fprintf(w, "  %s\n\n", strings.ReplaceAll(strings.TrimSpace(o.Details()), "\n", "\n  "))
	}
	if n := len(unexpected) - maxPrinted; n > 0 {
		fmt.Fprintf(w, "and %d more, which a --report has\n\n", n)
	}
	for _, l := range r.Levels() {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(t, "%s\tpassed\tfailed\tknown\tskipped\texchanges\t\n", l.Level)
		for _, a := range append(l.Areas, conformance.AreaTotals{Area: "all", Totals: l.Totals}) {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t\n", a.Area, a.Passed, a.Failed+a.KnownPassed, a.KnownFailed, a.Skipped, a.Exchanges)
		}
		_ = t.Flush()
		fmt.Fprintln(w)
	}
	for _, s := range r.Skipped() {
		fmt.Fprintf(w, "%d skipped: %s\n", s.Cases, s.Reason)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	fmt.Fprintln(w, r.Summary())
}

// reportForms are the forms of a report, by the ending of the file's name.
var reportForms = map[string]func(r *conformance.Report, w io.Writer) error{ //nolint:gochecknoglobals // a table
	".json": (*conformance.Report).WriteJSON,
	".xml":  (*conformance.Report).WriteJUnit,
	".md":   (*conformance.Report).WriteMarkdown,
}

// writeReports writes a report to each file, in the form of its name.
func writeReports(files []string, r *conformance.Report) error {
	for _, file := range files {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		if err := errors.Join(reportForms[filepath.Ext(file)](r, f), f.Close()); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
