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
	"time"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/gateway/store/postgres"
	"github.com/callgate/callgate/gateway/store/sqlite"
)

// usageBook is the ledger of usage and what writes it.
type usageBook struct {
	*billing.Book
	ledger billing.Ledger
}

// unopened is the error of a ledger that cannot be opened, with the setting that names it: often
// the database is that of store, which is opened later.
func unopened(cfg *config.Config, kind string, err error) error {
	section, key := "usage", "path"
	own := cfg.Usage.Path != ""
	if kind == "postgres" {
		key, own = "url", !cfg.Usage.URL.IsZero()
	}
	if !own {
		section = "store"
	}
	hint := ""
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		hint = "; the folder must be there, and writable"
	}
	return fmt.Errorf("%s.%s: %w%s", section, key, err, hint)
}

// openUsage opens the ledger of the configuration, and begins with what waits in its journal; nil for none.
func openUsage(ctx context.Context, cfg *config.Config, log *slog.Logger) (*usageBook, error) {
	kind, file, url := cfg.UsageStore()
	var ledger billing.Ledger
	var err error
	switch kind {
	case "memory":
		ledger = billing.NewMemory(billing.MemoryLimits{})
	case "sqlite":
		ledger, err = sqlite.OpenLedger(ctx, file)
	case "postgres":
		ledger, err = postgres.OpenLedger(ctx, url.Reveal())
	default:
		return nil, nil //nolint:nilnil // a gateway that keeps no ledger
	}
	if err != nil {
		return nil, unopened(cfg, kind, err)
	}
	o := billing.Options{Ledger: ledger, JournalBytes: int64(cfg.Usage.JournalBytes), Retention: time.Duration(cfg.Usage.Retention), Log: log}
	if o.Journal, err = journalFolder(cfg, kind, file); err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	book, err := billing.NewBook(o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w; set usage.journal to a folder that the gateway may write to, or to off", err), ledger.Close())
	}
	return &usageBook{book, ledger}, nil
}

// journalFolder is where rows wait for a ledger in a database; "" for nowhere.
func journalFolder(cfg *config.Config, kind, file string) (string, error) {
	switch {
	case kind == "memory" || cfg.Usage.Journal == config.Off:
		return "", nil
	case cfg.Usage.Journal != "":
		return cfg.Usage.Journal, nil
	case kind == "sqlite":
		return file + "-journals", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", errors.New("usage: there is no folder for the journal, since the process has no home; set usage.journal to a folder that outlives the process, or to off")
	}
	return filepath.Join(cache, "callgate", "usage"), nil
}

// usageTime is how long a gateway that ends waits for its ledger.
const usageTime = 10 * time.Second

// close waits until the ledger has all rows, for a while, and ends it.
func (u *usageBook) close(ctx context.Context) error {
	if u == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usageTime)
	defer cancel()
	return errors.Join(u.Close(ctx), u.ledger.Close())
}

// freshTime is how long a query waits for the rows that this gateway has just recorded.
const freshTime = time.Second

// asker answers queries of operators; nil without a ledger.
func (u *usageBook) asker() func(context.Context, billing.Query) (billing.Answer, error) {
	if u == nil {
		return nil
	}
	return func(ctx context.Context, q billing.Query) (billing.Answer, error) {
		fresh, cancel := context.WithTimeout(ctx, freshTime)
		_ = u.Flush(fresh) // else without the last ones
		cancel()
		return billing.Ask(ctx, u.ledger, q)
	}
}

// measureUsage is what the metrics read of the ledger.
func (p *process) measureUsage(cfg *config.Config, sys *system, o *metrics.Options) {
	if kind, _, _ := cfg.UsageStore(); kind == config.Off {
		return
	}
	o.Usage = func() billing.Stats { return p.usage.Stats() }
	o.Costs = func() []billing.Cost { return namedCosts(p.usage.Costs(), modelNames(sys.now().config)) }
}

// namedCosts counts models that only a client has named as others.
func namedCosts(costs []billing.Cost, models []string) (out []billing.Cost) {
	at := map[[2]string]int{}
	for _, c := range costs {
		if !slices.Contains(models, c.Model) {
			c.Model = billing.OtherCosts
		}
		key := [2]string{c.Team, c.Model}
		if i, ok := at[key]; ok {
			out[i].Nano += c.Nano
			continue
		}
		at[key] = len(out)
		out = append(out, c)
	}
	return out
}
