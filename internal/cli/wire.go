package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/metrics"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
	"github.com/callgate/callgate/gateway/trace"
	"github.com/callgate/callgate/plugins/oci"
	"github.com/callgate/callgate/plugins/trust"
)

// system is a gateway put together as its configuration says.
type system struct {
	parsers *parsers
	answers *answerStores
	gateway *flow.Gateway
	server  *httpapi.Server
	admin   *httpapi.Admin
	tracer  *trace.Tracer // nil: none
	shared  *sharing      // nil: nothing
	memory  *inflight.Budget
	store   store.Store // nil: none; state closes it
	state   *state.Service
	tools   *catalogue.Catalogue // what the gateway runs itself; nil: nothing. close ends it
}

// wire puts a gateway together. The parsers still have to be loaded.
func wire(ctx context.Context, cfg *config.Config, log *slog.Logger) (*system, error) {
	if err := cfg.CheckPrompted(flow.PromptForms()); err != nil {
		return nil, err
	}
	err := cfg.CheckPlugins( // what its own package cannot check
		func(text string) error { _, err := trust.ParseKey(text); return err },
		func(text string) error { _, err := oci.Parse(text); return err })
	if err != nil {
		return nil, err
	}
	providers, err := newProviders(cfg)
	if err != nil {
		return nil, err
	}
	sys := &system{memory: inflight.New(memoryBudget(cfg.Limits))}
	if sys.shared, err = newSharing(cfg); err != nil {
		return nil, err
	}
	if cfg.Tracing.Endpoint != "" {
		sys.tracer, err = trace.New(ctx, trace.Options{Endpoint: cfg.Tracing.Endpoint, Headers: reveal(cfg.Tracing.Headers),
			Sample: cfg.Tracing.Sample, Version: programVersion(), Log: log})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("tracing: %w", err), sys.shared.close())
		}
	}
	measured := metrics.Options{Breakers: func() []breaker.Snapshot { return sys.gateway.Breakers() }, Share: sys.shared.snapshot,
		Targets: func() []gateway.TargetState { return sys.gateway.Targets() },
		Caches:  func() prefix.Snapshot { return sys.gateway.Caches() }, Tools: func() []catalogue.Status { return sys.tools.Status() }, Models: modelNames(cfg), Memory: sys.memory.Stats, Log: log}
	if sys.answers, err = newAnswerStores(cfg, sys.shared, log); err != nil {
		return nil, errors.Join(err, sys.tracer.Shutdown(ctx), sys.shared.close())
	}
	sys.answers.measure(&measured)
	if cfg.Store.Kind != "off" {
		measured.Stored = func() state.Stats { return sys.state.Stats() }
	}
	m := metrics.New(measured)
	if sys.parsers, err = newParsers(ctx, cfg, m.Plugin, log); err != nil {
		return nil, errors.Join(err, sys.tracer.Shutdown(ctx), sys.shared.close())
	}
	if sys.store, err = openStore(ctx, cfg); err != nil {
		return nil, errors.Join(err, sys.close(ctx))
	}
	if sys.tools, err = newCatalogue(cfg, log); err != nil {
		return nil, errors.Join(err, sys.close(ctx))
	}
	if err := sys.build(cfg, providers, m, log); err != nil {
		return nil, errors.Join(err, sys.close(ctx))
	}
	return sys, nil
}

func (sys *system) build(cfg *config.Config, providers map[string]gateway.Provider, m *metrics.Metrics, log *slog.Logger) (err error) {
	options := flow.Options{
		Providers: providers, Policies: policies(cfg), Routes: routes(cfg), Rules: rules(cfg), Aliases: aliases(cfg), Direct: direct(cfg), Unlisted: unlisted(cfg), Parsers: sys.parsers,
		CacheSalt: []byte(cfg.CacheSalt.Reveal()), RoutePolicies: routePolicies(cfg), RoutePolicy: routePolicy(cfg.DefaultRoute()),
		ShareIndex: sys.shared != nil, ReasoningField: cfg.ReasoningField, Timeout: time.Duration(cfg.Timeout), Prompts: cfg.Log.Prefix, OnChange: m.Transition, Log: log,
	}
	sys.answers.into(cfg, options.RoutePolicies, &options.RoutePolicy)
	server := httpapi.Config{MaxBody: int64(cfg.Limits.Body), MaxUpload: int64(cfg.Limits.Upload), Memory: sys.memory, Uploads: inflight.New(uploadBudget(cfg.Limits)), Limits: requestLimits(cfg.Limits), Passthrough: cfg.Passthrough, Ready: sys.ready, Notes: sys.parsers.notes, Heartbeat: time.Duration(cfg.Heartbeat), Log: log, Keys: map[string]string{},
		Sealer: responses.NewSealer([]byte(cfg.CacheSalt.Reveal()))}
	if sys.tracer != nil {
		options.Trace, server.Trace = sys.tracer.Attempt, sys.tracer.Request
	}
	accounts, err := newUsageAccounts(cfg, m)
	if err != nil {
		return err
	}
	options.Saved = accounts.bill
	if sys.gateway, err = flow.New(options); err != nil {
		return err
	}
	sys.shared.prefixes(cfg, sys.gateway.Index(), log)
	for _, k := range cfg.Keys {
		server.Keys[k.Name] = k.Hash.Reveal()
	}
	server.Gateway, server.Metrics = sys.gateway, accounts
	if sys.tools != nil {
		runner, err := sys.newRunner(cfg, accounts.bills, log)
		if err != nil {
			return err
		}
		server.Gateway, server.Serves = chatting{sys.gateway, runner}, true
	}
	sys.state = newState(sys.store, cfg, server.Sealer, server.Gateway, accounts.Request, log)
	server.State = sys.state
	if sys.server, err = httpapi.New(server); err != nil {
		return err
	}
	admin := httpapi.AdminConfig{KeyHash: cfg.Admin.KeyHash.Reveal(),
		Breakers: sys.gateway.Breakers, Reset: sys.gateway.ResetBreaker, Targets: sys.gateway.Targets,
		Caches: func() any { return accounts.snapshot(sys.gateway.Caches(), sys.shared.snapshot()) },
		Tools:  func() any { return map[string]any{"servers": sys.tools.Status()} }, Plugins: sys.parsers.overview, ResetParser: sys.parsers.reset, Metrics: m.Handler(), Log: log}
	if admin.Console, err = sys.console(cfg, admin); err != nil {
		return err
	}
	sys.admin, err = httpapi.NewAdmin(admin)
	return err
}

