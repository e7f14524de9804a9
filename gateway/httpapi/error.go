package httpapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
)

// fail is Echo's error handler: it answers with the error, or, where an answer has begun,
// ends the stream with it, without the end marker.
func fail(err error, c echo.Context) {
	e := classify(err, c)
	rec := recordOf(c)
	rec.err = e
	w := c.Response()
	if rec.summary == nil {
		rec.summary = e.Summary
	}
	if s := rec.summary; s != nil && !w.Committed {
		if s.Provider != "" {
			w.Header().Set("x-callgate-provider", s.Provider)
			observe.Attempts(w.Header(), s)
		}
		observe.Facts(w.Header(), s)
	}
	switch {
	case e.Kind == gateway.Canceled:
		if !w.Committed {
			w.WriteHeader(rec.form.StatusOf(e)) // nobody reads it; the log does
		}
	case w.Committed && rec.raw:
		rec.abort = true // the client must see that something is missing
	case w.Committed:
		failLate(w, e, rec)
	case e.Body != nil && rec.form.OpenAI:
		for name, values := range e.Header {
			w.Header()[http.CanonicalHeaderKey(name)] = values
		}
		setRequestID(c)
		w.Header().Set("content-length", strconv.Itoa(len(e.Body))) // a secret may have been taken out of it
		w.Header().Set("x-should-retry", "false")
		w.WriteHeader(e.HTTPStatus())
		_, _ = w.Write(e.Body)
	default:
		for name, values := range e.Header { // what an upstream says of its limits
			if strings.HasPrefix(name, "X-Ratelimit-") {
				w.Header()[name] = values
			}
		}
		setRetry(w.Header(), e)
		_ = c.JSONBlob(rec.form.StatusOf(e), append(rec.form.Error(e, rec.id, w.Header()), '\n'))
	}
}

// failLate ends a stream with an error.
func failLate(w *echo.Response, e *gateway.Error, rec *record) {
	var out []byte
	if rec.summary != nil && e.Summary != nil { // nothing of an answer went out, and so no headers of it
		out = append(out, observe.Late(rec.summary)...)
	}
	if rec.writer != nil {
		out = rec.writer.Fail(out, e)
	} else {
		out = rec.form.Fail(out, e, rec.id)
	}
	_, _ = w.Write(out)
	w.Flush()
}

// setRetry tells OpenAI's SDKs whether and when to try again.
func setRetry(h http.Header, e *gateway.Error) {
	h.Set("x-should-retry", strconv.FormatBool(e.Retryable()))
	if e.RetryAfter > 0 {
		h.Set("retry-after", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
		h.Set("retry-after-ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10))
	}
}

// classify turns any error into the gateway's own.
func classify(err error, c echo.Context) *gateway.Error {
	var he *echo.HTTPError
	if !errors.As(err, &he) {
		return gateway.AsError(err)
	}
	switch he.Code {
	case http.StatusNotFound:
		return &gateway.Error{Kind: gateway.NotFound, Code: "not_found", Message: notFound(c.Request().URL.Path)}
	case http.StatusMethodNotAllowed:
		return &gateway.Error{Kind: gateway.MethodNotAllowed, Message: wrongMethod(c)}
	}
	return &gateway.Error{Kind: gateway.Invalid, Message: fmt.Sprint(he.Message), Err: err}
}

// wrongMethod says which methods a path has in the place of the one that was used. Echo has noted them in a header.
func wrongMethod(c echo.Context) string {
	allowed := strings.TrimPrefix(c.Response().Header().Get(echo.HeaderAllow), http.MethodOptions+", ")
	if allowed == "" {
		return "This path does not support this HTTP method."
	}
	return fmt.Sprintf("This path does not support the HTTP method %s, but %s.", gateway.ExcerptOf(c.Request().Method, 20), allowed)
}
