package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/internal/wholefile"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/author"
	"github.com/callgate/callgate/plugins/builtin"
)

type pluginNewCmd struct {
	Name string `arg:"" help:"Name of the plugin, its parser, its Go module and its folder: lower-case letters, digits, - and _."`
	Lang string `enum:"go,rust,c,assemblyscript" default:"go" help:"Language: go, rust, c or assemblyscript." placeholder:"LANG"`
	Dir  string `help:"Folder to write to, which must be empty or not exist; by default one with the plugin's name." placeholder:"DIR"`
}

// Run writes the project.
func (p *pluginNewCmd) Run(e *env) error {
	dir := p.Dir
	if dir == "" {
		dir = p.Name
	}
	if err := author.CheckName(p.Name); err != nil {
		return usageError{err}
	}
	host, err := builtinHost(e)
	if err != nil {
		return err
	}
	defer host.Close(e.ctx)
	for _, info := range host.Parsers() {
		if info.Name == p.Name || slices.Contains(info.Aliases, p.Name) {
			return usageError{fmt.Errorf("name %q: the built-in parser %s has this name; choose another, such as %s_2", p.Name, info.Name, p.Name)}
		}
	}
	if err := author.New(dir, p.Name, p.Lang); err != nil {
		return usageError{err}
	}
	fmt.Fprintf(e.stdout, "wrote %s: its README.md says what to do next\n", dir)
	return nil
}

// host is a host without plugins, for commands without a configuration.
func (e *env) host() (*plugins.Host, error) {
	dir, _ := cacheDir("") // without a cache it only takes longer
	return plugins.New(e.ctx, plugins.Config{CacheDir: dir, Compiler: compiler})
}

// builtinHost is a host with the built-in parsers, as a gateway has them before it loads
// plugins.
func builtinHost(e *env) (*plugins.Host, error) {
	wasm, err := e.builtin(builtin.Name)
	if err != nil {
		return nil, err
	}
	host, err := e.host()
	if err != nil {
		return nil, err
	}
	if err := host.Load(e.ctx, plugins.Source{Name: builtin.Name, Wasm: wasm, Trusted: true}); err != nil {
		return nil, errors.Join(err, host.Close(e.ctx))
	}
	return host, nil
}

type pluginBuildCmd struct {
	Dir    string `arg:"" optional:"" default:"." help:"Folder of the project, by default this one."`
	Output string `short:"o" help:"File to write; by default DIR/NAME.wasm, with the name of the plugin." placeholder:"FILE"`
}

// Run builds the project, and writes the module if the gateway loads it.
func (p *pluginBuildCmd) Run(e *env) error {
	wasm, err := buildProject(e, p.Dir)
	if err != nil {
		return err
	}
	host, err := builtinHost(e)
	if err != nil {
		return err
	}
	defer host.Close(e.ctx)
	if err := host.Load(e.ctx, plugins.Source{Name: "built", Wasm: wasm}); err != nil {
		return fmt.Errorf("plugin build: %s was compiled, and the gateway does not load it: %s", p.Dir, reasonOf(err))
	}
	m := host.Modules()[1]
	file := p.Output
	if file == "" {
		file = filepath.Join(p.Dir, m.Manifest.Name+".wasm")
	}
	if err := writePlugin(file, wasm); err != nil {
		return usageError{err}
	}
	fmt.Fprintf(e.stdout, "wrote %s: %s %s, %s\n", file, m.Manifest.Name, plaintext.Line(m.Manifest.Version), sizeOf(m.Size))
	for _, parser := range m.Manifest.Parsers {
		fmt.Fprintf(e.stdout, "parser %s\n", describeParser(&parser))
	}
	return nil
}

// sizeOf is the size of a module, for people.
func sizeOf(n int) string {
	if n < 1e6 {
		return fmt.Sprintf("%.0f KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// buildProject compiles a project. What the compiler says goes to standard error, warnings too.
func buildProject(e *env, dir string) ([]byte, error) {
	wasm, err := author.Build(e.ctx, dir, e.stderr)
	if failed, ok := errors.AsType[*author.BuildError](err); ok {
		fmt.Fprintln(e.stderr, failed.Output)
		return nil, failed
	}
	if err != nil && e.ctx.Err() == nil { // there is no toolchain, or no such folder
		return nil, usageError{err}
	}
	return wasm, err
}

// writePlugin writes a plugin, which is no secret: the gateway may run as somebody else.
func writePlugin(file string, wasm []byte) error { return wholefile.Write(file, wasm, 0o755, 0o644) }

// printJSON prints a value for programs.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
