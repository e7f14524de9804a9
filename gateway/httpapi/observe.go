package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/chat"
	"github.com/callgate/callgate/gateway/socket"
	"github.com/callgate/callgate/internal/randtext"
)

// record is what the log line of a request needs and handlers know.
type record struct {
	id        string
	model     string
	stream    bool
	route     string
	summary   *gateway.Summary
	err       *gateway.Error
	form      *protocol.Form     // of the protocol that the path is of
	endpoint  string             // what is asked for, where the protocol's name does not say it
	asks      bool               // it is a request for an answer
	writer    protocol.Writer    // of an answer that has begun
	key       string             // that was refused
	raw       bool               // the answer is the upstream's bytes, and no event of ours may follow what was sent
	abort     bool               // it broke off
	recording *content.Recording // of what is said; nil: nobody keeps it

	endTrace func(gateway.Record) // nil: no trace was begun
}

// protocol is the one that the client speaks, or the endpoint.
func (rec *record) protocol() string { return cmp.Or(rec.endpoint, rec.form.Name) }

// observed is the context of a request. It has the record beside it: Echo's own store of values is a
// map, made for each request, behind a lock.
type observed struct {
	echo.Context
	record record
	client *gateway.Client // whose request it is; nil without keys
}

// Error implements echo.Context, for errors that handlers and middleware tell.
func (o *observed) Error(err error) { o.Echo().HTTPErrorHandler(err, o) }

// recordOf returns the record of a request; an empty one outside of observe.
func recordOf(c echo.Context) *record {
	if o, ok := c.(*observed); ok {
		return &o.record
	}
	return &record{form: chat.Form}
}

// errorsAs marks a path whose errors have a protocol's form. It is the first middleware of the path.
func errorsAs(form *protocol.Form) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			recordOf(c).form = form
			return next(c)
		}
	}
}

// answersAs marks a path that asks for answers in a protocol: its errors have that form too, and metrics and
// traces count its requests. It is the first middleware of the path.
func answersAs(form *protocol.Form) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			rec := recordOf(c)
			rec.form, rec.asks = form, true
			return next(c)
		}
	}
}

func requestID(c echo.Context) string { return recordOf(c).id }

func setRequestID(c echo.Context) { c.Response().Header()[requestIDHeader] = []string{requestID(c)} }

// requestIDHeader is written as http.CanonicalHeaderKey gives it, as all names are that are looked
// at for each request: any other spelling is made into that one each time.
const requestIDHeader = "X-Request-Id"

// observer tells log, metrics and traces of requests.
type observer struct {
	log     *slog.Logger
	metrics Metrics // may be nil
	// trace is Config.Trace.
	trace func(ctx context.Context, header http.Header, name, protocol string) (context.Context, func(gateway.Record))
}

// observe gives each request its id and writes one line to the log when it is done.
// No prompt, answer or key is in it.
func (w *observer) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		o := &observed{Context: c, record: record{form: chat.Form, id: clientID(c.Request().Header.Get(requestIDHeader))}}
		rec := &o.record
		c = o
		setRequestID(c)
		forBrowsers(c.Response().Header())
		defer func() { rec.recording.End(false) }() // unless somebody has kept it
		if err := next(c); err != nil {
			c.Error(err)
		}
		w.ended(c, rec, time.Since(began))
		level := slog.LevelInfo
		if path := c.Request().URL.Path; path == "/livez" || path == "/readyz" {
			level = slog.LevelDebug
		} else if rec.failed(c.Response().Status) {
			level = slog.LevelWarn
		}
		ctx := c.Request().Context()
		if w.log.Enabled(ctx, level) {
			var room [maxAttrs]slog.Attr
			line := slog.NewRecord(time.Now(), level, "request", 0) // LogAttrs would look for its caller
			line.AddAttrs(rec.attrs(room[:0], c, line.Time.Sub(began))...)
			_ = w.log.Handler().Handle(ctx, line) // as LogAttrs does
		}
		if rec.abort {
			panic(http.ErrAbortHandler) // ends the connection without the end of the body
		}
		return nil
	}
}

// forBrowsers sets what every answer says: that it is what its content type says, and that
// nobody keeps it, since the next one may be for somebody else.
func forBrowsers(h http.Header) {
	h["X-Content-Type-Options"], h["Cache-Control"] = noSniff, noStore
}

// Values of headers that all answers share. Nobody changes them: whoever sets another value sets another
// slice.
var noSniff, noStore = []string{"nosniff"}, []string{"no-store"} //nolint:gochecknoglobals // constants