// ready says what requests would lack now: parsers, or the tools of a server that starts.
func (sys *system) ready() error { return cmp.Or(sys.parsers.ready(), sys.tools.Ready()) }

// close ends what the system holds. Spans that wait are sent first.
func (sys *system) close(ctx context.Context) error {
	return errors.Join(sys.tools.Close(), sys.state.Close(), sys.tracer.Shutdown(ctx), sys.parsers.host.Close(ctx), sys.shared.close())
}

// policies are what is done around each provider.
func policies(cfg *config.Config) map[string]gateway.Policy {
	out := map[string]gateway.Policy{}
	for name, p := range cfg.Providers {
		out[name] = gateway.Policy{
			Retry:    gateway.RetryPolicy{Max: p.Retry.MaxRetries, Base: time.Duration(p.Retry.BaseDelay), Cap: time.Duration(p.Retry.MaxDelay)},
			Failures: p.CircuitBreaker.FailureThreshold, Open: time.Duration(p.CircuitBreaker.OpenTimeout),
			History: modes[cfg.ProviderTarget(name).History], CacheIdle: time.Duration(p.PromptCacheTTL),
			Hints: hintKind(cfg, name),
		}
	}
	return out
}

// routes are the models of the configuration.
func routes(cfg *config.Config) map[string][]gateway.Target {
	out := map[string][]gateway.Target{}
	for name, m := range cfg.Models {
		if m.Alias == "" {
			out[name] = targets(cfg.Targets(name), m.Targets)
		}
	}
	return out
}

// targets are a list of the configuration's, own as it was written.
func targets(resolved []config.Resolved, own []config.Target) []gateway.Target {
	out := make([]gateway.Target, len(resolved))
	for i, r := range resolved {
		out[i] = target(r)
		out[i].Model = own[i].Model // and not the pattern's name
	}
	return out
}

// direct are the targets for models called "provider/model".
func direct(cfg *config.Config) map[string]gateway.Target {
	out := map[string]gateway.Target{}
	for name := range cfg.Providers {
		out[name] = target(cfg.ProviderTarget(name))
	}
	return out
}

// unlisted are the providers whose models are not what an operator has configured: the demo's,
// beside others.
func unlisted(cfg *config.Config) []string {
	if len(cfg.Providers) == 1 || cfg.Providers["demo"].Type != "demo" || cfg.Names("demo") {
		return nil
	}
	return []string{"demo"}
}

var (
	modes      = map[string]gateway.Mode{"off": gateway.Off, "report": gateway.Report, "repair": gateway.Repair}
	reasonings = map[string]chain.Reasoning{"open": chain.Open, "auto": chain.Auto}
	doubtful   = map[string]gateway.DoubtPolicy{"off": gateway.PassDoubt, "report": gateway.ReportDoubt, "refuse": gateway.RefuseDoubt}
	invalid    = map[string]gateway.InvalidPolicy{"pass": gateway.PassInvalid, "reject": gateway.RejectInvalid, "reask": gateway.ReaskInvalid}
)

func target(r config.Resolved) gateway.Target {
	prompted := ""
	if r.Tools == "prompted" {
		prompted = r.Parser.Names()[0] // there is exactly one, or the configuration would be refused
	}
	return gateway.Target{
		Prompted: prompted, Adapts: r.Tools == "auto",
		Provider: r.Provider, Model: r.Model, Mode: modes[r.ToolCalls], Weight: r.Weight,
		Parsers: parserSpec(r.Parser, r.Reasoning), Reasoning: reasonings[r.Reasoning],
		InReasoning: inReasonings[r.ToolInReasoning], RawText: r.RawToolText,
		Structured: modes[r.StructuredOutput], OnBadOutput: invalid[r.OnInvalidOutput], PromptedFormat: r.ResponseFormat == "prompted",
		OnInvalid: invalid[r.OnInvalidCall], OnDoubt: doubtful[r.DoubtfulCall], AllowEmpty: r.EmptyCompletion == "pass",
	}
}

// modelNames are the upstreams' names of models that the configuration knows.
func modelNames(cfg *config.Config) []string {
	var out []string
	for name, m := range cfg.Models {
		lists := [][]config.Target{m.Targets}
		for _, r := range m.Rules {
			lists = append(lists, r.Targets)
		}
		for _, t := range slices.Concat(lists...) {
			out = append(out, cmp.Or(t.Model, name))
		}
	}
	return out
}

// logger makes the log that the configuration asks for.
func logger(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration has checked it
	opts := &slog.HandlerOptions{Level: level}
	file, ok := w.(*os.File)
	switch {
	case c.Format == "text":
		return slog.New(slog.NewTextHandler(w, opts))
	case c.Format == "auto" && !c.Prefix && ok && isatty.IsTerminal(file.Fd()):
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: os.Getenv("NO_COLOR") != ""}))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}
