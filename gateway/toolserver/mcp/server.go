// Package mcp speaks the Model Context Protocol to one server, over streamable HTTP or to a
// process that it starts, in all versions from 2024-11-05 to 2026-07-28. The protocol itself is
// the official SDK's; this package holds it to bounds, keeps the answers' own bytes, and says
// of each failure whether the call may have run.
//
// It is a client that offers nothing: no roots, no sampling, and no elicitation but with
// [Options].Defaults. A server that asks its user for something gets no answer, and the call an error
// of the kind needs_input.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/signin"
)

// Options say which server, and how to reach it. Either URL or Command is set.
type Options struct {
	Name string // the operator's name for it, for messages
	// URL is the endpoint of streamable HTTP. Headers go with every request to it, and
	// nowhere else. Private is reach.Options.Private.
	URL     *url.URL
	Headers map[string]string
	Private bool
	// SignIn gives the credentials of OAuth for URL, nil where it wants none. Close closes it.
	SignIn *signin.Gate
	// Defaults answers a server that asks its user for something with the defaults that it names
	// itself, where it needs nothing else.
	Defaults bool
	// Command is a program and its arguments, run without a shell in a process group of its
	// own. Its environment is Env and the few variables of [Environment].
	Command   []string
	Env       map[string]string
	Directory string // it runs in; "" is the gateway's own
	// Limits are those of the process and of each that it starts. They need a Guard.
	Limits Limits
	// Guard is the program, with its arguments, that calls [GuardMain] with what follows them;
	// nil runs the command without a guard.
	Guard []string
	// Start bounds a connection with its handshake, the start of the process included; 0 is
	// 10 s for HTTP and 60 s for a process, which may have to fetch itself first.
	Start time.Duration
	// Changed is called when the server says that its list has changed, from any goroutine. It
	// must not block. nil: nobody listens.
	Changed func()
	Version string       // of the gateway, told to the server
	Log     *slog.Logger // nil: none
}

// Limits are what one process may use; 0 is no limit. The system sets them, on Linux alone.
type Limits struct {
	Memory uint64        // bytes of data that it has written to or may write to
	CPU    time.Duration // of all its life, in whole seconds; then it is killed, and started anew for the next call
	Files  uint64        // that it has open, connections among them
}

// Server is a server to list and call the tools of. It connects when it is first asked, and
// again when the connection is lost. It is made by Open, and may be used by several goroutines.
type Server struct {
	o      Options
	client *sdk.Client
	web    *web // nil: a process

	mu      sync.Mutex
	current *session    // nil: none
	flight  *connecting // nil: nobody connects
	legacy  bool        // the server is known to speak no version without a handshake
	closed  bool
	failed  *connecting     // the last that came to nothing, for a moment
	until   time.Time       // it counts
	work    sync.WaitGroup  // connections and their ends
	ctx     context.Context //nolint:containedctx // that of all connections, until Close
	cancel  context.CancelFunc
}

// connecting is a connection that is being made, on behalf of all who wait for it.
type connecting struct {
	done chan struct{}
	got  *session
	err  error
}

// Open makes a Server. It connects to nothing yet. The caller must Close it.
func Open(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if o.URL != nil {
		s.web = newWeb(o)
	}
	options := &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{}, // nil would offer roots
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		Logger:         slog.New(slog.DiscardHandler), // it quotes what servers send
	}
	if o.Changed != nil {
		options.ToolListChangedHandler = func(context.Context, *sdk.ToolListChangedRequest) { o.Changed() }
	}
	if o.Defaults {
		options.Capabilities.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}
		options.MultiRoundTrip, options.ElicitationHandler = nil, answerWithDefaults
	}
	s.client = sdk.NewClient(&sdk.Implementation{Name: "callgate", Version: o.Version}, options)
	return s
}

// Close ends the connection, and a process with all that it has started. Calls that run fail.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.current != nil {
		s.dropLocked(s.current)
	}
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
	if s.web != nil {
		s.web.close()
	}
	if s.o.SignIn != nil {
		s.o.SignIn.Close()
	}
	return nil
}

// errClosed says that the server is not used any more.
var errClosed = errors.New("the gateway is shutting down")

