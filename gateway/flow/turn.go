package flow

import (
	"context"

	"github.com/callgate/callgate/gateway"
)

// Pricer is what an answer costs, in 10⁻⁹ US dollars; priced is false where nobody knows.
type Pricer func(provider, model string, u gateway.Usage) (nano int64, priced bool)

// turnMeter adds what upstreams have used for a request to what its turn has cost, and tells the
// request's own meter, which may be nil.
type turnMeter struct {
	turn  *gateway.Turn
	price Pricer
	own   gateway.Meter
}

// metered has the turn of a request, nil for none, told of its costs, where they are limited.
func metered(ctx context.Context, turn *gateway.Turn, c *compiled, price Pricer) context.Context {
	if turn == nil || c.LoopLimits.Nano <= 0 {
		return ctx
	}
	return gateway.WithMeter(ctx, &turnMeter{turn, price, gateway.MeterOf(ctx)})
}

// Begin implements gateway.Meter.
func (m *turnMeter) Begin(provider, model string, why gateway.Purpose, bytes int) error {
	if m.own == nil {
		return nil
	}
	return m.own.Begin(provider, model, why, bytes)
}

// Came implements gateway.Meter.
func (m *turnMeter) Came(bytes int) {
	if m.own != nil {
		m.own.Came(bytes)
	}
}

// Ended implements gateway.Meter. What nobody has reported, or has a price for, is not guessed.
func (m *turnMeter) Ended(u gateway.Use) {
	if m.own != nil {
		m.own.Ended(u)
	}
	if u.Unbilled {
		return
	}
	var nano int64
	priced := u.Complete && u.Usage.Reported && m.price != nil
	if priced {
		nano, priced = m.price(u.Provider, u.Model, u.Usage)
	}
	m.turn.Spend(nano, priced)
}

// trackTurn has the turn of a request found again by the calls of its answer.
func trackTurn(resp *gateway.Response, turn *gateway.Turn) *gateway.Response {
	if turn != nil {
		resp.Reply = &turnReply{Reply: resp.Reply, turn: turn, said: resp.Summary}
	}
	return resp
}

// turnReply is an answer whose first call tells the turn how to find it again.
type turnReply struct {
	gateway.Reply
	turn *gateway.Turn
	said *gateway.Summary // of the answer, as it comes
	done bool
}

// Next implements gateway.Reply: the turn knows of a call before the client does.
func (r *turnReply) Next() (*gateway.Frame, error) {
	f, err := r.Reply.Next()
	if id := r.said.FirstID; id != "" && !r.done {
		r.done = true
		r.turn.Called(id)
	}
	return f, err
}
