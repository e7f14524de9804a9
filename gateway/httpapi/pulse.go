package httpapi

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// pulse writes the stream of one answer, and a comment whenever nothing else has been
// written for a while: while attempts are made, while a call is held back, while the
// model thinks. The first comment sends the status too; a failure behind it can only
// be said in the stream.
type pulse struct {
	w     *echo.Response
	every time.Duration // 0: never

	mu      sync.Mutex // of the writer and all below
	last    time.Time
	timer   *time.Timer
	stopped bool
}

// newPulse begins the pulse of a stream. It must be stopped.
func (s *Server) newPulse(w *echo.Response, streamed bool) *pulse {
	p := &pulse{w: w, every: s.cfg.Heartbeat, last: time.Now()}
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
		if !p.w.Committed {
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

// begin sends the status, if no comment has done it.
func (p *pulse) begin(send func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.w.Committed {
		send()
	}
}

// write writes a piece of the stream.
func (p *pulse) write(piece []byte, flush bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
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

// stop ends the pulse. Nothing is written after it.
func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
