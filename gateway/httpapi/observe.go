package httpapi

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
)

// record is what the log line of a request needs and handlers know.
type record struct {
	id      string
	model   string
	stream  bool
	summary *gateway.Summary
	err     *gateway.Error
}

// recordKey is where observe leaves the record.
const recordKey = "callgate.record"

func seen(c echo.Context) *record {
	if r, ok := c.Get(recordKey).(*record); ok {
		return r
	}
	return &record{}
}

func requestID(c echo.Context) string { return seen(c).id }

func setRequestID(c echo.Context) { c.Response().Header().Set("x-request-id", requestID(c)) }

// observe gives each request its id and writes one line to the log when it is done.
// No prompt, answer or key is in it.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		rec := &record{id: clientID(c.Request().Header.Get("x-request-id"))}
		c.Set(recordKey, rec)
		setRequestID(c)
		if err := next(c); err != nil {
			c.Error(err)
		}
		level := slog.LevelInfo
		if path := c.Request().URL.Path; path == "/livez" || path == "/readyz" {
			level = slog.LevelDebug
		} else if rec.err != nil && c.Response().Status >= http.StatusInternalServerError {
			level = slog.LevelWarn
		}
		ctx := c.Request().Context()
		if s.cfg.Log.Enabled(ctx, level) {
			s.cfg.Log.LogAttrs(ctx, level, "request", rec.attrs(c, time.Since(began))...)
		}
		return nil
	}
}

func (rec *record) attrs(c echo.Context, took time.Duration) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("id", rec.id),
		slog.String("method", c.Request().Method),
		slog.String("path", c.Request().URL.Path),
		slog.Int("status", c.Response().Status),
		slog.Duration("took", took),
		slog.Int64("bytes", c.Response().Size),
	}
	if name, ok := c.Get(clientKey).(string); ok {
		attrs = append(attrs, slog.String("key", name))
	}
	if rec.model != "" {
		attrs = append(attrs, slog.String("model", rec.model), slog.Bool("stream", rec.stream))
	}
	if s := rec.summary; s != nil {
		attrs = append(attrs, slog.String("provider", s.Provider), slog.String("upstream_model", s.Model),
			slog.Duration("overhead", s.Overhead), slog.Int("calls", s.Calls))
		if len(s.Parsers) > 0 {
			attrs = append(attrs, slog.String("parser", strings.Join(s.Parsers, ",")))
		}
		if len(s.Repairs) > 0 {
			attrs = append(attrs, slog.String("repairs", s.RepairList()))
		}
		if len(s.Warnings) > 0 {
			attrs = append(attrs, slog.String("warnings", strings.Join(s.Warnings, ",")))
		}
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
	return "req_" + strings.ToLower(rand.Text()[:24])
}

// recover turns a panic of a handler into an error, so that the client gets an
// answer and the log the stack.
func (s *Server) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { // net/http panics with this very value
				panic(p)
			}
			s.cfg.Log.Error("panic", "id", requestID(c), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = gateway.AsError(fmt.Errorf("panic: %v", p))
		}()
		return next(c)
	}
}
