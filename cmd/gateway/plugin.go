package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/builtin"
)

type pluginCmd struct {
	List    pluginListCmd    `cmd:"" help:"List the parsers that are loaded, in the order in which they are asked."`
	Inspect pluginInspectCmd `cmd:"" help:"Load one plugin and print what is in it."`
	Pull    pluginPullCmd    `cmd:"" help:"Fetch a plugin from an OCI registry or layout, by digest."`
}

type pluginListCmd struct {
	Config   string `short:"c" type:"path" help:"Configuration file." placeholder:"FILE"`
	Markdown bool   `help:"Print the table of formats that the README has."`
}

// Run prints a line a parser.
func (p *pluginListCmd) Run(e *env) error {
	cfg := config.FromEnv(os.LookupEnv)
	if p.Config != "" {
		var err error
		if cfg, err = config.Load(p.Config); err != nil {
			return usageError{err}
		}
	}
	source, err := newParsers(e.ctx, cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return usageError{err}
	}
	defer source.host.Close(e.ctx)
	if err := source.load(e.ctx); err != nil {
		return usageError{err}
	}
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

type pluginInspectCmd struct {
	File string `arg:"" optional:"" help:"Plugin, a .wasm file. Without one: the built-in parsers."`
}

// Run loads a plugin with all its checks and prints what it holds, as JSON.
func (p *pluginInspectCmd) Run(e *env) error {
	src := plugins.Source{Name: p.File}
	var err error
	if p.File == "" {
		src.Name = builtin.Name
		src.Wasm, err = builtin.Wasm(builtin.Name)
	} else {
		src.Wasm, err = os.ReadFile(p.File)
	}
	if err != nil {
		return usageError{err}
	}
	dir, _ := cacheDir("") // without a cache it only takes longer
	host, err := plugins.New(e.ctx, plugins.Config{CacheDir: dir})
	if err != nil {
		return err
	}
	defer host.Close(e.ctx)
	if err := host.Load(e.ctx, src); err != nil {
		return usageError{err}
	}
	encoder := json.NewEncoder(e.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(host.Modules()[0])
}
