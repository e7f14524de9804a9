// Package httpapi is the gateway's face: HTTP handlers that read a request, hand
// it to the gateway and write what comes back. It is the only importer of Echo, so
// that another version of Echo is a change of this package alone.
package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/protocol/chat"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/socket"
)

// Chatter answers requests; *flow.Gateway is one.
type Chatter interface {
	Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error)
	Models(ctx context.Context) []string
	HasModel(ctx context.Context, name string) bool
	// Relay sends on what is no chat; see flow.Gateway.
	Relay(ctx context.Context, req *gateway.Request, r *gateway.Relay, one bool) (*gateway.Response, error)
	Passthrough(ctx context.Context, provider string, req *gateway.Request, r *gateway.Relay) (*gateway.Response, error)
}

// Metrics are told of requests: Begin and End say that the gateway is asked, and is not any more; Request, behind
// End, what became of a request for an answer. Tokens that an upstream is asked to count have Begin and End alone.
type Metrics interface {
	Begin()
	Request(r *gateway.Record)
	End()
}

// Config is what a Server is made of.
type Config struct {
	Gateway Chatter
	// Keys are the clients' keys. While it asks for none everyone is let in, which the configuration
	// allows on loopback only. It may be nil.
	Keys *keys.Book
	// Proxies are trusted to say where requests come from: see [netaddr.Client].
	Proxies []netip.Prefix
	// Origins are those of web pages that may ask from within a browser; "*" is any, where keys are asked for.
	Origins []string
	// MaxBody is the largest request body in bytes; default 32 MiB.
	MaxBody int64
	// MaxUpload is the largest form (multipart/form-data) in bytes; default 100 MiB.
	MaxUpload int64
	// Passthrough are paths below /v1 whose requests go to one provider: path to provider.
	Passthrough map[string]string
	// Memory is what all requests in progress may take together; nil has no bound.
	Memory *inflight.Budget
	// Uploads is what all uploads in progress may have in files; nil has no bound.
	Uploads *inflight.Budget
	// Limits are on what a body is made of.
	Limits gateway.Limits
	// Serves says that the gateway runs tools of servers of its own, which requests may name.
	Serves bool
	// Ready says why requests cannot be answered well yet, or nil. It may be nil.
	Ready func() error
	// Notes are lines that /readyz says beside that it is ready. It may be nil.
	Notes func() []string
	// Heartbeat is after how much silence a comment goes to the client of a stream, so
	// that nobody on the way takes the connection for dead; 0 means never.
	Heartbeat time.Duration
	// Metrics are told of chat requests. They may be nil.
	Metrics Metrics
	// Trace begins the trace of a chat request, with the name of its span; it may be nil.
	// The function that it returns is called once.
	Trace func(ctx context.Context, header http.Header, name, protocol string) (context.Context, func(gateway.Record))
	// Content keeps what is said, as far as the operator wants that. It may be nil.
	Content *content.Keeper
	// Sealer seals the reasoning that clients of the Responses API keep. It may be nil.
	Sealer *responses.Sealer
	// State is what the Responses API remembers; nil for nothing.
	State *state.Service
	// Sockets has the connections of clients that ask over WebSockets; nil for none.
	Sockets *socket.Sockets
	// Log may be nil.
	Log *slog.Logger
}

// Server serves the API. It is an http.Handler.
type Server struct {
	echo   *echo.Echo
	health *health
	log    *slog.Logger
	stall  time.Duration
}

const chatPath = "/v1/chat/completions"

// New makes a server.
func New(cfg Config) (*Server, error) {
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = 32 << 20
	}
	if cfg.MaxUpload <= 0 {
		cfg.MaxUpload = 100 << 20
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		echo:   echo.New(),
		health: &health{ready: cfg.Ready, notes: cfg.Notes},
		log:    cfg.Log,
		stall:  stallLimit,
	}
	w := &observer{cfg.Log, cfg.Metrics, cfg.Trace}
	protection, err := newProtection(cfg.Origins)
	if err != nil {
		return nil, err
	}
	a := &access{cfg.Keys, cfg.Proxies, protection}
	b := &bodies{cfg.MaxBody, cfg.Memory, cfg.Limits, cfg.Serves}
	s.echo.HTTPErrorHandler = fail
	s.echo.IPExtractor = echo.ExtractIPDirect() // no header of a client's says who it is
	s.echo.Use(w.observe, recoverer(cfg.Log), awaitBodies, endChunked, s.health.endDraining)
	if len(cfg.Origins) > 0 {
		s.echo.Use(crossOrigin(cfg.Origins))
	}
	s.echo.GET("/livez", livez)
	s.echo.GET("/readyz", s.health.readyz)
	x := &exchange{cfg.Gateway, a, b, w, cfg.Content, cfg.Heartbeat}
	// Not a group's middleware: Echo would make a route of it for every other path and
	// method below /v1, and a wrong method would be a wrong path.
	s.echo.POST(chatPath, x.handler(chat.Parse), a.middleware(answersAs(chat.Form))...)
	r := &relays{cfg.Gateway, a, b, &uploads{cfg.MaxUpload, cfg.Memory, cfg.Uploads}, w}
	r.route(s.echo, cfg.Passthrough)
	models{cfg.Gateway}.route(s.echo, a)
	routeMessages(s.echo, x, &counter{cfg.Gateway, a, w})
	routeResponses(s.echo, x, newParsers(cfg.State, responses.Options{Sealer: cfg.Sealer, Limits: cfg.Limits}))
	if cfg.Sockets != nil {
		(&sockets{cfg.Sockets, a, socket.Settings{Path: responsesPath, Allowed: a.allows, Stopped: stopped, Memory: cfg.Memory, Begin: newSession(cfg.Memory)}}).route(s.echo)
	}
	(&storedAPI{cfg.State, b, cfg.Heartbeat}).route(s.echo, a)
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// Drain makes /readyz say no, so that no new traffic comes while running requests
// finish, and ends each connection behind its next answer.
func (s *Server) Drain() { s.health.draining.Store(true) }

// HTTP returns the server that listens: with limits on headers but none on how long an
// answer takes. The gateway's own timers bound that, and Listener ends connections of
// clients that stall.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       withLeave,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// Listener is l with connections that notice that their client has left, whatever it has sent
// before, and that end where a client stalls. The server of HTTP is to serve it.
func (s *Server) Listener(l net.Listener) net.Listener { return listener{l, s.stall} }
