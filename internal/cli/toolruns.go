package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
	toolrun "github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
)

// chatting is the gateway with the tools that it runs: chats go through the runner.
type chatting struct {
	*flow.Gateway
	runner *toolrun.Runner
}

// Chat implements httpapi.Chatter.
func (c chatting) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	return c.runner.Chat(ctx, req)
}

// newRunner makes what runs the system's tools.
func (sys *system) newRunner(cfg *config.Config, bill func([]gateway.RoundCost) gateway.Bill, log *slog.Logger) (*toolrun.Runner, error) {
	g, s := sys.gateway, sys.store
	o := toolrun.Options{Inner: g, Catalogue: sys.tools, Servers: sys.tools.Servers(), Route: g.Route, Policies: map[string]toolrun.Policy{}, Policy: runPolicy(cfg.DefaultRoute().Tools),
		Allowed: map[string][]string{}, Markup: &markup{parsers: sys.parsers}, Bill: bill, Trace: sys.tracer.Tool, Log: log}
	for name, m := range cfg.Models {
		if m.Alias == "" {
			o.Policies[name] = runPolicy(cfg.Route(name).Tools)
		}
	}
	for _, k := range cfg.Keys {
		if k.Tools != nil {
			o.Allowed[k.Name] = k.Tools
		}
	}
	if s != nil && cfg.Store.Kind != "memory" { // else what was agreed to is forgotten with the process
		o.Secret = []byte(cfg.CacheSalt.Reveal())
	}
	if s != nil {
		o.Keeper = s
		return toolrun.New(o), nil
	}
	kept, err := memory.New(store.Options{TTL: keptFor, Limits: store.Limits{Bytes: keptBytes, Entries: keptEntries}})
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	o.Keeper = kept
	return toolrun.New(o), nil
}

// What is kept of calls for the next request of a conversation, where there is no store.
const (
	keptFor     = 10 * time.Minute
	keptBytes   = 64 << 20
	keptEntries = 10_000
)

// taints are the configuration's words.
var taints = map[string]toolrun.Taint{"": toolrun.TaintApprove, "approve": toolrun.TaintApprove, "report": toolrun.TaintReport, "off": toolrun.TaintOff}

// runPolicy is what a route says of tools.
func runPolicy(u config.ToolUse) toolrun.Policy {
	return toolrun.Policy{
		Attach: u.Servers, Rounds: u.MaxRounds, Warn: u.WarnAt, Idle: u.IdleRounds, Parallel: u.Parallel, Attempts: u.Attempts, Taint: taints[u.Taint],
		Time: toolrun.Times{Tool: time.Duration(u.ToolTimeout), Run: time.Duration(u.Timeout), Answer: time.Duration(u.AnswerTime), Approval: time.Duration(u.ApprovalTTL)},
		Size: toolrun.Sizes{Result: int(u.MaxResult), Run: int(u.MaxResults)},
	}
}
