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

// pulse writes the stream of one answer, and a comment whenever nothing else has been
// written for a while: while attempts are made, while a call is held back, while the
// model thinks. The first comment sends the status too; a failure behind it can only
// be said in the stream.
type pulse struct {
	w     *echo.Response
	pace  *pacer
	every time.Duration // 0: never

	mu      sync.Mutex // of the writer and all below
	last    time.Time
	timer   *time.Timer
	early   bool // the status went out before the answer was known
	stopped bool
}

// newPulse begins the pulse of a stream. It must be stopped.
func (s *Server) newPulse(w *echo.Response, streamed bool) *pulse {
	p := &pulse{w: w, pace: s.newPacer(w), every: s.cfg.Heartbeat, last: time.Now()}
	if p.every > 0 && streamed {
		p.mu.Lock()
		p.timer = time.AfterFunc(p.every, p.beat)
		p.mu.Unlock()
	}
	return p
}

// beat writes a comment, if it is time, and sets the timer anew.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	wait := p.every - time.Since(p.last)
	if wait <= 0 {
		p.pace.write()
		if !p.w.Committed {
			p.early = true
			p.w.Header().Set("content-type", "text/event-stream")
			streamHeader(p.w.Header())
			p.w.WriteHeader(http.StatusOK)
		}
		_, _ = io.WriteString(p.w, ": ping\n\n") // a client that left is noticed elsewhere
		p.w.Flush()
		p.last, wait = time.Now(), p.every
	}
	p.timer.Reset(wait)
}

// begin sends the status by send, if no comment has done it. If one has, what the
// headers would have said is said in the stream.
func (p *pulse) begin(s *gateway.Summary, send func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.write()
	if p.early {
		fmt.Fprint(p.w, observe.Late(s))
		return
	}
	send()
}

// write writes a piece of the stream.
func (p *pulse) write(piece []byte, flush bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.write()
	if p.timer != nil {
		p.last = time.Now()
	}
	if len(piece) > 0 {
		if _, err := p.w.Write(piece); err != nil {
			return err
		}
	}
	if flush {
		p.w.Flush()
	}
	return nil
}

// stop ends the pulse. Nothing is written after it. The deadline of writes stays for
// what may still have to be said of a failure.
func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
