package conformance

import (
	"context"
	"time"
)

// played is an exchange that has taken place: all that a case is judged by.
type played struct {
	err      error         // why there is no answer
	answer   *answered     // the first
	more     []*answered   // on a connection of the case's own: all of them
	closed   bool          // that connection was ended by the target
	received []received    // what the upstream was asked
	model    string        // that the client asked for
	key      string        // of the client
	leftAt   time.Time     // when the client left
	endedIn  time.Duration // after which the upstream has seen the gateway leave; 0 if it has not
}

// play lets an exchange take place, on a lane of the upstream.
func (c *Case) play(ctx context.Context, t *Target, up *Upstream, on route, e *exchange) *played {
	ctx, cancel := context.WithTimeout(ctx, patient(exchangeTime))
	defer cancel()
	p, end := up.begin(on.lane, &e.script)
	defer end()
	var out *played
	if c.Client != nil {
		out = c.speak(ctx, t, p, c.expand(t, on.model))
	} else {
		out = new(played)
		if out.answer, out.err = t.ask(ctx, c.body(on.model, e.stream), c.Header); out.err == nil {
			out.more = []*answered{out.answer}
		}
	}
	out.model, out.key = on.model, t.Key
	if c.Want.Left > 0 && out.err == nil {
		out.awaitLeft(p, patient(c.Want.Left))
	}
	out.received = p.received()
	return out
}

// awaitLeft waits for the gateway to leave the upstream as the client has left it.
func (out *played) awaitLeft(p *play, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.left:
		out.endedIn = max(time.Since(out.leftAt), 1)
	case <-t.C:
	}
}

// route is the way of a request: the model that the client asks for, and the lane of
// the upstream, which is the model that the gateway asks for; "" is all lanes.
type route struct{ model, lane string }
