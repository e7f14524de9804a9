// Package catalogue holds all tools that the gateway can run itself: it asks the servers of the
// configuration what they have, keeps their lists in memory, says what is missing and why, and
// makes calls.
package catalogue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/toolserver"
)

// Source is a server: of the package mcp, or of the package httptool. Errors are
// [*toolserver.Error].
type Source interface {
	List(ctx context.Context) (*toolserver.Listing, error)
	Call(ctx context.Context, tool string, arguments json.RawMessage) (*toolserver.Result, error)
	Close() error
}

// Scrubber is a [Source] with credentials that no configuration names, which it takes out of a text.
type Scrubber interface{ Scrub(text string) string }

// Server is a server of the configuration, and the operator's word on its tools. Names of tools
// are the server's own, with * for any text where it says patterns.
type Server struct {
	// Open makes the source. Changed is to be called when the server says that its list has
	// changed.
	Open  func(changed func()) Source
	Tools []string // patterns of those that are offered; nil for all
	// Own says that the definitions are the operator's own, so that they need no pins, and listing
	// them asks nobody.
	Own bool
	// Trusted says that the server's own hints are believed.
	Trusted                   bool
	Reads, Writes, Idempotent []string // patterns
	// Untrusted says that results hold strangers' text; nil is true, unless the hints of a
	// trusted server say otherwise.
	Untrusted    *bool
	Approval     []string            // patterns
	Descriptions map[string]string   // by tool, instead of the server's
	Fallback     map[string][]string // aliases, by tool
	Timeout      time.Duration       // of a call; 0 is the caller's own
	Concurrency  int                 // calls at a time; 0 is 4
	Refresh      time.Duration       // how old a list gets; 0 is 5 min
	// Secrets are taken out of results and messages, should the server send them back.
	Secrets []string
	// Stays says that all of the above is what the server of that name in Options.Previous has.
	// It goes on as it is.
	Stays bool
}

// Options are what a catalogue is made of.
type Options struct {
	Servers map[string]Server
	// Lock is the file of pins. If there is none, nothing is quarantined.
	Lock string
	Log  *slog.Logger // nil: none
	// Previous is the catalogue whose place this one takes, nil for none; it may still be used. Of
	// its servers those that stay are those of both, with their connections, processes and
	// lists. It is not kept.
	Previous *Catalogue
}

// Catalogue is all tools that can be run. It is made by New, lives between Start and Close, and
// may be used by several goroutines.
type Catalogue struct {
	o       Options
	log     *slog.Logger
	servers map[string]*server
	names   []string // of the servers, sorted
	schemas *repair.Schemas
	locks   *locks

	view atomic.Pointer[view]
	mu   sync.Mutex // one view is made at a time

	previous *Catalogue // until Start

	cancel  atomic.Pointer[context.CancelFunc]
	work    sync.WaitGroup
	started atomic.Pointer[time.Time]
}

// view is what is offered at a moment. It is not changed once it is made.
type view struct {
	byServer map[string][]toolserver.Tool // sorted by alias
	byAlias  map[string]*tool
	missing  map[string][]toolserver.Missing
	changed  map[string]toolserver.Missing // by alias: those in quarantine
}

// New makes a catalogue that has asked nobody yet. An error is a lock file that cannot be read.
// The caller must Close it.
func New(o Options) (*Catalogue, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	locks, err := openLocks(o.Lock)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{o: o, log: o.Log, servers: map[string]*server{}, names: slices.Sorted(maps.Keys(o.Servers)), schemas: repair.NewSchemas(0), locks: locks, previous: o.Previous}
	c.o.Previous = nil
	for name, s := range o.Servers {
		if s.Stays {
			c.servers[name] = o.Previous.share(name)
		}
		if c.servers[name] == nil {
			c.servers[name] = newServer(name, s)
		}
	}
	c.rebuild()
	return c, nil
}

// share is the server of a name for another catalogue too; nil if there is none.
func (c *Catalogue) share(name string) *server {
	if c == nil {
		return nil
	}
	s := c.servers[name]
	if s == nil || !s.join() {
		return nil
	}
	return s
}

// Start asks all servers, and again when their lists are old, until Close. It does not wait: only what
// the operator has defined is there at once. The previous one asks no more. A nil Catalogue has no
// servers.
func (c *Catalogue) Start() {
	if c == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel.Store(&cancel)
	if c.previous == nil { // else the gateway is ready, and stays so
		now := time.Now()
		c.started.Store(&now)
	}
	c.previous.Stop()
	c.previous = nil
	for _, name := range c.names {
		if s := c.servers[name]; s.o.Own && s.left() == 0 {
			c.ask(ctx, s)
		}
		c.work.Go(func() { c.follow(ctx, c.servers[name]) })
	}
	if c.o.Lock != "" && len(c.names) > 0 {
		c.work.Go(func() { c.watch(ctx) })
	}
}

