package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/providers/demo"
	openaiprovider "github.com/callgate/callgate/providers/openai"
)

// system is a gateway put together as its configuration says.
type system struct {
	parsers *parsers
	gateway *gateway.Gateway
	server  *httpapi.Server
}

// wire puts a gateway together. The parsers still have to be loaded.
func wire(ctx context.Context, cfg *config.Config, log *slog.Logger) (*system, error) {
	providers, err := newProviders(cfg)
	if err != nil {
		return nil, err
	}
	p, err := newParsers(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	g, err := gateway.New(gateway.Options{
		Providers: providers, Routes: routes(cfg), Direct: direct(cfg), Parsers: p,
		ReasoningField: cfg.ReasoningField, Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, p.host.Close(ctx))
	}
	keys := map[string]string{}
	for _, k := range cfg.Keys {
		keys[k.Name] = k.Hash.Reveal()
	}
	server, err := httpapi.New(httpapi.Config{Gateway: g, Keys: keys, MaxBody: int64(cfg.Limits.Body), Ready: p.ready, Log: log})
	if err != nil {
		return nil, errors.Join(err, p.host.Close(ctx))
	}
	return &system{parsers: p, gateway: g, server: server}, nil
}

// newProviders makes the providers. This table is the only place that knows their
// kinds.
func newProviders(cfg *config.Config) (map[string]gateway.Provider, error) {
	kinds := map[string]func(name string, p config.Provider) (gateway.Provider, error){
		"openai": newOpenAI,
		"demo": func(string, config.Provider) (gateway.Provider, error) {
			return demo.New(demo.Config{}), nil
		},
	}
	out := map[string]gateway.Provider{}
	for name, p := range cfg.Providers {
		provider, err := kinds[p.Type](name, p)
		if err != nil {
			return nil, fmt.Errorf("provider %q: %w", name, err)
		}
		out[name] = provider
	}
	return out, nil
}

func newOpenAI(name string, p config.Provider) (gateway.Provider, error) {
	headers := map[string]string{}
	for key, value := range p.Headers {
		headers[key] = value.Reveal()
	}
	return openaiprovider.New(openaiprovider.Config{
		Name: name, BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Headers: headers, Server: p.Server,
		MaxResponse: int64(p.MaxResponse),
		Timeouts: openaiprovider.Timeouts{
			Connect: time.Duration(p.Timeouts.Connect), FirstToken: time.Duration(p.Timeouts.FirstToken),
			Idle: time.Duration(p.Timeouts.Idle), Total: time.Duration(p.Timeouts.Total),
		},
	})
}

// routes are the models of the configuration. The first target of each is asked.
func routes(cfg *config.Config) map[string]gateway.Target {
	out := map[string]gateway.Target{}
	for name, m := range cfg.Models {
		t := target(cfg.Targets(name)[0])
		t.Model = m.Targets[0].Model
		out[name] = t
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

func target(r config.Resolved) gateway.Target {
	modes := map[string]gateway.Mode{"off": gateway.Off, "report": gateway.Report, "repair": gateway.Repair}
	reasoning := map[string]chain.Reasoning{"open": chain.Open, "auto": chain.Auto}
	return gateway.Target{
		Provider: r.Provider, Model: r.Model, Mode: modes[r.ToolCalls],
		Parsers: parserSpec(r.Parser, r.Reasoning), Reasoning: reasoning[r.Reasoning],
		InReasoning: inReasonings[r.ToolInReasoning], RawText: r.RawToolText,
	}
}

// logger makes the log that the configuration asks for.
func logger(w io.Writer, c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration has checked it
	opts := &slog.HandlerOptions{Level: level}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}
