package cli

import (
	"fmt"

	"github.com/callgate/callgate/gateway/config"
)

type checkCmd struct {
	File   string `arg:"" optional:"" help:"Configuration file."`
	Schema bool   `help:"Print the JSON Schema of configuration files instead, for editors."`
	// The page docs/settings.md is this.
	Reference bool `help:"Print all keys, flags and environment variables instead, in Markdown."`
}

// Run checks a configuration, the plugins that it names among it, and prints it
// with every default. Secrets are not shown.
func (c *checkCmd) Run(e *env) error {
	if c.Schema {
		_, err := fmt.Fprintf(e.stdout, "%s\n", config.Schema())
		return err
	}
	if c.Reference {
		return settings(e.stdout)
	}
	if c.File == "" {
		return usageError{fmt.Errorf("check: name a configuration file (see callgate check --help)")}
	}
	cfg, err := config.Load(c.File)
	if err != nil {
		return usageError{err}
	}
	if err := tryConfig(e, cfg); err != nil {
		return usageError{err}
	}
	for _, u := range cfg.Unmet() {
		fmt.Fprintf(e.stderr, "callgate: %s: %s\n", u.Where, u.What)
	}
	_, err = fmt.Fprintf(e.stdout, "# %s is good. With every default:\n%s", c.File, cfg.YAML())
	return err
}

// tryConfig makes a gateway of a configuration, with its parsers, and ends it: what would keep it
// from starting, or a model from being served, is the error. A plugin that is refused and that no
// model needs is named. It makes no file, and asks nobody.
func tryConfig(e *env, cfg *config.Config) error {
	tried := *cfg
	if tried.Store.Kind == "sqlite" || tried.Store.Kind == "postgres" {
		tried.Store.Kind = "memory"
	}
	if tried.Usage.Store == "sqlite" || tried.Usage.Store == "postgres" {
		tried.Usage.Store = "memory"
	}
	sys, err := wire(e.ctx, &tried, logger(e.stderr, config.Log{Level: "error", Format: "text"}))
	if err != nil {
		return err
	}
	defer func() { _ = sys.close(e.ctx) }() // nothing has run yet
	if err := sys.parsers.load(e.ctx, true); err != nil {
		return err
	}
	e.tellRefused(sys.parsers)
	return nil
}
