// Package trial puts a compiled plugin to the test in the sandbox that the gateway runs
// it in: golden cases, every way of cutting them, arguments that come twice or are no JSON as
// they are, texts that end early or go on, regions side by side, long, deep and repeated
// texts, fuzzed inputs, and what the plugin costs beside the built-in parsers. The
// plugin may be written in any language.
package trial

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
)

// Config says what is tried, and how.
type Config struct {
	// Plugin is the plugin on trial.
	Plugin plugins.Source
	// Builtin are the parsers that the gateway loads before any plugin: their names are
	// taken, and their costs are what the plugin's are compared with. No Wasm is none.
	Builtin plugins.Source
	// Against are the parsers of Builtin to compare with. Nil leaves the choice to the
	// form of the plugin's example.
	Against []string
	// Parsers are those of the plugin that are tried; nil is all of them.
	Parsers []string
	// Cases is a folder with golden cases, as contract.ReadCases reads it; a parser that
	// has a folder of its name in it has its cases there. "" is none.
	Cases string
	// Update writes the events of the cases anew instead of comparing them.
	Update bool
	// Read reads a text with a parser as the gateway does, which finds the parser's regions in
	// it, and returns what the gateway warns of: chain.ReadAlone does so. Costs needs none.
	Read func(ctx context.Context, s *plugins.Session, p *abi.Parser, opts abi.Options, text string) (warnings []string)
	// Fuzz is how long texts are made up; 0 is not at all. Seed chooses them.
	Fuzz time.Duration
	Seed uint64
	// CacheDir is as that of plugins.Config.
	CacheDir string
	// Compiler is as that of plugins.Config.
	Compiler func(context.Context) *exec.Cmd

	// For tests, which must not depend on how busy a machine is: so many texts are made up
	// instead, and reading one may take so many times as long. Both are usual if they are 0.
	texts, slack int
}

// Check is a kind of trial that a parser was put to.
type Check struct {
	Name   string  `json:"name"` // load, cases, probes, arguments, text, regions, limits, growth or fuzz
	Parser string  `json:"parser,omitempty"`
	Tried  int     `json:"tried"`          // cases, or texts
	Read   int     `json:"read,omitempty"` // how often a text was read, whole or cut
	Ratio  float64 `json:"ratio,omitempty"`
	// Written is how many cases have other events than before: Config.Update.
	Written int `json:"written,omitempty"`
}

// Failure is something that is not as it should be.
type Failure struct {
	Check   string `json:"check"`
	Parser  string `json:"parser,omitempty"`
	Case    string `json:"case,omitempty"`  // its name, or what the text is
	Input   string `json:"input,omitempty"` // a text that was made up
	Cut     string `json:"cut,omitempty"`   // how the text was cut, "" for not at all
	Problem string `json:"problem"`

	// broken means that the parser does not keep the contract, and not just that a case
	// wants something else.
	broken bool
}

// String is the failure in one line.
func (f Failure) String() string {
	s := f.Check
	if f.Parser != "" {
		s += " of " + f.Parser
	}
	if f.Case != "" {
		s += ", " + f.Case
	}
	if f.Input != "" {
		s += fmt.Sprintf(", %q", f.Input)
	}
	if f.Cut != "" {
		s += ", cut " + f.Cut
	}
	return plaintext.Line(s + ": " + f.Problem)
}

// Report is what came of a trial.
type Report struct {
	Plugin   string    `json:"plugin"`
	Parsers  []string  `json:"parsers"`
	Checks   []Check   `json:"checks"`
	Failures []Failure `json:"failures"`
	Seed     uint64    `json:"seed"` // of the texts that were made up
	Costs    []Cost    `json:"costs,omitempty"`
}

// trial is a trial under way.
type trial struct {
	cfg     Config
	host    *plugins.Host
	printed *printed
	took    time.Duration // of the last region that was closed
	report  Report
	broken  bool
}

// A response may take a second in the gateway. Here it may take longer, so that what is
// too slow can be measured.
const (
	allowed  = time.Second
	total    = time.Minute
	patience = 10 * time.Second // with a text, on a clock that also counts what others do
)

// patient is a time limit with the slack of the configuration.
func (c *Config) patient(d time.Duration) time.Duration { return time.Duration(max(1, c.slack)) * d }

// Run tries a plugin. What is wrong with the plugin is in the report; an error is about
// the cases, the built-in parsers or the context.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	t, err := start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer t.host.Close(context.WithoutCancel(ctx))
	parsers, ok := t.load(ctx)
	if !ok {
		return &t.report, nil
	}
	subjects, err := t.subjects(ctx, parsers)
	if err != nil {
		return nil, err
	}
	for _, s := range subjects {
		if err := t.tryCases(ctx, s); err != nil {
			return nil, err
		}
	}
	for _, step := range []func(context.Context, *subject){t.probe, t.tryArguments, t.tryText, t.tryRegions, t.tryLimits, t.tryGrowth, t.fuzz} {
		for _, s := range subjects {
			if t.broken || ctx.Err() != nil { // one line says it, and what follows would say it again
				return &t.report, context.Cause(ctx)
			}
			step(ctx, s)
		}
	}
	if !t.broken && len(cfg.Builtin.Wasm) > 0 {
		t.report.Costs, err = comparison{t}.costs(ctx, subjects)
	}
	return &t.report, errors.Join(err, context.Cause(ctx))
}

