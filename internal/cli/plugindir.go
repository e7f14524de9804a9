package cli

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/plugins/folder"
	"github.com/callgate/callgate/plugins/oci"
	"github.com/callgate/callgate/plugins/trust"
)

// prepare makes what load fills the host from. cache is the directory of compiled code, or
// "".
func (p *parsers) prepare(c config.Plugins, cache string, log *slog.Logger) error {
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
	policy, err := trust.New(trust.Require(c.Require), c.Pins, c.MinisignKeys)
	if err != nil {
		return fmt.Errorf("plugins: %w", err)
	}
	p.folder = folder.New(folder.Options{Dir: c.Dir, Host: p.host, Trust: policy.Check, Accept: p.accept, Log: log})
	return nil
}

// accept says whether all names that models use would still be there. While the gateway
// starts there is nothing to lose, and load's caller checks them.
func (p *parsers) accept(infos []plugins.Info) error {
	select {
	case <-p.loaded:
		return p.needs(p.names(infos))
	default:
		return nil
	}
}

// pullTimeout is for all plugins of plugins.pull.
const pullTimeout = 2 * time.Minute

// pull loads the plugins that the configuration has from registries. Their digests are
// their pins.
func (p *parsers) pull(ctx context.Context) error {
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
		out.Parsers = append(out.Parsers, parserOverview{Name: i.Name, Plugin: i.Plugin, Version: i.Version, Priority: i.Priority,
			State: i.State, Opened: i.Opened, Failed: i.Failed, Times: i.Times})
	}
	return out
}
