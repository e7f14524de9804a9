package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
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
	up.learn(on.model)
	p, end := up.begin(on.lane, &e.script)
	defer end()
	var out *played
	if c.Client != nil {
		out = c.speak(ctx, t, p, c.expand(t, on.model))
	} else {
		out = new(played)
		c.converse(ctx, t, on, e, out)
	}
	out.model, out.key = on.model, t.Key
	if c.Want.Left > 0 && out.err == nil {
		out.awaitLeft(p, patient(c.Want.Left))
	}
	out.received = p.received()
	return out
}

// converse sends the request, and the one behind it if there is one, which then is the one
// that is judged.
func (c *Case) converse(ctx context.Context, t *Target, on route, e *exchange, out *played) {
	out.answer, out.err = t.ask(ctx, http.MethodPost, c.endpoint(), c.body(on.model, e.stream), c.Header)
	if method, path, ok := strings.Cut(c.Then, " "); out.err == nil && (ok || c.Then != "" || c.Next != nil) {
		id := firstID(out.answer.body)
		if id == "" {
			out.err = fmt.Errorf("the first answer, status %d, has no id: %.300q", out.answer.status, out.answer.body)
			return
		}
		var body []byte
		if c.Next != nil {
			next := *c
			next.Request = json.RawMessage(strings.ReplaceAll(string(c.Next), "$ID", id))
			body = next.body(on.model, e.stream)
		}
		if !ok {
			method, path = http.MethodPost, c.endpoint()
		}
		out.answer, out.err = t.ask(ctx, method, strings.ReplaceAll(path, "$ID", id), body, c.Header)
	}
	if out.err == nil {
		out.more = []*answered{out.answer}
	}
}

// idPattern finds the first id of an answer, whole or streamed: the answer's own.
var idPattern = regexp.MustCompile(`"id"\s*:\s*"((?:resp|msg|chatcmpl)[^"]*)"`)

func firstID(body []byte) string {
	if m := idPattern.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	return ""
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
