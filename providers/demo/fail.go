package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/upstream"
)

const (
	slowStart = 3 * time.Second // how late the first token of the model slow is
	retryWait = time.Second     // what a rate limit asks for
	forever   = time.Duration(math.MaxInt64)
)

// inBandError is how an upstream says that it failed when it can no longer change
// the status.
const inBandError = `{"error":{"message":"The demo failed while it answered.","type":"server_error","param":null,"code":"internal_error"}}`

// failingModels are those of which something else than the calls is wrong: there is
// no answer, or none that is complete.
func failingModels() []model {
	all := []model{
		{name: "rate_limited", refuse: func(_ context.Context, p *Provider, a ask) error {
			if p.memory.first(a.body, p.now()) {
				return p.limited(a)
			}
			return nil
		}},
		{name: "rate_limited_always", refuse: func(_ context.Context, p *Provider, a ask) error { return p.limited(a) }},
		{name: "unavailable", refuse: func(_ context.Context, p *Provider, a ask) error { return p.unavailable(a) }},
		{name: "flaky", refuse: func(_ context.Context, p *Provider, a ask) error {
			if p.memory.odd() {
				return p.unavailable(a)
			}
			return nil
		}},
		{name: "auth", refuse: func(_ context.Context, p *Provider, _ ask) error {
			return p.refused(http.StatusUnauthorized, nil, "{}")
		}},
		{name: "slow", slow: true},
		{name: "hang", refuse: func(ctx context.Context, p *Provider, a ask) error { return p.await(ctx, forever, a.stream) }},
		{name: "cut", end: inText},
		{name: "cut_call", end: inCall},
		{name: "error_in_stream", end: afterRole, inBand: true},
		{name: "late_error", end: inText, inBand: true},
	}
	for i := range all {
		all[i].write = native
	}
	return append(all, model{name: "empty", write: func(answer) output { return output{} }})
}

// errorf makes an error whose message names the provider, as those of a real
// upstream do.
func (p *Provider) errorf(kind gateway.Kind, code, format string, args ...any) *gateway.Error {
	return &gateway.Error{Kind: kind, Code: code, Message: fmt.Sprintf("Provider %q: ", p.name) + fmt.Sprintf(format, args...)}
}

// refused is the error for an answer with a status that is not success, whose error is a
// JSON object.
func (p *Provider) refused(status int, h http.Header, err string) error {
	return gateway.UpstreamFailure{Provider: p.name, Status: status, Header: h, Body: []byte(`{"error":` + err + `}`)}.Classify()
}

// limited is the error for an answer with the status 429.
func (p *Provider) limited(a ask) error {
	h := errorHeader(a)
	h.Set("Retry-After", strconv.Itoa(int(retryWait/time.Second)))
	return p.refused(http.StatusTooManyRequests, h, fmt.Sprintf(`{"message":"The demo limits this model; try again in %v."}`, retryWait))
}

// unavailable is the error for an answer with the status 503.
func (p *Provider) unavailable(a ask) error {
	return p.refused(http.StatusServiceUnavailable, errorHeader(a), `{"message":"The demo has no capacity for this model."}`)
}

func errorHeader(a ask) http.Header {
	return http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {requestID(a.body)}}
}

// brokenOff is the error for a connection that breaks within an answer.
func (p *Provider) brokenOff(stream bool) error {
	e := p.errorf(gateway.Unavailable, upstream.CodeUpstream, "the upstream's answer broke off.")
	if stream {
		e = p.errorf(gateway.Unavailable, upstream.CodeCut, "the upstream's answer ended in mid-stream.")
	}
	e.Err = io.ErrUnexpectedEOF
	return e
}

// await waits for d, under the timer that counts before the first token of a stream
// or the end of a whole answer.
func (p *Provider) await(ctx context.Context, d time.Duration, stream bool) error {
	limit, message := p.total, "no complete answer within %s (timeouts.total)."
	if p.wholeTime < limit {
		limit, message = p.wholeTime, "no complete answer within %s (timeouts.whole)."
	}
	if stream {
		limit, message = p.firstToken, "no first token within %s (timeouts.first_token)."
	}
	if err := wait(ctx, min(d, limit)); err != nil || d < limit {
		return err
	}
	return p.errorf(gateway.Timeout, upstream.CodeTimeout, message, upstream.Plain(limit))
}

// wait waits for d, and ends with the request.
func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
	cause := context.Cause(ctx)
	var e *gateway.Error
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &e):
		return e
	case errors.Is(cause, context.DeadlineExceeded):
		return &gateway.Error{Kind: gateway.Timeout, Message: "The demo was given no time to answer.", Err: cause}
	}
	return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: cause}
}
