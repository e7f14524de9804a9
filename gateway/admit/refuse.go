package admit

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/limit"
)

// rates are what a client is told of its limits, in one place.
type rates struct {
	said             gateway.RateLimits
	requests, tokens gateway.RateLimit
}

// limits are what clients are told of a verdict: of requests and of tokens the tightest limits.
func (r *rates) limits(v *limit.Verdict) *gateway.RateLimits {
	var requests, tokens *limit.State
	for i := range v.States {
		st := &v.States[i]
		to := &requests
		switch st.Limit.Kind {
		case limit.Requests:
		case limit.Tokens:
			to = &tokens
		default:
			continue
		}
		if *to == nil || st.Remaining < (*to).Remaining {
			*to = st
		}
	}
	if requests == nil && tokens == nil {
		return nil
	}
	r.said = gateway.RateLimits{Requests: rateLimit(&r.requests, requests), Tokens: rateLimit(&r.tokens, tokens)}
	return &r.said
}

// rateLimit says how a limit is; nil for none.
func rateLimit(to *gateway.RateLimit, st *limit.State) *gateway.RateLimit {
	if st == nil {
		return nil
	}
	var room [96]byte
	b := strconv.AppendInt(room[:0], st.Limit.Max, 10)
	first := len(b)
	b = strconv.AppendInt(b, st.Remaining, 10)
	second := len(b)
	text := string(appendReset(b, st.Reset)) // one for all three
	*to = gateway.RateLimit{Limit: text[:first], Remaining: text[first:second], Reset: text[second:]}
	return to
}

// appendReset appends a time as OpenAI writes it: 12ms, 6m0s.
func appendReset(b []byte, d time.Duration) []byte {
	unit := time.Millisecond
	if d >= time.Minute {
		unit = time.Second
	}
	return append(b, d.Round(unit).String()...)
}

// rateHeader is the header of an error.
func rateHeader(r *gateway.RateLimits) http.Header {
	h := http.Header{}
	if r == nil {
		return h
	}
	say := func(name string, l *gateway.RateLimit) {
		if l == nil {
			return
		}
		h["X-Ratelimit-Limit-"+name] = []string{l.Limit}
		h["X-Ratelimit-Remaining-"+name] = []string{l.Remaining}
		h["X-Ratelimit-Reset-"+name] = []string{l.Reset}
	}
	say("Requests", r.Requests)
	say("Tokens", r.Tokens)
	return h
}

// tellRates has an error say what is left of the client's own limits, where it has some, and not of
// those that the gateway has at an upstream.
func tellRates(err error, r *gateway.RateLimits) {
	var e *gateway.Error
	if r == nil || !errors.As(err, &e) {
		return
	}
	h := rateHeader(r)
	for name, values := range e.Header {
		if !strings.HasPrefix(http.CanonicalHeaderKey(name), "X-Ratelimit-") {
			h[name] = values
		}
	}
	e.Header = h
}

// soon is how long a client is told to wait for a place among the requests that run.
const soon = time.Second

// shorter is what helps against a hold that is too large: it is for the prompt, and for the longest answer.
const shorter = "Make it shorter, or lower its max_tokens."

// refusal is the error of a request that a limit has no room for.
func refusal(v *limit.Verdict, hold limit.Amount) *gateway.Error {
	st := v.Refusal
	l := st.Limit
	e := &gateway.Error{RetryAfter: st.Wait}
	whose := l.Scope.String()
	switch {
	case v.Away && !st.Never() && st.Wait == 0:
		return &gateway.Error{Kind: gateway.LimitsAway, RetryAfter: soon,
			Message: fmt.Sprintf("The limit of %s (%s) cannot be looked at: the Redis is away. Try again in a moment.", l.Of(), whose)}
	case l.Kind == limit.Requests:
		e.Kind = gateway.RequestLimit
		e.Message = fmt.Sprintf("The limit of %s (%s) is reached. Try again in %s.", l.Of(), whose, wait(st.Wait))
	case l.Kind == limit.Concurrency:
		e.Kind, e.RetryAfter = gateway.RequestLimit, soon
		e.Message = fmt.Sprintf("The limit of %s (%s) is reached. Try again when one of them has ended.", l.Of(), whose)
	case l.Kind == limit.Tokens && st.Never():
		e.Kind = gateway.BudgetSpent
		e.Message = fmt.Sprintf("The request is too large for the limit of %s (%s): it may use about %d. %s", l.Of(), whose, hold.Tokens, shorter)
	case l.Kind == limit.Tokens:
		e.Kind = gateway.TokenLimit
		e.Message = fmt.Sprintf("The limit of %s (%s) is reached: %d are left, and the request may use about %d. Try again in %s.", l.Of(), whose, st.Remaining, hold.Tokens, wait(st.Wait))
	default:
		e.Kind, e.RetryAfter = gateway.BudgetSpent, 0
		used, left, want := strconv.FormatInt(st.Used, 10), strconv.FormatInt(st.Remaining, 10), strconv.FormatInt(hold.Tokens, 10)
		large := hold.Tokens > l.Max
		if l.Kind == limit.Money {
			used, left, want = limit.Dollars(st.Used)+" USD", limit.Dollars(st.Remaining)+" USD", limit.Dollars(hold.Nano)+" USD"
			large = hold.Nano > l.Max
		}
		e.Message = fmt.Sprintf("The budget of %s (%s) has no room: %s are used or held, %s are left, and the request may use about %s.", l.Of(), whose, used, left, want)
		switch {
		case large: // a new window would not help
			e.Message += " That is more than all of it. " + shorter
		case st.Reset > 0:
			e.Message += fmt.Sprintf(" It begins anew at %s.", time.Now().Add(st.Reset).UTC().Round(time.Second).Format(time.RFC3339))
		}
	}
	if st.Never() && l.Max == 0 {
		e.Kind, e.RetryAfter = gateway.BudgetSpent, 0
		e.Message = fmt.Sprintf("The limit of %s (%s) lets nothing pass.", l.Of(), whose)
	}
	return e
}

// wait is a time to wait for people.
func wait(d time.Duration) string {
	if d < time.Second {
		return max(d.Round(time.Millisecond), time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
