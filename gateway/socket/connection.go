package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/callgate/callgate/gateway/wire"
)

// connection is one of a client's. Its messages are read one by one; those of different lanes (stream_id)
// are answered at the same time, those of one lane in their order.
type connection struct {
	ws        *websocket.Conn
	conn      net.Conn // that of ws
	of        *Sockets
	id        string // of the handshake's request
	handshake *http.Request
	settings  Settings
	ctx       context.Context //nolint:containedctx // ends with the connection
	cancel    context.CancelFunc
	asking    context.Context //nolint:containedctx // ends with it too, and before it where requests are cut
	stop      context.CancelFunc
	work      sync.WaitGroup // of turns
	heard     atomic.Int64   // how often something has come from the client
	writing   atomic.Int32   // events that are on their way out
	sending   chan struct{}  // full while an event is on its way
	pongs     chan []byte    // the answer to the client's latest ping

	mu      sync.Mutex
	lanes   map[string]chan struct{} // by stream_id: closed when the latest turn is over
	turns   int                      // that run or wait
	leaving *farewell                // no more turns are taken
}

// farewell is why a connection ends that nothing is wrong with.
type farewell struct {
	event  []byte // for whoever asks once more; nil: the connection just ends
	reason string
	code   websocket.StatusCode
}

var (
	restarting = &farewell{reason: "the gateway restarts: connect anew", code: websocket.StatusGoingAway}
	tooOld     = &farewell{reason: "the connection is an hour old: connect anew", code: websocket.StatusGoingAway, event: refusal(http.StatusBadRequest, "websocket_connection_limit_reached", "",
		"This WebSocket is an hour old, which is the most. Connect anew to go on.")}
	shutOut = &farewell{reason: "the key is not taken any more", code: websocket.StatusPolicyViolation, event: refusal(http.StatusUnauthorized, "invalid_api_key", "",
		"The key of this WebSocket is not taken any more. Ask this gateway's operator for another one.")}
)

// serve reads messages until the connection ends.
func (c *connection) serve() {
	defer c.cancel()
	defer c.stop()
	old := time.AfterFunc(c.of.age, func() { c.leave(tooOld) })
	defer old.Stop()
	c.work.Go(c.look)
	c.work.Go(c.pong)
	for {
		m, err := c.read()
		if err != nil {
			break
		}
		if m != nil {
			c.take(m)
		}
	}
	c.cancel() // whom its answers are for has left
	c.mu.Lock()
	if c.leaving == nil {
		c.leaving = restarting // nobody is to say more
	}
	c.mu.Unlock()
	c.work.Wait()
	_ = c.ws.CloseNow()
}

// look sees now and then whether the client is still there, and its key still taken: one that is not keeps no place.
// While a message comes or an event goes out no
// ping is sent: it would wait for the end of that, its answer as well, and reads and writes have bounds of
// their own.
func (c *connection) look() {
	tick := time.NewTicker(c.of.every)
	defer tick.Stop()
	for heard := int64(0); ; {
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			return
		}
		if allowed := c.settings.Allowed; allowed != nil && !allowed(c.handshake) {
			c.leave(shutOut)
		}
		before := heard
		if heard = c.heard.Load(); heard != before || c.writing.Load() > 0 {
			continue
		}
		ctx, done := context.WithTimeout(c.ctx, c.of.stall)
		err := c.ws.Ping(ctx)
		done()
		if err != nil && c.heard.Load() == heard && c.writing.Load() == 0 {
			c.cut("the client does not answer a ping")
			return
		}
	}
}

// pinged has a ping of the client's answered. The library would answer it within 5 seconds or end the
// connection, and the client may take longer for the event that is on its way out.
func (c *connection) pinged(_ context.Context, payload []byte) bool {
	const pong = 0x8a
	frame := append([]byte{pong, byte(len(payload))}, payload...) // a ping has 125 bytes at most
	select {
	case <-c.pongs: // only the latest ping needs an answer (RFC 6455, 5.5.3)
	default:
	}
	c.pongs <- frame // nobody else puts one in
	return false
}

