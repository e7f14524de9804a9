package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

type preparesKey struct{}

// Prepares reports whether a request is to be noted and not answered (generate: false).
func Prepares(ctx context.Context) bool { return ctx.Value(preparesKey{}) != nil }

// answer has the handler of the HTTP API answer a message.
func (c *connection) answer(m *message) {
	ctx, done := context.WithCancelCause(c.ctx)
	defer done(nil)
	cut := context.AfterFunc(c.asking, func() {
		if stopped := c.settings.Stopped; stopped != nil && c.ctx.Err() == nil {
			done(stopped())
		}
		done(nil)
	})
	defer cut()
	if m.prepares {
		ctx = context.WithValue(ctx, preparesKey{}, true)
	}
	size := int64(len(m.body))
	body := &posted{Reader: bytes.NewReader(m.body), room: m.room}
	m.body = nil
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.Path, body)
	if err != nil { // of a path of ours it cannot fail
		panic(err)
	}
	r.ContentLength, r.RequestURI, r.Host, r.RemoteAddr, r.TLS = size, c.settings.Path, c.handshake.Host, c.handshake.RemoteAddr, c.handshake.TLS
	r.Header = posting(c.handshake.Header)
	t := &turn{to: c, message: m, header: http.Header{}}
	defer t.end()
	defer func() {
		p := recover()
		t.cut = p != nil
		if p != nil && p != http.ErrAbortHandler { // with which a handler cuts an answer
			c.of.log.Error("panic in a request over a WebSocket", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	c.of.handler.ServeHTTP(t, r)
}

// posted is the body of a request, whose memory is free once it was read.
type posted struct {
	*bytes.Reader
	room *inflight.Claim
}

// Read implements io.Reader.
func (p *posted) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err == io.EOF {
		_ = p.Close()
	}
	return n, err
}

// Close implements io.Closer.
func (p *posted) Close() error {
	p.Reader = bytes.NewReader(nil)
	p.room.Close()
	return nil
}

// posting is the header of the handshake for a request: without what is the handshake's alone. Connection stays: it
// may name more that is for one connection, which whoever asks an upstream leaves out.
func posting(handshake http.Header) http.Header {
	h := maps.Clone(handshake)
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		switch name {
		case "Upgrade", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Accept-Encoding", "X-Request-Id", "X-Stainless-Retry-Count",
			"Cache-Control", "Pragma", // with which browsers, and Node, begin each WebSocket: it says nothing of stored answers
			"Idempotency-Key", "X-Idempotency-Key": // else an upstream would take each request for the first one
			return true
		}
		return strings.HasPrefix(name, "Sec-Websocket-")
	})
	if beta := withoutSockets(h["Openai-Beta"]); len(beta) > 0 {
		h["Openai-Beta"] = beta
	} else {
		delete(h, "Openai-Beta")
	}
	h["Content-Type"] = []string{"application/json"}
	return h
}

// withoutSockets are the words of Openai-Beta but those that say which WebSockets a client speaks: upstreams
// are not asked over them.
func withoutSockets(lines []string) (words []string) {
	for _, line := range lines {
		for word := range strings.SplitSeq(line, ",") {
			if word = strings.TrimSpace(word); word != "" && !strings.HasPrefix(word, "responses_websockets") {
				words = append(words, word)
			}
		}
	}
	return words
}

// turn is the http.ResponseWriter of a request: the events that are written to it are messages.
type turn struct {
	to      *connection
	message *message
	header  http.Header
	status  int
	wrote   []byte // a block that is not whole yet, or a body that is no stream
	said    []byte // by a comment of the gateway's
	begun   bool   // an event went out
	whole   bool   // the latest one is the last of a response
	cut     bool   // the handler has broken off
}

// Header implements http.ResponseWriter.
func (t *turn) Header() http.Header { return t.header }

// WriteHeader implements http.ResponseWriter.
func (t *turn) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
}

// Flush implements http.Flusher: each event has left already.
func (t *turn) Flush() {}

// maxWhole is how much of a body that is no stream is kept: errors are short.
const maxWhole = 64 << 10

// Write implements http.ResponseWriter.
func (t *turn) Write(p []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	if !strings.HasPrefix(t.header.Get("Content-Type"), "text/event-stream") {
		t.wrote = append(t.wrote, p[:min(len(p), max(0, maxWhole-len(t.wrote)))]...)
		return len(p), nil
	}
	text := p
	if len(t.wrote) > 0 {
		text = slices.Concat(t.wrote, p)
	}
	for {
		block, rest, whole := bytes.Cut(text, []byte("\n\n"))
		if !whole {
			break
		}
		if err := t.block(block); err != nil {
			return 0, err
		}
		text = rest
	}
	t.wrote = append(t.wrote[:0], text...)
	return len(p), nil
}

// block sends the event of a block. Of comments those of the gateway go with the next event.
func (t *turn) block(block []byte) error {
	for line := range bytes.SplitSeq(block, []byte{'\n'}) {
		if comment, ok := bytes.CutPrefix(line, []byte(": callgate ")); ok {
			if len(t.said) > 0 {
				t.said = append(t.said, ' ')
			}
			t.said = append(t.said, comment...)
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && wire.IsObject(data) {
			return t.event(data)
		}
	}
	return nil
}

// event sends an event.
func (t *turn) event(data []byte) error {
	t.whole = endsResponse(data)
	data = t.message.inLane(data)
	if len(t.said) > 0 {
		data, t.said = with(data, "callgate", wire.AppendQuoted(nil, t.said)), t.said[:0]
	}
	if !t.begun {
		t.begun = true
		data = with(data, "headers", headers(t.header))
	}
	return t.to.say(data)
}

// end says what became of a request that has had no event, or not the last one: HTTP would end
// the connection, which goes on here.
func (t *turn) end() {
	switch {
	case t.to.ctx.Err() != nil:
		return
	case t.begun:
		if (t.cut || t.to.asking.Err() != nil) && !t.whole {
			_ = t.event(refusal(http.StatusInternalServerError, "internal_error", "", "The answer broke off."))
		}
		return
	}
	var body []byte
	if t.status >= http.StatusBadRequest && wire.IsObject(t.wrote) && json.Valid(t.wrote) {
		body = wire.Find(t.wrote, wire.Span{End: len(t.wrote)}, "error").Of(t.wrote)
	}
	if !wire.IsObject(body) {
		_ = t.event(refusal(http.StatusInternalServerError, "internal_error", "", "The request has had no answer."))
		return
	}
	_ = t.event(failure(t.status, with(body, "headers", headers(t.header))))
}
