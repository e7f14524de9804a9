// Package run has the gateway run tools itself: it stands in front of the gateway's story of a
// request, asks the model, runs what the model calls, and asks again with the results, until
// there is an answer. Requests without such tools pass by it as they are.
package run

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/subkey"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/toolserver"
)

// Chatter asks the model; *flow.Gateway is one.
type Chatter interface {
	Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error)
}

// Catalogue has the tools.
type Catalogue interface {
	// Tools are those of servers, sorted by alias, from memory, and what cannot be offered now.
	Tools(servers []string) (tools []toolserver.Tool, missing []toolserver.Missing)
	// Call makes one attempt. The error is a *toolserver.Error.
	Call(ctx context.Context, alias string, arguments json.RawMessage) (*toolserver.Result, error)
}

// Keeper keeps what became of calls between two requests; a store.Store is one.
type Keeper interface {
	PutResponse(ctx context.Context, tenant string, r *store.Response, done bool) error
	GetResponse(ctx context.Context, tenant, id string) (*store.Response, error)
	Lock(ctx context.Context, tenant, name string) (release func(), err error)
}

// Tracer is told of what runs, as a *trace.Tracer is. end is called with how it ended: "ok", or the
// kind of the error.
type Tracer interface {
	// Rounds is told of a request whose tools may be run; model is what the client asked for.
	Rounds(ctx context.Context, model string) (_ context.Context, end func(outcome string))
	// Tool is told of a call, with all its attempts; id is the model's for it.
	Tool(ctx context.Context, t *toolserver.Tool, id string) (_ context.Context, end func(outcome string))
}

// untraced is a Tracer that nobody reads.
type untraced struct{}

// Rounds implements Tracer.
func (untraced) Rounds(ctx context.Context, _ string) (context.Context, func(string)) {
	return ctx, func(string) {}
}

// Tool implements Tracer.
func (untraced) Tool(ctx context.Context, _ *toolserver.Tool, _ string) (context.Context, func(string)) {
	return ctx, func(string) {}
}

// Options are what a Runner is made of. The wiring in internal/cli fills them.
type Options struct {
	Inner     Chatter
	Catalogue Catalogue
	// Servers are the names of all servers.
	Servers []string
	// Route is the entry of the configuration that a model's name leads to, "" for none.
	Route func(model string) string
	// Policies are those of routes, by their name; one that is missing has Policy.
	Policies map[string]Policy
	Policy   Policy
	// Keeper may be nil: the calls of a turn that also calls the client's tools are forgotten then,
	// and so are those that were approved.
	Keeper Keeper
	// Secret is what the key comes from that signs calls which need the client's word: the
	// configuration's cache_salt. None is one of this Runner's own.
	Secret []byte
	// Markup finds calls in the text of results; nil for nobody who does.
	Markup Markup
	// Bill prices an answer of several rounds; it may be nil.
	Bill func(rounds []gateway.RoundCost) gateway.Bill
	// Trace may be nil.
	Trace Tracer
	// Beat is how often a client is told which tool runs; 0 means 10 s.
	Beat time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Runner runs tools for requests. It is safe for concurrent use.
type Runner struct {
	o        Options
	key      [subkey.Size]byte // of approvals
	caller   *caller
	attaches bool // some route has tools without being asked
}

// New makes a Runner.
func New(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trace == nil {
		o.Trace = untraced{}
	}
	if o.Beat <= 0 {
		o.Beat = 10 * time.Second
	}
	if len(o.Secret) == 0 {
		o.Secret = []byte(rand.Text())
	}
	r := &Runner{o: o, key: subkey.Of(o.Secret, "tool approvals"), caller: &caller{catalogue: o.Catalogue, schemas: repair.NewSchemas(0), cleaner: newCleaner(o.Markup), trace: o.Trace}}
	r.attaches = len(o.Policy.Attach) > 0
	for _, p := range o.Policies {
		r.attaches = r.attaches || len(p.Attach) > 0
	}
	return r
}

// Chat implements the gateway's Chat with tools. The caller reads the response to its end, or
// closes it; then nothing runs any more.
func (r *Runner) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	named := mayName(req.Reading.ToolsJSON())
	if !named && !r.attaches {
		return r.o.Inner.Chat(ctx, req)
	}
	policy := r.policy(req.Model)
	if !named && len(policy.Attach) == 0 {
		return r.o.Inner.Chat(ctx, req)
	}
	offer, err := r.offer(req, policy)
	if err != nil {
		return nil, err
	}
	if offer == nil {
		return r.o.Inner.Chat(ctx, req)
	}
	return r.begin(ctx, req, offer, policy.withDefaults())
}

// policy is that of the route to which a model's name leads.
func (r *Runner) policy(model string) Policy {
	route := ""
	if r.o.Route != nil {
		route = r.o.Route(model)
	}
	if p, ok := r.o.Policies[route]; ok {
		return p
	}
	return r.o.Policy
}

// mayName reports whether a list of tools may name servers: most name none, and are not read.
func mayName(tools []byte) bool {
	return bytes.Contains(tools, []byte(`"mcp"`)) || bytes.Contains(tools, []byte(`\u00`))
}