// Ready says which servers have not answered yet since Start, neither with a list nor with an error;
// after startTime nobody waits for them any more. A nil Catalogue is ready.
func (c *Catalogue) Ready() error {
	if c == nil {
		return nil
	}
	if began := c.started.Load(); began == nil || time.Since(*began) > startTime {
		return nil
	}
	for _, name := range c.names {
		s := c.servers[name]
		s.mu.Lock()
		waits := s.listing == nil && s.failures == 0
		s.mu.Unlock()
		if waits {
			return fmt.Errorf("tool server %q is being asked for its tools", name)
		}
	}
	return nil
}

// Stop ends what Start began: no server is asked for its list any more. Calls go on. A nil
// Catalogue has nothing to stop.
func (c *Catalogue) Stop() {
	if c == nil {
		return
	}
	if cancel := c.cancel.Load(); cancel != nil {
		(*cancel)()
	}
}

// Close ends all connections and processes but those that another catalogue has too. Calls that
// run fail.
func (c *Catalogue) Close() error {
	if c == nil {
		return nil
	}
	c.Stop()
	var ends sync.WaitGroup
	for _, s := range c.servers {
		ends.Go(s.leave)
	}
	ends.Wait()
	c.work.Wait()
	return nil
}

// Refresh asks all servers now, at the same time, and waits for their answers. Errors are in
// what Tools and Servers say then.
func (c *Catalogue) Refresh(ctx context.Context) {
	var asked sync.WaitGroup
	for _, s := range c.servers {
		asked.Go(func() { c.ask(ctx, s) })
	}
	asked.Wait()
}

// Servers are the names of all servers, sorted.
func (c *Catalogue) Servers() []string { return slices.Clone(c.names) }

// Tools are what the named servers offer, sorted by alias, and what is missing of it. It waits
// for nobody. A name that is no server's is missing.
func (c *Catalogue) Tools(servers []string) (tools []toolserver.Tool, missing []toolserver.Missing) {
	v := c.view.Load()
	names := slices.Compact(slices.Sorted(slices.Values(servers)))
	for _, name := range names {
		if c.servers[name] == nil {
			missing = append(missing, toolserver.Missing{Server: name, Why: "There is no such tool server."})
			continue
		}
		tools = append(tools, v.byServer[name]...)
		missing = append(missing, v.missing[name]...)
	}
	if !slices.IsSortedFunc(tools, byAlias) { // a server's own are, and most servers' together
		slices.SortFunc(tools, byAlias)
	}
	return tools, missing
}

// Call runs a tool once, as soon as the server has a place for it. The error is a
// [*toolserver.Error].
func (c *Catalogue) Call(ctx context.Context, alias string, arguments json.RawMessage) (*toolserver.Result, error) {
	v := c.view.Load()
	t := v.byAlias[alias]
	if t == nil {
		if m, ok := v.changed[alias]; ok {
			return nil, &toolserver.Error{Kind: toolserver.Changed, Message: fmt.Sprintf("The tool %s cannot be used: %s", alias, m.Why), Hint: "Go on without it."}
		}
		return nil, &toolserver.Error{Kind: toolserver.UnknownTool, Message: fmt.Sprintf("There is no tool %.80q.", alias)}
	}
	s := c.servers[t.Server]
	result, err := s.call(ctx, t, arguments)
	if err == nil {
		err = c.fits(t, result)
	}
	return result, c.settle(s, t, err)
}

// settle makes of an error what callers are promised, and lets the server be looked at where it
// says that the list has changed or that nobody is there.
func (c *Catalogue) settle(s *server, t *tool, err error) error {
	if err == nil {
		return nil
	}
	e := asError(err)
	e.Message, e.Hint = s.clean(e.Message), s.clean(e.Hint)
	if e.Kind == toolserver.UnknownTool || e.Kind == toolserver.Unavailable {
		s.poke()
	}
	s.health.failed(e)
	c.log.Debug("a call of a tool failed", "server", t.Server, "tool", t.Name, "kind", string(e.Kind), "error", s.clean(fmt.Sprint(e.Err)))
	return e
}

// fits checks a structured result against what the server has said of it.
func (c *Catalogue) fits(t *tool, r *toolserver.Result) error {
	if len(t.Output) == 0 || r.Failed || r.Lost() {
		return nil
	}
	if len(r.Structured) == 0 {
		return lie(t, "there is none")
	}
	if problem, checked := c.schemas.Check(t.Output, r.Structured); checked && problem != nil {
		return lie(t, problem.Error())
	}
	return nil
}

func lie(t *tool, what string) error {
	return &toolserver.Error{Kind: toolserver.Failed, Sent: true, Misfit: true,
		Message: fmt.Sprintf("Tool server %q gave a result of %s that is not what it has promised: %s.", t.Server, t.Name, what),
		Hint:    "The call has run. Do not rely on its result; use another tool, or say that it is not known."}
}

func byAlias(a, b toolserver.Tool) int { return strings.Compare(a.Alias, b.Alias) }
