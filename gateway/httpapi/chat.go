package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
)

// chat is POST /v1/chat/completions.
func (s *Server) chat(c echo.Context) error {
	r := c.Request()
	// The whole body is read before anything is sent upstream: a POST whose answer
	// outruns its body loses the answer in net/http (golang/go#40747).
	body, err := s.readBody(c)
	if err != nil {
		return err
	}
	began := time.Now()
	req, err := gateway.ParseRequest(body)
	if err != nil {
		return err
	}
	if err := budget(req, r.Header); err != nil {
		return err
	}
	passed := passages(r.Header)
	if passed >= maxPassages {
		return loops(passed)
	}
	req.ID = requestID(c)
	req.Header = travelling(r.Header)
	pass(req.Header, passed)
	req.Tenant, _ = c.Get(clientKey).(string)
	rec := seen(c)
	rec.model, rec.stream = req.Model, req.Stream
	defer func() { rec.route = req.Route }()
	if s.cfg.Metrics != nil {
		s.cfg.Metrics.Begin()
		defer s.cfg.Metrics.End()
	}
	pulse := s.newPulse(c.Response(), req.Stream)
	defer pulse.stop()
	ctx, end := s.traced(r)
	rec.endTrace = end
	resp, err := s.cfg.Gateway.Chat(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Close()
	rec.summary = &resp.Summary
	return s.write(c, resp, began, pulse)
}

// maxRetriesHeader is what a client sets to say how many further attempts its request
// may take, at most maxRetries.
const (
	maxRetriesHeader = "X-Callgate-Max-Retries"
	maxRetries       = 10
)

// budget reads what the client says of its retries: how many ours may be, and how many
// its SDK has made. OpenAI's and Anthropic's SDKs count theirs in a header.
func budget(req *gateway.Request, h http.Header) error {
	if text := h.Get(maxRetriesHeader); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxRetries {
			return &gateway.Error{Kind: gateway.Invalid, Param: strings.ToLower(maxRetriesHeader),
				Message: fmt.Sprintf("The header %s must be a number from 0 to %d, not %.40q.", strings.ToLower(maxRetriesHeader), maxRetries, text)}
		}
		req.MaxRetries = &n
	}
	if n, err := strconv.Atoi(h.Get("X-Stainless-Retry-Count")); err == nil {
		req.ClientRetries = max(n, 0)
	}
	return nil
}

// traced begins the trace of a request, if there are traces.
func (s *Server) traced(r *http.Request) (context.Context, func(gateway.Record)) {
	if s.cfg.Trace == nil {
		return r.Context(), nil
	}
	return s.cfg.Trace(r.Context(), r.Header, "POST "+chatPath)
}

// readBody reads the request's body up to the limit.
func (s *Server) readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	tooLarge := &gateway.Error{Kind: gateway.TooLarge,
		Message: fmt.Sprintf("The request body is larger than %d bytes (limits.body).", s.cfg.MaxBody)}
	if r.ContentLength > s.cfg.MaxBody {
		return nil, tooLarge
	}
	if enc := r.Header.Get("content-encoding"); enc != "" && enc != "identity" {
		return nil, &gateway.Error{Kind: gateway.Invalid, Param: "content-encoding",
			Message: fmt.Sprintf("The request body has the content encoding %.40q; send it without one.", enc)}
	}
	var buf bytes.Buffer
	if n := r.ContentLength; n > 0 {
		buf.Grow(int(min(n, 1<<20)) + bytes.MinRead)
	}
	pace := s.newPacer(c.Response())
	pace.body = http.MaxBytesReader(c.Response(), r.Body, s.cfg.MaxBody)
	_, err := buf.ReadFrom(pace)
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, tooLarge
	case err != nil && r.Context().Err() != nil:
		return nil, &gateway.Error{Kind: gateway.Canceled, Message: "The client left.", Err: err}
	case err != nil:
		return nil, &gateway.Error{Kind: gateway.Invalid, Message: "The request body could not be read to its end.", Err: err}
	}
	pace.read() // not after an error: net/http reads what is left of the body
	return buf.Bytes(), nil
}

