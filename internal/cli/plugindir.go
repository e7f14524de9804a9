package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/folder"
	"github.com/callgate/callgate/plugins/oci"
	"github.com/callgate/callgate/plugins/trust"
)

// prepare makes what load fills the host from. cache is the directory of compiled code, or
// "".
func (p *plugged) prepare(c config.Plugins, cache string, log *slog.Logger) error {
	if cache != "" {
		p.pulled = filepath.Join(cache, "pulled")
	}
	for _, text := range c.Pull {
		ref, err := oci.Parse(text)
		if err != nil {
			return fmt.Errorf("plugins.pull: %w", err)
		}
		p.pulls = append(p.pulls, ref)
	}
	if c.Dir == "" {
		return nil
	}
	if err := namedDir(c.Dir); err != nil {
		return err
	}
	policy, err := trust.New(trust.Require(c.Require), c.Pins, c.MinisignKeys)
	if err != nil {
		return fmt.Errorf("plugins: %w", err)
	}
	p.folder = folder.New(folder.Options{Dir: c.Dir, Host: p.host, Trust: policy.Check, Accept: func(infos []plugins.Info) error { return p.current.Load().accept(infos) }, Log: log})
	return nil
}

// namedDir refuses a directory of plugins that somebody has named and that is not there. The default need not be
// there, also where it is written out, as callgate check prints it.
func namedDir(dir string) error {
	if filepath.Clean(dir) == filepath.Clean(config.PluginDir) {
		return nil
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("plugins.dir: there is no directory %q, seen from where the gateway runs: make it, correct the path, or leave it out", dir)
	case err != nil:
		return fmt.Errorf("plugins.dir: %w", err)
	case !info.IsDir():
		return fmt.Errorf("plugins.dir: %q is not a directory: name the one that has the *.wasm files", dir)
	}
	return nil
}

// startPatience is how long the start waits for plugins that no model names. What takes
// longer is used when it is there, as a plugin is that comes later.
const startPatience = 10 * time.Second