// session gives the connection, and makes one if there is none. The connection is not bound to
// ctx: another caller may need it.
func (s *Server) session(ctx context.Context) (*session, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	if at := s.current; at != nil {
		s.mu.Unlock()
		return at, nil
	}
	c := s.flight
	if c == nil && s.failed != nil && time.Now().Before(s.until) {
		c = s.failed // a process that does not start is not started for each call
	}
	if c == nil {
		c = &connecting{done: make(chan struct{})}
		s.flight = c
		legacy := s.legacy
		s.work.Go(func() { s.connect(c, legacy) })
	}
	s.mu.Unlock()
	select {
	case <-c.done:
		return c.got, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connect makes the connection that c stands for.
func (s *Server) connect(c *connecting, legacy bool) {
	limit := s.o.Start
	if limit <= 0 {
		limit = 10 * time.Second
		if s.web == nil {
			limit = time.Minute
		}
	}
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	got, err := s.open(ctx, legacy)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flight = nil
	switch {
	case err != nil:
		s.legacy = false // it may be another server by now
		s.failed, s.until = c, time.Now().Add(s.hold())
		c.err = err
	case s.closed:
		s.current = got
		s.dropLocked(got)
		c.err = errClosed
	default:
		s.current, s.legacy, c.got = got, got.legacy, got
		s.work.Go(func() {
			_ = got.cs.Wait()
			s.drop(got)
		})
	}
	close(c.done)
}

// hold is how long a connection that came to nothing is not tried again.
func (s *Server) hold() time.Duration {
	if s.web == nil {
		return time.Second
	}
	return 100 * time.Millisecond
}

// drop gives up a connection, for all who come from now on.
func (s *Server) drop(old *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(old)
}

func (s *Server) dropLocked(old *session) {
	if s.current == old {
		s.current = nil
	}
	if !old.ended {
		old.ended = true
		s.work.Go(old.close)
	}
}

// List asks for all tools. The error is a [*toolserver.Error].
func (s *Server) List(ctx context.Context) (*toolserver.Listing, error) {
	ctx, stop := s.within(ctx)
	defer stop()
	for again := true; ; again = false {
		at, err := s.session(ctx)
		if err != nil {
			return nil, s.unreachable(ctx, err)
		}
		listing, n, err := at.list(ctx)
		if err == nil {
			return listing, nil
		}
		if s.lost(at, n, err) && again {
			continue
		}
		e := s.failure(ctx, n, err)
		if answered(err) != nil && e.Kind != toolserver.TooLarge { // its words are for the log: who reads this has not called it
			e.Kind, e.Message = toolserver.Failed, s.says("does not list its tools")
		}
		return nil, e
	}
}

// Call runs a tool once. Arguments are a JSON object; nil is an empty one. The error is a
// [*toolserver.Error]. A session that the server has forgotten is begun anew, and a call that
// it has refused for that is sent again: it has not run.
func (s *Server) Call(ctx context.Context, tool string, arguments json.RawMessage) (*toolserver.Result, error) {
	ctx, stop := s.within(ctx)
	defer stop()
	for again := true; ; again = false {
		at, err := s.session(ctx)
		if err != nil {
			return nil, s.unreachable(ctx, err)
		}
		result, n, err := at.call(ctx, tool, arguments)
		if err == nil {
			return result, nil
		}
		if s.lost(at, n, err) && again && errors.Is(err, sdk.ErrSessionMissing) && n.unrun() {
			continue
		}
		e := s.failure(ctx, n, err)
		if e.Kind == toolserver.UnknownTool {
			s.drop(at) // and with it a list that the SDK would give for as long as the server has promised
		}
		return nil, e
	}
}

// Scrub takes the token that the gateway was given out of what the server says. The catalogue of tools does
// so with all that goes on.
func (s *Server) Scrub(text string) string {
	if s.o.SignIn == nil {
		return text
	}
	return s.o.SignIn.Scrub(text)
}

// within is ctx, which ends with the server too.
func (s *Server) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// lost drops a connection that is of no further use, and says so.
func (s *Server) lost(at *session, n *note, err error) bool {
	if !broken(n, err) {
		return false
	}
	s.drop(at)
	return true
}

// protect makes an error of a panic: what a server sends must not end the gateway.
func protect(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the answer cannot be read: %v", v)
	}
}
