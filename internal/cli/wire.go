package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
	"github.com/callgate/callgate/internal/jsonlog"
	"github.com/callgate/callgate/plugins/oci"
	"github.com/callgate/callgate/plugins/trust"
)

// edition is what one configuration makes of a process. A request has one from its beginning to
// its end; the next may have another, see system.
type edition struct {
	uses
	config    *config.Config
	files     string // stands for what is in the files that the configuration names
	prices    *accounts.Prices
	parsers   *parsers
	providers map[string]gateway.Provider
	gateway   *flow.Gateway
	chat      httpapi.Chatter      // the gateway, with the tools that it runs
	tools     *catalogue.Catalogue // what the gateway runs itself; nil: nothing. close ends it
	rollouts  rollouts
	server    *httpapi.Server
	admin     *httpapi.Admin
}

// wire puts a gateway together. The parsers still have to be loaded.
func wire(ctx context.Context, cfg *config.Config, log *slog.Logger) (*system, error) {
	if err := checkConfig(cfg); err != nil {
		return nil, err
	}
	sys := &system{}
	var err error
	if sys.process, err = newProcess(ctx, cfg, sys, log); err != nil {
		return nil, err
	}
	v, err := sys.build(ctx, cfg, nil)
	if err != nil {
		return nil, errors.Join(err, sys.process.close(ctx))
	}
	sys.apply(v)
	sys.current.Store(v)
	return sys, nil
}

// checkConfig checks what the configuration's own package cannot.
func checkConfig(cfg *config.Config) error {
	if err := cfg.CheckPrompted(flow.PromptForms()); err != nil {
		return err
	}
	return cfg.CheckPlugins(
		func(text string) error { _, err := trust.ParseKey(text); return err },
		func(text string) error { _, err := oci.Parse(text); return err })
}

// build makes an edition which is to take the place of previous, nil for none. That notices nothing
// of it. If there is an error nothing of the edition is left.
func (p *process) build(ctx context.Context, cfg *config.Config, previous *edition) (v *edition, err error) {
	v = &edition{uses: newUses(), config: cfg, files: filesOf(cfg), parsers: p.parsers}
	built := false
	defer func() {
		if !built { // also if something panicked: a gateway that serves goes on without it
			err = errors.Join(err, v.close(previous))
		}
	}()
	if v.prices, err = readPrices(cfg); err != nil {
		return v, err
	}
	if v.providers, err = newProviders(cfg, previous); err != nil {
		return v, err
	}
	if previous != nil {
		if v.parsers, err = previous.parsers.next(ctx, cfg); err != nil {
			return v, err
		}
	}
	if v.tools, err = newCatalogue(cfg, previous, p.log); err != nil {
		return v, err
	}
	if err = p.answers.prepare(cfg, p.shared, p.log); err != nil {
		return v, err
	}
	if err = v.newGateway(p, previous); err != nil {
		return v, err
	}
	if v.chat, err = v.admission(p); err != nil {
		return v, err
	}
	if v.tools != nil {
		v.chat = chatting{v.chat, v.newRunner(p)}
	}
	if v.server, err = httpapi.New(v.api(p)); err != nil {
		return v, err
	}
	v.admin, err = v.newAdmin(p)
	built = err == nil
	return v, err
}

// newAdmin makes the operators' server with its page.
func (v *edition) newAdmin(p *process) (*httpapi.Admin, error) {
	c := v.operators(p)
	var err error
	if c.Console, err = v.console(p, c); err != nil {
		return nil, err
	}
	if c.SSO, err = newSSO(v.config, p.secret); err != nil {
		return nil, err
	}
	return httpapi.NewAdmin(c)
}

// newGateway makes the edition's gateway, and what works beside its requests.
func (v *edition) newGateway(p *process, previous *edition) (err error) {
	options := v.options(p)
	if previous != nil {
		options.Previous = previous.gateway
	}
	if err = v.rollouts.add(p, v.config, &options); err != nil {
		return err
	}
	v.gateway, err = flow.New(options)
	return err
}

// options are those of the gateway.
func (v *edition) options(p *process) flow.Options {
	cfg := v.config
	o := flow.Options{
		Providers: v.providers, Policies: policies(cfg), Routes: routes(cfg), Rules: rules(cfg), Aliases: aliases(cfg), Direct: direct(cfg), Unlisted: unlisted(cfg), NoModelHint: noModelHint(cfg), Parsers: v.parsers,
		CacheSalt: p.secret, RoutePolicies: routePolicies(cfg), RoutePolicy: routePolicy(cfg.DefaultRoute()),
		ShareIndex: p.shared != nil, ReasoningField: cfg.ReasoningField, Timeout: time.Duration(cfg.Timeout), Prompts: cfg.Log.Prefix, OnChange: p.metrics.Transition,
		Saved: p.accounts.bill, Meters: p.meters(cfg), AsksUsage: p.asksUsage(cfg), Quality: p.quality, Log: p.log,
	}
	o.Price = v.price
	p.answers.into(cfg, o.RoutePolicies, &o.RoutePolicy)
	if p.tracer != nil {
		o.Trace = p.tracer.Attempt
	}
	return o
}

