package admit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/limit"
)

// hold is what limits keep for a request as long as it runs. It is told what the request has used, and does not know
// how that is counted.
type hold struct {
	state   *State
	ctx     context.Context //nolint:containedctx // of the request, for the limiter
	request string          // the request's id, for the log
	lease   *limit.Lease    // nil: none
	mayCut  bool            // some budget has running answers cut (on_exceed: cut)
	wasCut  bool            // the answer was cut
	cutBy   string          // whose budget did that: "key", "team" …
	amount  limit.Holds
}

// fit brings the hold within what limits of tokens have at most: no answer is refused for what it may have, where its
// request alone would pass.
func (h *hold) fit(limits []limit.Limit) {
	for i := range limits {
		l := &limits[i]
		h.mayCut = h.mayCut || l.Cut
		if l.Kind != limit.Tokens {
			continue
		}
		most := l.Max
		if l.Burst > 0 {
			most = l.Burst
		}
		if h.amount.Hold.Tokens > most && h.amount.Used.Tokens <= most {
			h.amount.Hold.Tokens = most
		}
	}
}

// acquire takes hold of what a request will use. told gets what its client is told of the limits; id is the lease's.
func (h *hold) acquire(ctx context.Context, set *limit.Set, id string, told *rates) (*gateway.RateLimits, error) {
	s, limits := h.state, set.Limits()
	h.fit(limits)
	lease, v, err := s.limiter.Acquire(ctx, set, id, h.amount)
	if err != nil {
		s.away(ctx, err)
		if lease != nil { // it may be held nevertheless
			h.giveBack(lease)
		}
		return nil, errAway(ctx, err)
	}
	defer v.Free()
	t := s.tally(set)
	s.count(t, limits, &v)
	s.see(t, limits, &v)
	rates := told.limits(&v)
	if v.Refusal != nil {
		e := refusal(&v, h.amount.Hold)
		e.Header = rateHeader(rates)
		s.log.InfoContext(ctx, "limit reached", "id", h.request, "scope", v.Refusal.Limit.Scope.String(), "kind", v.Refusal.Limit.Kind.String(), "limit", v.Refusal.Limit.Of())
		return nil, e
	}
	h.lease = lease
	return rates, nil
}

// giveBack releases what may have been acquired. The lease expires if that fails too.
func (h *hold) giveBack(l *limit.Lease) {
	_ = h.state.limiter.Release(context.WithoutCancel(h.ctx), l)
}

// left is what is held beyond what was used.
func (h *hold) left(used limit.Amount) limit.Amount {
	return limit.Amount{Tokens: h.amount.Hold.Tokens - used.Tokens, Nano: h.amount.Hold.Nano - used.Nano}
}

// grow makes the hold larger. If there is no room for that the answer is finished nevertheless, or cut.
func (h *hold) grow(used, to limit.Amount) error {
	to = to.Most(h.amount.Hold)
	v, err := h.extend(limit.Holds{Hold: to, Used: used}, !h.mayCut)
	defer func() { v.Free() }()
	if err == nil && v.Refusal != nil && h.mayCut && !v.Cut { // those that have no room let it finish
		v, err = h.extend(limit.Holds{Hold: to, Used: used}, true)
	}
	switch {
	case err != nil: // the lease lives a while; what it has used is settled at the end
		h.state.away(h.ctx, err)
	case v.Refusal != nil && v.Cut:
		h.wasCut, h.cutBy = true, v.Refusal.Limit.Scope.Of
		h.state.cut(h.ctx, h.request, &v)
		return refusal(&v, to)
	default:
		h.amount.Hold = to
	}
	return nil
}

// extend asks the limiter for another hold. With force it is given though there is no room.
func (h *hold) extend(to limit.Holds, force bool) (limit.Verdict, error) {
	return h.state.limiter.Extend(context.WithoutCancel(h.ctx), h.lease, to, force)
}

// renew keeps the lease, with what was used so far.
func (h *hold) renew(used limit.Amount) {
	h.amount.Hold = h.amount.Hold.Most(used)
	v, err := h.extend(limit.Holds{Hold: h.amount.Hold, Used: used.Most(h.amount.Used)}, true)
	if err != nil {
		h.state.away(h.ctx, err)
	}
	v.Free()
}

// end settles what was used in all; a request that no upstream was asked for gives back what it took.
func (h *hold) end(used limit.Amount, asked bool) {
	if h.lease == nil {
		return
	}
	ctx := context.WithoutCancel(h.ctx)
	var err error
	if asked {
		err = h.state.limiter.Settle(ctx, h.lease, used)
	} else {
		err = h.state.limiter.Release(ctx, h.lease)
	}
	if err != nil {
		h.state.away(h.ctx, err)
	}
}

var errLost = errors.New("admit: nobody can tell the limits")

// errAway is for a request whose limits could not be looked at, unless its end is why.
func errAway(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return gateway.Ended(ctx)
	}
	return &gateway.Error{Kind: gateway.LimitsAway, Message: "The gateway cannot look at your limits at the moment. Try again in a moment.", RetryAfter: time.Second,
		Err: fmt.Errorf("%w: %w", errLost, err)}
}
