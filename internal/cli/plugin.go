package cli

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
)

type pluginCmd struct {
	List    pluginListCmd    `cmd:"" help:"List the parsers that are loaded, in the order in which they are asked."`
	New     pluginNewCmd     `cmd:"" help:"Write a plugin project in Go, Rust, C or AssemblyScript: a parser, its test cases, and what it needs of the SDK."`
	Build   pluginBuildCmd   `cmd:"" help:"Compile a project to a .wasm file and check that the gateway loads it. Needs the toolchain of its language."`
	Test    pluginTestCmd    `cmd:"" help:"Test a plugin in its sandbox: cases, cuts, limits, fuzzed inputs, costs."`
	Bench   pluginBenchCmd   `cmd:"" help:"Measure what a plugin costs, compared with built-in parsers."`
	Inspect pluginInspectCmd `cmd:"" help:"Print what is in a plugin, and whether the gateway accepts it."`
	Pull    pluginPullCmd    `cmd:"" help:"Fetch a plugin from an OCI registry or layout, by digest."`
}

type pluginListCmd struct {
	Config   string `short:"c" type:"path" help:"Configuration file." placeholder:"FILE"`
	Markdown bool   `help:"Print the table of formats that docs/formats.md has."`
}

// Run prints a line a parser.
func (p *pluginListCmd) Run(e *env) error {
	source, err := e.parsers(p.Config, os.LookupEnv, slog.New(slog.DiscardHandler))
	if err != nil {
		return usageError{err}
	}
	defer source.host.Close(e.ctx)
	if p.Markdown {
		_, err := io.WriteString(e.stdout, formatTable(source.host.Parsers()))
		return err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PARSER\tPRIORITY\tPLUGIN\tSTREAMS\tALSO CALLED\tBEGINS AT")
	for _, i := range source.host.Parsers() {
		begins := append([]string{}, i.Triggers...)
		for _, s := range i.Starts {
			begins = append(begins, cmp.Or(s, "anything")+" (start of the output)")
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", i.Name, i.Priority, i.Plugin, map[bool]string{true: "yes", false: "no"}[i.Streams],
			dash(strings.Join(i.Aliases, " ")), dash(strings.ReplaceAll(strings.Join(begins, " "), "\n", `\n`)))
	}
	return w.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