// loadFolder loads the plugins of the directory, see load.
func (p *parsers) loadFolder(ctx context.Context, strict bool) error {
	known := func() []string { return p.names(p.host.Parsers()) }
	if p.folder == nil {
		return p.needs(known())
	}
	if err := p.folder.Begin(ctx); err != nil {
		return err
	}
	if strict {
		_ = p.folder.Wait(ctx) // what is refused keeps the gateway from nothing, see refusals
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.lack(p.needs(known()))
	}
	limited, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	_ = p.folder.Wait(limited) // what is refused is logged, shown and named by /readyz
	err := p.needs(known())
	if err != nil && limited.Err() != nil {
		_ = p.folder.Wait(ctx) // compiling is bounded
		err = p.needs(known())
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil || len(p.notLoaded()) == 0 {
		return err // no file can repair it, so it is a mistake in the configuration
	}
	p.degraded.Store(true)
	p.log.Error("models whose parser is missing are refused until its plugin is loaded; others are served", "error", p.lacking())
	return nil
}

// follow watches the directory until ctx ends, if it is to be. When it returns, nothing of
// the directory is being loaded.
func (p *plugged) follow(ctx context.Context, watch bool) {
	if p.folder == nil {
		return
	}
	if watch {
		p.folder.Watch(ctx)
	}
	_ = p.folder.Wait(context.WithoutCancel(ctx)) // the end of ctx ends every load
}

// notLoaded are the plugins of the directory of which nothing, or an older version, is loaded.
func (p *plugged) notLoaded() (out []folder.File) {
	if p.folder == nil {
		return nil
	}
	return slices.DeleteFunc(p.folder.Files(), func(f folder.File) bool { return f.State == folder.Loaded })
}

// notes are what /readyz says of the directory beside that it is ready: who may ask that may
// not know more than the names.
func (p *plugged) notes() (out []string) {
	for _, f := range p.notLoaded() {
		out = append(out, fmt.Sprintf("plugin %s is %s; see /admin/plugins", plaintext.Line(filepath.Base(f.Name)), f.State))
	}
	return out
}

// lacking says which parser a model needs that is missing, and which plugins are not loaded,
// or nil. What heals is noticed here.
func (p *parsers) lacking() error {
	if !p.degraded.Load() {
		return nil
	}
	err := p.needs(p.names(p.host.Parsers()))
	if err == nil {
		p.degraded.Store(false)
		return nil
	}
	return p.lack(err)
}

// lack adds to the error of a parser that is missing which plugins are not loaded. It may be nil.
func (p *parsers) lack(err error) error {
	if err == nil {
		return nil
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, refusal := range p.refusals() {
		text += "; " + refusal
	}
	return errors.New(text)
}

// refusals say which plugins of the directory are not loaded, and why, a line each.
func (p *plugged) refusals() (lines []string) {
	for _, f := range p.notLoaded() {
		lines = append(lines, fmt.Sprintf("%s is %s: %s", plaintext.Line(f.Name), f.State, plaintext.Line(strings.TrimPrefix(f.Reason, "plugin "+f.Name+": "))))
	}
	return lines
}

// lacks refuses a request whose parser is missing: without it the model's calls would go by
// as text, and nobody would know. The parsers are listed only where some are missing: that
// costs more than the rest of a request.
func (p *parsers) lacks(s interface{ Parsers() []plugins.Info }, spec gateway.ParserSpec) error {
	if spec.Auto || !p.degraded.Load() {
		return nil
	}
	known := p.names(s.Parsers())
	for _, name := range spec.Names {
		if _, ok := slices.BinarySearch(known, name); !ok {
			return &gateway.Error{Kind: gateway.Overloaded, Code: "plugin_error",
				Message: fmt.Sprintf("The parser %q, which reads this model's answers, is not loaded; the gateway's log says why.", name)}
		}
	}
	return nil
}

// accept says whether all names that models use would still be there. While the gateway
// starts there is nothing to lose, and load checks them. Where some are missing anyway, none
// that is there may go.
func (p *parsers) accept(infos []plugins.Info) error {
	select {
	case <-p.loaded:
	default:
		return nil
	}
	next := p.names(infos)
	err := p.needs(next)
	if err != nil && p.degraded.Load() {
		gone := slices.DeleteFunc(p.names(p.host.Parsers()), func(name string) bool { return slices.Contains(next, name) })
		if len(gone) == 0 {
			return nil
		}
	}
	return err
}

// pullTimeout is for all plugins of plugins.pull.
const pullTimeout = 2 * time.Minute

// pull loads the plugins that the configuration has from registries. Their digests are
// their pins.
func (p *plugged) pull(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	for _, ref := range p.pulls {
		plugin, err := oci.Pull(ctx, ref, p.pulled)
		if err != nil {
			return fmt.Errorf("plugins.pull: %w", err)
		}
		if err := p.host.Load(ctx, plugins.Source{Name: ref.String(), Wasm: plugin.Wasm}); err != nil {
			return err
		}
	}
	return nil
}

// overview is the answer to GET /admin/plugins.
type overview struct {
	// Files are those of the directory, the refused ones too.
	Files   []folder.File        `json:"files"`
	Modules []plugins.ModuleInfo `json:"modules"`
	Parsers []parserOverview     `json:"parsers"` // as they are asked
}

// parserOverview says how a parser does.
type parserOverview struct {
	Name     string        `json:"name"`
	Plugin   string        `json:"plugin"`
	Version  string        `json:"version"`
	Priority int           `json:"priority"`
	State    plugins.State `json:"state"`
	Opened   uint64        `json:"opened"` // regions
	Failed   uint64        `json:"failed"` // responses
	Times    plugins.Times `json:"times"`  // for a region
}

// overview says what is loaded and how it does, for the operator.
func (p *parsers) overview() any {
	out := overview{Files: []folder.File{}, Modules: p.host.Modules()}
	if p.folder != nil {
		out.Files = append(out.Files, p.folder.Files()...)
	}
	for _, i := range p.host.Parsers() {
		out.Parsers = append(out.Parsers, overviewOf(i))
	}
	return out
}

func overviewOf(i plugins.Info) parserOverview {
	return parserOverview{Name: i.Name, Plugin: i.Plugin, Version: i.Version, Priority: i.Priority,
		State: i.State, Opened: i.Opened, Failed: i.Failed, Times: i.Times}
}

// reset ends a parser's quarantine, for the operator. The state is nil if there is no such
// parser.
func (p *parsers) reset(name string) (state any, names []string) {
	found := p.host.Reset(name)
	for _, i := range p.host.Parsers() {
		if found && i.Name == name {
			return overviewOf(i), nil
		}
		names = append(names, i.Name)
	}
	return nil, names
}
