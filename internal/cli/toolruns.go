package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	toolrun "github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
)

// chatting is the gateway with the tools that it runs: chats go through the runner.
type chatting struct {
	chatter
	runner *toolrun.Runner
}

// Chat implements httpapi.Chatter.
func (c chatting) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	return c.runner.Chat(ctx, req)
}

// newRunner makes what runs the tools of an edition.
func (v *edition) newRunner(p *process) *toolrun.Runner {
	cfg, g := v.config, v.gateway
	o := toolrun.Options{Inner: v.chat, Catalogue: v.tools, Servers: v.tools.Servers(), Route: g.Route, Policies: map[string]toolrun.Policy{}, Policy: runPolicy(cfg.DefaultRoute().Tools),
		Markup: &markup{parsers: v.parsers}, Bill: p.accounts.bills, Trace: p.tracer, Keeper: p.kept.Keeper, Secret: p.kept.secret, Log: p.log}
	for name, m := range cfg.Models {
		if m.Alias == "" {
			o.Policies[name] = runPolicy(cfg.Route(name).Tools)
		}
	}
	return toolrun.New(o)
}

// toolKeeper keeps calls for the next request of a conversation.
type toolKeeper struct {
	toolrun.Keeper
	secret []byte // signs calls that need the client's word
}

// newToolKeeper makes one that uses the store, if there is one.
func newToolKeeper(cfg *config.Config, s store.Store) (k toolKeeper, err error) {
	k.secret = []byte(rand.Text())
	if s != nil && cfg.Store.Kind != "memory" && !cfg.CacheSalt.IsZero() { // else what was agreed to is forgotten with the process
		k.secret = []byte(cfg.CacheSalt.Reveal())
	}
	if s != nil {
		k.Keeper = s
		return k, nil
	}
	kept, err := memory.New(store.Options{TTL: keptFor, Limits: store.Limits{Bytes: keptBytes, Entries: keptEntries}})
	if err != nil {
		return k, fmt.Errorf("tools: %w", err)
	}
	k.Keeper = kept
	return k, nil
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
