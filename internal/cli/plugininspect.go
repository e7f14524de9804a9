package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/builtin"
	"github.com/callgate/callgate/sdk/abi"
)

type pluginInspectCmd struct {
	File string `arg:"" optional:"" help:"Plugin, a .wasm file. Without one: the built-in parsers."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// inspection is what plugin inspect prints as JSON.
type inspection struct {
	Plugin string `json:"plugin"`
	plugins.Outline

	Loads    bool          `json:"loads"`
	Why      string        `json:"why,omitempty"` // it does not
	Manifest *abi.Manifest `json:"manifest"`      // null if it does not load and holds none
	Pages    int           `json:"pages"`         // that an instance begins with
	Load     time.Duration `json:"load_ns"`
	Compile  time.Duration `json:"compile_ns"` // of Load
}

// Run prints what the file holds, and whether it loads. The status of one that does not
// is exitFailed.
func (p *pluginInspectCmd) Run(e *env) error {
	src := plugins.Source{Name: p.File}
	var err error
	if p.File == "" {
		src.Name, src.Trusted = builtin.Name, true
		src.Wasm, err = e.builtin(builtin.Name)
	} else if info, stat := os.Stat(p.File); stat == nil && info.IsDir() {
		err = fmt.Errorf(`%s is a folder: make the module with "callgate plugin build", and name its .wasm file`, p.File)
	} else {
		src.Wasm, err = os.ReadFile(p.File)
	}
	if err != nil {
		return usageError{err}
	}
	in := inspection{Plugin: src.Name, Outline: plugins.Look(src.Wasm)}
	if err := in.load(e, src); err != nil {
		return err
	}
	if p.JSON {
		err = printJSON(e.stdout, in)
	} else {
		err = in.print(e.stdout)
	}
	if err == nil && !in.Loads {
		return errFailed
	}
	return err
}

// load loads the module as the gateway does.
func (in *inspection) load(e *env, src plugins.Source) error {
	host, err := e.host()
	if err != nil {
		return err
	}
	defer host.Close(e.ctx)
	in.Manifest = in.Packed
	if err := host.Load(e.ctx, src); err != nil {
		in.Why = reasonOf(err)
		return nil
	}
	m := host.Modules()[0]
	in.Loads, in.Manifest, in.Pages, in.Load, in.Compile = true, &m.Manifest, m.Pages, m.Load, m.Compile
	return nil
}

// reasonOf is why a module was not loaded, without its name.
func reasonOf(err error) string {
	e, ok := errors.AsType[*plugins.LoadError](err)
	if !ok {
		return err.Error()
	}
	s, _, _ := strings.Cut(e.Why(), "\n") // wazero's errors go on with a stack trace
	return plaintext.Line(s)
}

// print prints the inspection for people.
func (in *inspection) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(what, format string, args ...any) { fmt.Fprintf(w, what+"\t"+format+"\n", args...) }
	line("plugin", "%s", in.Plugin)
	if in.Loads {
		line("loads", "yes, in %v (%v of it to compile, or to read what was compiled before)", in.Load.Round(time.Millisecond), in.Compile.Round(time.Millisecond))
	} else {
		line("loads", "no: %s", in.Why)
	}
	line("size", "%d bytes, sha256:%s", in.Size, in.SHA256)
	line("ABI", "%s", map[bool]string{true: fmt.Sprint(in.ABI), false: "none"}[in.ABI > 0])
	if in.MinPages > 0 || in.Loads {
		most := "what the gateway allows"
		if in.MaxPages > 0 {
			most = fmt.Sprint(in.MaxPages)
		}
		line("memory", "%d pages of 64 KiB declared, at most %s; an instance begins with %d", in.MinPages, most, in.Pages)
	}
	if in.Metered.Before > 0 {
		m := in.Metered
		line("metering", "%d functions and %d loops get counters: %d bytes of code become %d, %.2f times as many", m.Funcs, m.Loops, m.Before, m.After,
			float64(m.After)/float64(m.Before))
	}
	list := func(what string, entries []string) {
		for _, s := range entries {
			line(what, "%s", s)
			what = ""
		}
	}
	list("exports", in.Exports)
	list("imports", in.Imports)
	if m := in.Manifest; m != nil {
		line("name", "%s %s", m.Name, plaintext.Line(m.Version))
		for _, p := range m.Parsers {
			line("parser", "%s", describeParser(&p))
		}
	}
	return w.Flush()
}

// describeParser is a parser of a manifest in one line.
func describeParser(p *abi.Parser) string {
	s := fmt.Sprintf("%s %s, priority %d", p.Name, plaintext.Line(p.Version), p.Priority)
	add := func(what string, values []string) {
		if len(values) > 0 {
			s += fmt.Sprintf(", %s %q", what, values)
		}
	}
	add("aliases", p.Aliases)
	add("triggers", p.Triggers)
	add("starts", p.Starts)
	add("models", p.Models)
	for _, f := range []struct {
		name string
		set  bool
	}{{"streams", p.Streams}, {"heuristic", p.Heuristic}, {"framing", p.Framing}} {
		if f.set {
			s += ", " + f.name
		}
	}
	return s
}