// api is what the clients' server is made of.
func (v *edition) api(p *process) httpapi.Config {
	cfg := v.config
	c := httpapi.Config{
		Gateway: v.chat, Serves: v.tools != nil, State: p.state, Sockets: p.sockets, Metrics: p.accounts, Sealer: p.sealer, Content: p.content,
		MaxBody: int64(cfg.Limits.Body), MaxUpload: int64(cfg.Limits.Upload), Memory: p.memory, Uploads: p.uploads, Limits: requestLimits(cfg.Limits),
		Passthrough: cfg.Passthrough, Ready: v.ready, Notes: v.parsers.notes, Heartbeat: time.Duration(cfg.Heartbeat), Keys: p.keys, Proxies: cfg.Proxies(), Origins: cfg.CORSOrigins, Log: p.log,
	}
	if p.tracer != nil {
		c.Trace = p.tracer.Request
	}
	return c
}

// operators is what the operators' server is made of, but its page.
func (v *edition) operators(p *process) httpapi.AdminConfig {
	return httpapi.AdminConfig{
		KeyHash:  v.config.Admin.KeyHash.Reveal(),
		Breakers: v.gateway.Breakers, Reset: v.gateway.ResetBreaker, Targets: v.gateway.Targets,
		Caches: func() any { return p.accounts.snapshot(v.gateway.Caches(), p.shared.snapshot()) },
		Usage:  p.usage.asker(),
		Tools:  func() any { return map[string]any{"servers": v.tools.Status()} }, Plugins: v.parsers.overview, ResetParser: v.parsers.reset,
		Quality:  func() any { return p.quality.Snapshot() },
		Rollouts: v.rollouts.snapshots, SetArm: v.rollouts.set,
		Reload: p.reloads.asked, Keys: p.keys, Metrics: p.metrics.Handler(), Log: p.log,
	}
}

// ready says what requests would lack now: parsers, or the tools of a server that starts.
func (v *edition) ready() error { return cmp.Or(v.parsers.ready(), v.tools.Ready()) }

// close ends what is the edition's alone, and not that of another one, which may be nil.
func (v *edition) close(other *edition) error {
	v.rollouts.close()
	for name, p := range v.providers {
		if other == nil || other.providers[name] != p {
			if c, ok := p.(interface{ CloseIdleConnections() }); ok {
				c.CloseIdleConnections()
			}
		}
	}
	return v.tools.Close()
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

// noModelHint says what is missing where there is nothing but the demo that nobody has asked for: an
// app's own key is not the gateway's.
func noModelHint(cfg *config.Config) string {
	if len(cfg.Providers) > 1 || cfg.Providers["demo"].Type != "demo" || cfg.Names("demo") {
		return ""
	}
	return "This gateway has the models of its demo alone, such as demo/hermes: start it with a vendor's key (OPENAI_API_KEY, ANTHROPIC_API_KEY …) in its own environment, with --upstream URL, or with -c FILE."
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
		for _, ro := range cfg.Rollouts {
			for _, a := range ro.Arms {
				targets, _ := cfg.ArmTargets(a.Override, name)
				lists = append(lists, targets)
			}
		}
		for _, t := range slices.Concat(lists...) {
			out = append(out, cmp.Or(t.Model, name))
		}
	}
	return out
}

// logger makes the log that the configuration asks for.
func logger(w io.Writer, c config.Log) *slog.Logger {
	log, _ := newLogger(w, c)
	return log
}

// newLogger is logger with the level, which can be changed.
func newLogger(w io.Writer, c config.Log) (*slog.Logger, *slog.LevelVar) {
	level := &slog.LevelVar{}
	setLevel(level, c)
	return slog.New(logHandler(w, c, level)), level
}

func setLevel(level *slog.LevelVar, c config.Log) {
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration has checked it
}

func logHandler(w io.Writer, c config.Log, level *slog.LevelVar) slog.Handler {
	file, ok := w.(*os.File)
	switch {
	case c.Format == "text":
		return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})
	case c.Format == "auto" && !c.Prefix && ok && isatty.IsTerminal(file.Fd()):
		return tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: os.Getenv("NO_COLOR") != ""})
	}
	return jsonlog.New(w, level)
}