// pong sends answers to pings, between events.
func (c *connection) pong() {
	for {
		select {
		case frame := <-c.pongs:
			c.sending <- struct{}{}
			_, err := c.conn.Write(frame)
			<-c.sending
			if err != nil {
				c.unheard(err)
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// cut ends the connection without another word.
func (c *connection) cut(why string) {
	if c.ctx.Err() == nil { // else it has ended already, and for another reason
		c.of.log.Info("WebSocket cut", "connection", c.id, "why", why)
	}
	c.cancel()
}

// say sends an event. How long a client may take none of it is for the listener to bound.
func (c *connection) say(event []byte) error {
	c.writing.Add(1)
	defer c.writing.Add(-1)
	c.sending <- struct{}{}
	defer func() { <-c.sending }()
	err := c.ws.Write(c.ctx, websocket.MessageText, event)
	if err != nil && !errors.Is(err, net.ErrClosed) { // which it is behind a close frame too
		c.unheard(err)
	}
	return err
}

// unheard ends the connection of a client that cannot be told anything any more. What it has sent meanwhile would be
// asked for nothing.
func (c *connection) unheard(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.cut("the client takes nothing")
	}
	c.cancel()
}

// refuse says why a message is not answered.
func (c *connection) refuse(m *message, status int, code, text string) {
	c.turnDown(m.inLane(refusal(status, code, "", text)))
}

// turnDown sends the event that says why a message is not answered. No handler sees such a message, so that
// the log has it from here.
func (c *connection) turnDown(event []byte) {
	why := wire.Find(event, wire.Span{End: len(event)}, "error")
	said := func(name string) string { return wire.Unquote(wire.Find(event, why, name).Of(event)) }
	c.of.refuse(said("code"))
	c.of.log.Info("message of a WebSocket refused", "connection", c.id, "code", said("code"), "error", said("message"))
	_ = c.say(event) // a client that left is noticed by who reads
}

// drop notes that a message is not answered.
func (c *connection) drop(why string) {
	c.of.refuse(dropped)
	c.of.log.Info("message of a WebSocket dropped", "connection", c.id, "why", why)
}

// take has a message answered, behind those before it in its lane.
func (c *connection) take(m *message) {
	over := make(chan struct{})
	c.mu.Lock()
	leaving, many := c.leaving, c.turns >= maxTurns
	before := c.lanes[m.lane]
	if leaving == nil && !many {
		c.turns++
		c.lanes[m.lane] = over
	}
	c.mu.Unlock()
	switch {
	case leaving != nil:
		m.room.Close()
		if leaving.event != nil {
			c.turnDown(m.inLane(leaving.event))
		} else {
			c.drop(leaving.reason)
		}
	case many:
		m.body = nil
		m.room.Close()
		c.refuse(m, http.StatusTooManyRequests, "too_many_turns", fmt.Sprintf("This WebSocket has as many requests under way as it may have (%d): wait for answers.", maxTurns))
	default:
		c.work.Go(func() {
			defer c.over(m, over)
			if before != nil {
				select {
				case <-before:
				case <-c.ctx.Done():
				}
			}
			switch {
			case c.ctx.Err() != nil: // nobody has been asked, and nothing is to be paid
				c.drop("the connection has ended before its turn")
			case c.asking.Err() != nil:
				c.refuse(m, http.StatusServiceUnavailable, "overloaded", "The gateway is being stopped.")
			default:
				c.answer(m)
			}
		})
	}
}

// over notes that a turn is over, and ends the connection if it leaves and this was the last one.
func (c *connection) over(m *message, over chan struct{}) {
	m.room.Close()
	close(over)
	c.mu.Lock()
	c.turns--
	if c.lanes[m.lane] == over {
		delete(c.lanes, m.lane)
	}
	leaving := c.leaving
	last := c.turns == 0
	c.mu.Unlock()
	if last && leaving != nil {
		c.bye(leaving)
	}
}

// leave ends the connection when its turns are over.
func (c *connection) leave(why *farewell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving != nil {
		return
	}
	if c.leaving = why; c.turns == 0 {
		c.work.Go(func() { c.bye(why) })
	}
}

// isBusy reports whether something is asked or waits for its turn.
func (c *connection) isBusy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turns > 0
}

// bye ends the connection.
func (c *connection) bye(why *farewell) {
	if why.event != nil {
		_ = c.say(why.event)
	}
	c.part(why.code, why.reason) // the client's answer ends read
}

// part sends a close frame, and waits for the client's. Of a message that has begun the library reads the
// rest before that, however long it takes.
func (c *connection) part(code websocket.StatusCode, reason string) {
	late := time.AfterFunc(c.of.part, func() { c.cut("the client does not answer the close frame") })
	defer late.Stop()
	_ = c.ws.Close(code, reason)
}