// start makes a host with the built-in parsers.
func start(ctx context.Context, cfg Config) (*trial, error) {
	if len(cfg.Builtin.Wasm) > 0 && cfg.Plugin.Name == cfg.Builtin.Name { // it would be taken for a new version of that
		cfg.Plugin.Name += "/"
	}
	t := &trial{cfg: cfg, printed: &printed{}}
	t.report = Report{Plugin: cfg.Plugin.Name, Seed: cfg.Seed, Checks: []Check{}, Failures: []Failure{}}
	host, err := plugins.New(ctx, plugins.Config{
		CacheDir: cfg.CacheDir, Compiler: cfg.Compiler, Limits: plugins.Limits{Time: time.Duration(cfg.slack) * 100 * time.Millisecond, Total: total}, Failures: 1 << 30,
		Took: func(_ string, d time.Duration) { t.took = d }, Log: slog.New(t.printed),
	})
	if err != nil {
		return nil, err
	}
	if len(cfg.Builtin.Wasm) > 0 {
		if err := host.Load(ctx, cfg.Builtin); err != nil {
			return nil, errors.Join(err, host.Close(ctx))
		}
	}
	t.host = host
	return t, nil
}

// load loads the plugin as the gateway does.
func (t *trial) load(ctx context.Context) ([]abi.Parser, bool) {
	if err := t.host.Load(ctx, t.cfg.Plugin); err != nil {
		problem := err.Error()
		if e, ok := errors.AsType[*plugins.LoadError](err); ok {
			problem = e.Why()
		}
		t.fail(Failure{Check: "load", Problem: problem, broken: true})
		return nil, false
	}
	modules := t.host.Modules()
	parsers := modules[len(modules)-1].Manifest.Parsers
	t.report.Checks = append(t.report.Checks, Check{Name: "load", Tried: len(parsers)})
	return parsers, true
}

func (t *trial) fail(f Failure) {
	t.report.Failures = append(t.report.Failures, f)
	t.broken = t.broken || f.broken
}

// subject is a parser on trial.
type subject struct {
	*abi.Parser

	dir     string // of its cases, "" if it has none
	cases   []contract.Case
	options abi.Options // for texts that are no case's
}

// subjects are the parsers that the configuration wants tried.
func (t *trial) subjects(ctx context.Context, parsers []abi.Parser) ([]*subject, error) {
	var out []*subject
	for i := range parsers {
		p := &parsers[i]
		if t.cfg.Parsers != nil && !slices.Contains(t.cfg.Parsers, p.Name) {
			continue
		}
		s, err := t.subject(p, len(parsers) == 1)
		if err != nil {
			return nil, err
		}
		s.settle(ctx, t.host.Session())
		out = append(out, s)
		t.report.Parsers = append(t.report.Parsers, p.Name)
	}
	for _, name := range t.cfg.Parsers {
		if !slices.Contains(t.report.Parsers, name) {
			return nil, fmt.Errorf("plugin %s has no parser %q", t.cfg.Plugin.Name, name)
		}
	}
	return out, nil
}

// subject finds the cases of a parser. The only one of a plugin may have them in the
// folder itself.
func (t *trial) subject(p *abi.Parser, alone bool) (*subject, error) {
	s := &subject{Parser: p}
	if t.cfg.Cases != "" {
		s.dir = filepath.Join(t.cfg.Cases, p.Name)
		if _, err := os.Stat(s.dir); err != nil {
			if s.dir = ""; alone {
				s.dir = t.cfg.Cases
			}
		}
	}
	if s.dir != "" {
		var err error
		if s.cases, err = contract.ReadCases(s.dir); err != nil {
			return nil, err
		}
	}
	for _, c := range s.cases {
		s.options.Tools = c.Options.Tools
	}
	if s.options.Tools == nil {
		s.options.Tools = []abi.Tool{{Name: "get_weather", Params: []abi.Param{{Name: "city", Types: abi.String, Required: true}}}}
	}
	return s, nil
}

// settle gives a parser that cannot be opened without settings those of its first case with some.
func (s *subject) settle(ctx context.Context, session *plugins.Session) {
	defer session.Close()
	i := slices.IndexFunc(s.cases, func(c contract.Case) bool { return len(c.Options.Settings) > 0 })
	if i < 0 {
		return
	}
	run, err := session.Open(ctx, s.Name, s.options)
	if err != nil {
		s.options.Settings = s.cases[i].Options.Settings
		return
	}
	run.Close()
}