// failed reports whether a request came to a bad end that is not the client's doing. In
// a stream that began well the status does not say so.
func (rec *record) failed(status int) bool {
	if rec.summary != nil && rec.summary.UpstreamError {
		return true
	}
	return rec.err != nil && rec.err.Kind != gateway.Canceled && (status >= http.StatusInternalServerError || status == http.StatusOK)
}

// begin notes in metrics and trace that a request is asked. done tells the route that it took.
func (w *observer) begin(c echo.Context) (ctx context.Context, done func(route string)) {
	rec := recordOf(c)
	ctx = c.Request().Context()
	if w.trace != nil {
		ctx, rec.endTrace = w.trace(ctx, c.Request().Header, c.Request().Method+" "+c.Path(), rec.protocol()) // not what a client has written into the path
	}
	ctx = content.With(ctx, rec.recording)
	if w.metrics != nil {
		w.metrics.Begin()
	}
	return ctx, func(route string) {
		rec.route = route
		if w.metrics != nil {
			w.metrics.End()
		}
	}
}

// ended ends the trace of a request that is over, if begin has begun one, and hands a request for an
// answer to the metrics.
func (w *observer) ended(c echo.Context, rec *record, took time.Duration) {
	if !rec.asks && rec.endTrace == nil {
		return
	}
	r := gateway.Record{ID: rec.id, Route: rec.route, Status: c.Response().Status, Protocol: rec.protocol(), Stream: rec.stream, Took: took, Summary: rec.summary, Tenant: tenantOf(c), Recording: rec.recording}
	if rec.err != nil {
		r.Code, r.Kind = rec.err.CodeOrDefault(), rec.err.Kind
	}
	if rec.endTrace != nil {
		rec.endTrace(r)
	}
	if rec.asks && w.metrics != nil {
		w.metrics.Request(&r)
	}
}

// maxAttrs is how many members the line of most requests has at most.
const maxAttrs = 32

// attrs appends what the line of a request says.
func (rec *record) attrs(attrs []slog.Attr, c echo.Context, took time.Duration) []slog.Attr {
	attrs = append(attrs,
		slog.String("id", rec.id),
		slog.String("method", c.Request().Method),
		slog.String("path", keys.Hide(c.Request().URL.Path)),
		slog.Int("status", c.Response().Status),
		slog.Duration("took", took),
		slog.Int64("bytes", c.Response().Size),
	)
	if over := socket.Connection(c.Request().Context()); over != "" {
		attrs = append(attrs, slog.String("connection", over))
	}
	if name := cmp.Or(tenantOf(c), rec.key); name != "" {
		attrs = append(attrs, slog.String("key", name))
	}
	if rec.model != "" {
		attrs = append(attrs, slog.String("model", rec.model), slog.Bool("stream", rec.stream))
	}
	if rec.asks && rec.form != chat.Form {
		attrs = append(attrs, slog.String("protocol", rec.form.Name))
	}
	if s := rec.summary; s != nil {
		observe.LogFields(s, func(name string, value any) { attrs = append(attrs, slog.Any(name, value)) })
		attrs = append(attrs, rec.promptAttrs()...)
	}
	if s := rec.summary; s != nil && s.UpstreamError {
		attrs = append(attrs, slog.Bool("upstream_error", true))
	}
	if rec.err != nil {
		attrs = append(attrs, slog.String("code", rec.err.CodeOrDefault()), slog.String("error", rec.err.Error()))
	}
	return attrs
}

// clientID is the client's own request id if it is fit for a header and a log, or
// a new one.
func clientID(id string) string {
	fit := id != "" && len(id) <= 128 && strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	if fit {
		return id
	}
	return newID()
}

// newID is an id of 120 random bits.
func newID() string {
	const prefix, letters, n = "req_", "abcdefghijklmnopqrstuvwxyz234567", 24
	var room [len(prefix) + n]byte
	return string(randtext.Append(append(room[:0], prefix...), letters, n))
}

// recoverer turns a panic of a handler into an error, so that the client gets an
// answer and the log the stack.
func recoverer(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = panicked(log, c, p)
				}
			}()
			return next(c)
		}
	}
}

// panicked is the error of a panic, which the log hears of.
func panicked(log *slog.Logger, c echo.Context, p any) error {
	if p == http.ErrAbortHandler { // net/http panics with this very value
		panic(p)
	}
	log.Error("panic", "id", requestID(c), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return gateway.AsError(fmt.Errorf("panic: %v", p))
}
