package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/builtin"
	"github.com/callgate/callgate/plugins/trial"
	"github.com/callgate/callgate/sdk/abi"
)

type pluginTestCmd struct {
	Plugin string        `arg:"" optional:"" default:"." help:"Folder of a project, which is built, or a .wasm file. By default this folder."`
	Cases  string        `help:"Folder with golden cases: *.case, or a folder for each parser. By default the project's testdata." placeholder:"DIR"`
	Parser []string      `help:"Parser of the plugin to test; all of them by default." placeholder:"NAME"`
	Update bool          `help:"Rewrite the events of the cases; review them before you keep them."`
	Fuzz   time.Duration `help:"How long to fuzz with random inputs; 0s disables it." default:"2s" placeholder:"TIME"`
	Seed   uint64        `help:"Seed of the fuzzed inputs." default:"1"`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// Run tests the plugin. The status of one that fails is exitFailed.
func (p *pluginTestCmd) Run(e *env) error {
	cfg, err := trialConfig(e, p.Plugin, p.Cases)
	if err != nil {
		return err
	}
	cfg.Parsers, cfg.Update, cfg.Fuzz, cfg.Seed = p.Parser, p.Update, p.Fuzz, p.Seed
	report, err := trial.Run(e.ctx, cfg)
	if err != nil {
		return usageError{fmt.Errorf("plugin test: %w", err)}
	}
	if p.Cases != "" && !hasCases(report) {
		return usageError{fmt.Errorf("--cases: there is no .case file in %q, nor in a folder of a parser's name in it", p.Cases)}
	}
	if p.JSON {
		err = printJSON(e.stdout, report)
	} else {
		err = printReport(e.stdout, report)
	}
	if err == nil && len(report.Failures) > 0 {
		return errFailed
	}
	return err
}

// hasCases reports whether a case was read, or the plugin did not get so far.
func hasCases(r *trial.Report) bool {
	looked := false
	for _, c := range r.Checks {
		if c.Name == "cases" {
			looked = true
			if c.Tried > 0 {
				return true
			}
		}
	}
	return !looked
}

// trialConfig reads a plugin, or builds it, and finds its cases.
func trialConfig(e *env, plugin, cases string) (trial.Config, error) {
	var cfg trial.Config
	info, err := os.Stat(plugin)
	cfg.Plugin.Name = plugin
	if err == nil && info.IsDir() || err != nil && filepath.Ext(plugin) != ".wasm" {
		if cfg.Plugin.Wasm, err = buildProject(e, plugin); err != nil {
			return cfg, err
		}
		own := filepath.Join(plugin, "testdata")
		if _, err := os.Stat(own); err == nil && cases == "" {
			cases = own
		}
	} else if cfg.Plugin.Wasm, err = os.ReadFile(plugin); err != nil {
		return cfg, usageError{err}
	}
	cfg.Cases = cases
	cfg.Read = func(ctx context.Context, s *plugins.Session, p *abi.Parser, opts abi.Options, text string) []string {
		return chain.ReadAlone(ctx, chain.Runs(s), p, opts, text).Warnings
	}
	wasm, err := e.builtin(builtin.Name)
	if err != nil {
		return cfg, err
	}
	cfg.Builtin, cfg.Compiler = plugins.Source{Name: builtin.Name, Wasm: wasm, Trusted: true}, compiler
	cfg.CacheDir, _ = cacheDir("") // without a cache it only takes longer
	return cfg, nil
}

// printReport prints what came of a trial: a line a check, a line a failure, and a table
// of costs.
func printReport(out io.Writer, r *trial.Report) error {
	if len(r.Failures) == 0 || len(r.Checks) > 1 {
		for _, c := range r.Checks {
			fmt.Fprintln(out, checkLineOf(c, r.Seed))
		}
	}
	for _, f := range r.Failures {
		fmt.Fprintln(out, "FAIL", f)
	}
	if len(r.Failures) > 0 {
		return nil
	}
	if len(r.Costs) > 0 {
		fmt.Fprintln(out)
		if err := printCosts(out, r.Costs); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	_, err := fmt.Fprintf(out, "%s keeps the contract\n", strings.Join(r.Parsers, ", "))
	return err
}

// checkLineOf says what a check did.
func checkLineOf(c trial.Check, seed uint64) string {
	switch c.Name {
	case "load":
		return fmt.Sprintf("loaded as the gateway does: %d parser(s)", c.Tried)
	case "cases":
		if c.Tried == 0 {
			return c.Parser + ": no cases; put some into testdata, or give their folder with --cases"
		}
		line := fmt.Sprintf("%s: %d cases, read in %d ways", c.Parser, c.Tried, c.Read)
		if c.Written > 0 {
			line += fmt.Sprintf("; events of %d written: read them before you keep them", c.Written)
		}
		return line
	case "probes":
		return fmt.Sprintf("%s: its example and %d other texts, read in %d ways", c.Parser, c.Tried-1, c.Read)
	case "arguments":
		if c.Tried == 0 {
			return c.Parser + ": no call whose arguments could be changed; give the manifest an example"
		}
		return fmt.Sprintf("%s: %d texts with arguments that come twice or are no JSON as they are, read in %d ways", c.Parser, c.Tried, c.Read)
	case "text":
		return fmt.Sprintf("%s: %d texts that end early or go on behind a call", c.Parser, c.Tried)
	case "regions":
		return fmt.Sprintf("%s: %d regions one after the other, side by side, or left half read", c.Parser, c.Read)
	case "limits":
		return fmt.Sprintf("%s: %d texts that are too long or too deep", c.Parser, c.Tried)
	case "growth":
		return fmt.Sprintf("%s: 1 MB of what begins a call is %.1f times as much work as 64 KB", c.Parser, c.Ratio)
	default:
		return fmt.Sprintf("%s: %d fuzzed inputs (seed %d), read in %d ways", c.Parser, c.Tried, seed, c.Read)
	}
}

type pluginBenchCmd struct {
	Plugin  string   `arg:"" optional:"" default:"." help:"Folder of a project, which is built, or a .wasm file. By default this folder."`
	Cases   string   `help:"Folder with golden cases, for a plugin whose manifest has no example." placeholder:"DIR"`
	Against []string `help:"Built-in parsers to compare with. Default: those whose format is like the plugin's example." placeholder:"NAME"`
	JSON    bool     `name:"json" help:"Print JSON."`
}

// Run measures the plugin. The status of one that cannot be measured is exitFailed.
func (p *pluginBenchCmd) Run(e *env) error {
	cfg, err := trialConfig(e, p.Plugin, p.Cases)
	if err != nil {
		return err
	}
	cfg.Against = p.Against
	costs, err := trial.Costs(e.ctx, cfg)
	if refused, ok := errors.AsType[*trial.RefusedError](err); ok {
		return fmt.Errorf("plugin bench: %w", refused)
	}
	if err != nil {
		return usageError{fmt.Errorf("plugin bench: %w", err)}
	}
	if p.JSON {
		err = printJSON(e.stdout, costs)
	} else {
		err = printCosts(e.stdout, costs)
	}
	if err == nil && slices.ContainsFunc(costs, func(c trial.Cost) bool { return c.Problem != "" }) {
		return errFailed
	}
	return err
}

// printCosts prints a table of costs, with the ratio of each of the plugin's to the dearest
// of those that it is compared with.
func printCosts(out io.Writer, costs []trial.Cost) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tSHORT CALLS\tLONG CALL\tEACH ANSWER\tMEMORY\tMODULE\tLOAD")
	var dearest trial.Cost
	for _, c := range costs {
		if c.Builtin {
			dearest.Short, dearest.Long = max(dearest.Short, c.Short), max(dearest.Long, c.Long)
			dearest.Response, dearest.Pages, dearest.Size = max(dearest.Response, c.Response), max(dearest.Pages, c.Pages), max(dearest.Size, c.Size)
		}
	}
	for _, c := range costs {
		name := c.Parser
		if c.Builtin {
			name += " (built in)"
		}
		if c.Problem != "" {
			fmt.Fprintf(w, "%s\tnot measured: %s\n", name, c.Problem)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d pages\t%s\t%.0f ms\n", name, amount(c.Short, "µs/KB"), amount(c.Long, "µs/KB"), amount(c.Response, "µs"), c.Pages, sizeOf(c.Size), c.Load)
	}
	for _, c := range costs {
		if !c.Builtin && c.Problem == "" {
			fmt.Fprintf(w, "%s / dearest built in\t%s\t%s\t%s\t%s\t%s\t\n", c.Parser, times(c.Short, dearest.Short), times(c.Long, dearest.Long),
				times(c.Response, dearest.Response), times(float64(c.Pages), float64(dearest.Pages)), times(float64(c.Size), float64(dearest.Size)))
		}
	}
	return w.Flush()
}

// amount is a number with its unit, with a digit behind the point if it is small.
func amount(v float64, unit string) string {
	switch {
	case v == 0:
		return "-"
	case v < 10:
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

func times(a, b float64) string {
	if a == 0 || b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}
