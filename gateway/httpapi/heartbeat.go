package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
)

// heartbeat writes the stream of one answer, and a sign of life whenever nothing else has been
// written for a while: while attempts are made, while a call is held back, while the
// model thinks. The first sends the status too; a failure behind it can only
// be said in the stream.
type heartbeat struct {
	w     *echo.Response
	conn  *connection // that it is written to; may be nil
	ping  string
	every time.Duration // 0: never

	mu      sync.Mutex // of the writer and all below
	last    time.Time
	timer   *time.Timer
	early   bool // the status went out before the answer was known
	stopped bool
}

// newHeartbeat begins the heartbeat of a stream. It must be stopped.
func newHeartbeat(c echo.Context, ping string, every time.Duration, streamed bool) *heartbeat {
	w := c.Response()
	h := &heartbeat{w: w, conn: connectionOf(c.Request().Context()), ping: ping, every: every, last: time.Now()}
	if h.every > 0 && streamed {
		h.mu.Lock()
		h.timer = time.AfterFunc(h.every, h.beat)
		h.mu.Unlock()
	}
	return h
}

// beat writes a ping if one is due, and sets the timer again.
func (h *heartbeat) beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	wait := h.every - time.Since(h.last)
	if wait <= 0 {
		if !h.w.Committed {
			h.early = true
			h.open()
		}
		_, _ = io.WriteString(h.w, h.ping) // a client that left is noticed elsewhere
		h.w.Flush()
		h.last, wait = time.Now(), h.every
	}
	h.timer.Reset(wait)
}

// begin sends the status by send, if no comment has done it. If one has, what the
// headers would have said is said in the stream.
func (h *heartbeat) begin(s *gateway.Summary, send func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.early {
		fmt.Fprint(h.w, observe.Late(s))
		return
	}
	send()
}

// open sends the status of a stream. h.mu is held.
func (h *heartbeat) open() {
	h.w.Header().Set("content-type", "text/event-stream")
	streamHeader(h.w.Header())
	h.w.WriteHeader(http.StatusOK)
}

// write writes a piece of the stream, behind the status if that has not gone out.
func (h *heartbeat) write(piece []byte, flush bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.w.Committed {
		h.open()
	}
	if h.timer != nil {
		h.last = time.Now()
	}
	if flush {
		h.conn.gather(len(piece))
	}
	if len(piece) > 0 {
		if _, err := h.w.Write(piece); err != nil {
			_ = h.conn.release()
			return err
		}
	}
	if flush {
		h.w.Flush()
	}
	return h.conn.release()
}

// stop ends the heartbeat. Nothing is written after it. The deadline of writes stays for
// what may still have to be said of a failure.
func (h *heartbeat) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	if h.timer != nil {
		h.timer.Stop()
	}
}
