package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/admit"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/history"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/quality"
	"github.com/callgate/callgate/gateway/rollout"
	"github.com/callgate/callgate/gateway/socket"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
	"github.com/callgate/callgate/gateway/trace"
)

// process is what lives as long as the process, and belongs to no edition: what is counted,
// stored and claimed, and the connections to what is shared with other gateways.
type process struct {
	log      *slog.Logger
	secret   []byte // cache_salt, or one of this process's own
	sealer   *responses.Sealer
	memory   *inflight.Budget
	uploads  *inflight.Budget
	shared   *sharing      // nil: nothing
	quality  *quality.Book // of how targets call tools
	tracer   *trace.Tracer // nil: none
	answers  *answerStores
	metrics  *metrics.Metrics
	accounts *usageAccounts
	content  *content.Keeper
	parsers  *parsers
	rollouts *rollout.Book
	store    store.Store // nil: none; state closes it
	state    *state.Service
	sockets  *socket.Sockets
	kept     toolKeeper
	usage    *usageBook // nil: no ledger
	limits   *admit.State
	reloads  *reloads
	keys     *keys.Book
}

// newProcess makes it, as the configuration at the start says. What it asks of an edition it asks
// of the one that sys has then.
func newProcess(ctx context.Context, cfg *config.Config, sys *system, log *slog.Logger) (p *process, err error) {
	p = &process{log: log, answers: &answerStores{}, content: content.New(nil), reloads: newReloads(sys, cfg), rollouts: newRolloutBook(log), secret: []byte(cfg.CacheSalt.Reveal()), memory: inflight.New(memoryBudget(cfg.Limits)), uploads: inflight.New(uploadBudget(cfg.Limits)), sockets: socket.New(sys, log)}
	if len(p.secret) == 0 {
		p.secret = []byte(rand.Text())
	}
	p.sealer = responses.NewSealer(p.secret)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(ctx))
		}
	}()
	if p.shared, err = newSharing(cfg); err != nil {
		return p, err
	}
	p.quality = p.newQuality(ctx, cfg)
	p.limits = newLimiter(cfg, p.shared, log)
	if cfg.Tracing.Endpoint != "" {
		p.tracer, err = trace.New(ctx, trace.Options{Endpoint: cfg.Tracing.Endpoint, Headers: reveal(cfg.Tracing.Headers),
			Sample: cfg.Tracing.Sample, Version: programVersion(), Log: log})
		if err != nil {
			return p, fmt.Errorf("tracing: %w", err)
		}
	}
	p.metrics = metrics.New(p.measured(cfg, sys))
	p.accounts = &usageAccounts{p.metrics, accounts.NewBook(nil), history.New(history.Options{Models: modelNames(cfg)})}
	if p.parsers, err = newParsers(ctx, cfg, p.metrics.Plugin, log); err != nil {
		return p, err
	}
	if p.usage, err = openUsage(ctx, cfg, log); err != nil {
		return p, err
	}
	if p.store, err = openStore(ctx, cfg, log); err != nil {
		return p, err
	}
	if p.kept, err = newToolKeeper(cfg, p.store); err != nil {
		return p, errors.Join(err, p.store.Close())
	}
	if p.keys, err = newKeyBook(ctx, cfg, p.store, log); err != nil {
		return p, errors.Join(err, p.store.Close())
	}
	p.state = p.newState(cfg, sys)
	return p, nil
}

// measured is what the metrics read when they are looked at.
func (p *process) measured(cfg *config.Config, sys *system) metrics.Options {
	o := metrics.Options{
		Breakers: func() []breaker.Snapshot { return sys.now().gateway.Breakers() }, Share: p.shared.snapshot,
		Targets: func() []gateway.TargetState { return sys.now().gateway.Targets() },
		Caches:  func() prefix.Snapshot { return sys.now().gateway.Caches() },
		Tools:   func() []catalogue.Status { return sys.now().tools.Status() },
		Keys:    func() keys.State { return p.keys.State() },
		Quality: p.quality.Snapshot, Limits: p.limits.Stats, Content: p.content.Stats,
		Rollouts: func() []rollout.Snapshot { return sys.now().rollouts.snapshots() },
		Models:   modelNames(cfg), Memory: p.memory.Stats, Sockets: p.sockets.Stats, Reloads: p.reloads.measured, Log: p.log,
	}
	p.measureUsage(cfg, sys, &o)
	if cfg.Store.Kind != "off" {
		o.Stored = func() state.Stats { return p.state.Stats() }
	}
	return o
}

// apply has what lives as long as the process do as an edition says, which gets the requests from
// now on.
func (p *process) apply(v *edition) {
	cfg := v.config
	v.parsers.begin()
	v.gateway.Begin()
	p.shared.prefixes(cfg, v.gateway.Index(), p.log)
	p.memory.SetLimit(memoryBudget(cfg.Limits))
	if doubt := memoryDoubt(cfg.Limits); doubt != "" {
		p.log.Warn(doubt)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		if doubt := keyDoubt(cfg.Providers[name]); doubt != "" {
			p.log.Warn(doubt, "provider", name)
		}
	}
	p.uploads.SetLimit(uploadBudget(cfg.Limits))
	p.accounts.book.SetPrices(v.prices)
	configureKeys(p.keys, v.config)
	p.state.SetMaxBytes(int(cfg.Limits.Body))
	p.sockets.SetMaxMessage(int64(cfg.Limits.Body))
	p.state.SetContexts(cfg.ContextTokens())
	p.metrics.Know(modelNames(cfg))
	p.accounts.history.Know(modelNames(cfg))
	var o metrics.Options
	p.answers.measure(&o)
	p.metrics.Collect(o)
	p.reloads.level(cfg.Log)
	p.keepContent(cfg.Admin.Content)
}

// keepContent has the text of requests kept that were not clean, or not, and says so.
func (p *process) keepContent(c config.Content) {
	was, _ := p.content.On()
	keep := time.Duration(c.Keep)
	p.content.Configure(keep, int(c.Memory))
	switch {
	case keep == was:
	case keep > 0:
		p.log.Warn("what requests and answers say is kept where they were not clean, for operators at /ui (admin.content)", "keep", keep, "memory", int(c.Memory))
	default:
		p.log.Info("what requests and answers say is not kept any more, and what was kept is forgotten (admin.content)")
	}
}

// close ends it, behind the last edition. Spans that wait are sent first.
func (p *process) close(ctx context.Context) error {
	p.content.Close()
	now, cut := context.WithCancel(ctx)
	cut()
	_ = p.sockets.Shutdown(now) // those that are left, where the server has ended by itself
	errs := []error{p.state.Close(), p.limits.Close(), p.usage.close(ctx), p.tracer.Shutdown(ctx)}
	if p.parsers != nil {
		errs = append(errs, p.parsers.host.Close(ctx))
	}
	return errors.Join(append(errs, p.shared.close())...)
}