// write sends a response.
func (s *Server) write(c echo.Context, resp *gateway.Response, began time.Time, pulse *pulse) error {
	piece, more, err := resp.Next()
	if err != nil && err != io.EOF {
		return err
	}
	w := c.Response()
	if !resp.Streamed {
		pulse.pace.write()
		header(w.Header(), resp)
		return s.writeWhole(w, resp, piece, began)
	}
	pulse.begin(&resp.Summary, func() {
		header(w.Header(), resp)
		streamHeader(w.Header())
		w.WriteHeader(http.StatusOK)
	})
	for ; err == nil; piece, more, err = resp.Next() {
		if werr := pulse.write(piece, !more); werr != nil {
			return &gateway.Error{Kind: gateway.Canceled, Message: "The client left.", Err: werr}
		}
	}
	_ = pulse.write(nil, true) // nothing is written; what is owed is flushed
	if err == io.EOF {
		return nil
	}
	return err // fail writes it into the stream
}

// streamHeader says that the answer is a stream, to whoever stands in front of us: nginx
// would collect it.
func streamHeader(h http.Header) {
	h.Set("cache-control", "no-cache")
	h.Set("x-accel-buffering", "no")
}

func (s *Server) writeWhole(w *echo.Response, resp *gateway.Response, body []byte, began time.Time) error {
	h, sum := w.Header(), &resp.Summary
	report(h, sum)
	total := time.Since(began)
	h.Set("x-callgate-overhead-ms", milliseconds(sum.Overhead))
	h.Set("server-timing", fmt.Sprintf("upstream;dur=%s, gw;dur=%s", milliseconds(total-sum.Overhead), milliseconds(sum.Overhead)))
	h.Set("content-length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if _, err := w.Write(body); err != nil {
		return &gateway.Error{Kind: gateway.Canceled, Message: "The client left.", Err: err}
	}
	return nil
}

// header sets what is known before the first byte: the upstream's headers and ours.
func header(h http.Header, resp *gateway.Response) {
	for name, values := range resp.Header {
		if key := http.CanonicalHeaderKey(name); key != "X-Request-Id" {
			h[key] = values
		}
	}
	if upstream := resp.Header.Get("x-request-id"); upstream != "" {
		h.Set("x-callgate-upstream-request-id", upstream)
	}
	h.Del("content-length")
	h.Set("x-callgate-provider", resp.Summary.Provider)
	h.Set("x-callgate-model", headerText(resp.Summary.Model))
	attempts(h, &resp.Summary)
	conduct(h, &resp.Summary)
	if resp.Summary.Replayed() { // all is known, of a stream too
		report(h, &resp.Summary)
	}
}

// conduct says what is known of a request before its answer begins: whether that is a
// stored one, the rounds of tools in the conversation, what the model was told to do
// better, and what was odd so far.
func conduct(h http.Header, s *gateway.Summary) {
	setText(h, "x-callgate-route", s.Route.Text())
	setText(h, "x-callgate-cache", s.AnswerText())
	setText(h, "age", s.AgeText())
	setText(h, "x-callgate-prefix", s.PrefixText())
	setText(h, "x-callgate-tool-rounds", s.RoundsText())
	setText(h, "x-callgate-corrections", s.CorrectionList())
	setText(h, "x-callgate-warnings", strings.Join(s.Warnings, ","))
}

// attempts says what was tried.
func attempts(h http.Header, s *gateway.Summary) {
	h.Set("x-callgate-attempts", strconv.Itoa(len(s.Attempts)))
	if len(s.Attempts) < 2 {
		return
	}
	h.Set("x-callgate-retry-delay-ms", strconv.FormatInt(s.RetryDelay().Round(time.Millisecond).Milliseconds(), 10))
	h.Set("x-callgate-fallbacks", strconv.Itoa(s.Fallbacks()))
}

// report sets what is known when the whole answer has been read.
func report(h http.Header, s *gateway.Summary) {
	setText(h, "x-callgate-parser", strings.Join(s.Parsers, ","))
	setText(h, "x-callgate-faults", s.FaultList())
	setText(h, "x-callgate-repairs", s.RepairList())
	setText(h, "x-callgate-warnings", strings.Join(s.Warnings, ","))
	setText(h, "x-callgate-guard", s.GuardText())
	setText(h, "x-callgate-cached-tokens", s.CachedText())
	setText(h, "x-callgate-saved", s.Saved)
}

// setText sets a header, if there is anything to say.
func setText(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, headerText(value))
	}
}

// headerText is s without what may not stand in a header.
func headerText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64)
}
