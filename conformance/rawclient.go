package conformance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The times of a connection that a case speaks on itself.
const (
	rawTime   = 5 * time.Second        // for an answer, and for what a step awaits
	rawClosed = 2 * time.Second        // for the end of a connection that has to end
	rawMore   = 100 * time.Millisecond // for requests at the upstream that should not come
)

// talk is a connection to the target, of which each byte is the case's.
type talk struct {
	conn net.Conn
	over chan struct{} // closed when nothing more comes

	mu      sync.Mutex
	heard   bytes.Buffer
	answers []*answered
	end     error         // why nothing more comes
	news    chan struct{} // closed, and made anew, when something has come
}

// dial connects to the target.
func (t *Target) dial(ctx context.Context) (*talk, *url.URL, error) {
	u, err := url.Parse(t.BaseURL)
	if err != nil {
		return nil, nil, err
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	var conn net.Conn
	if u.Scheme == "https" {
		conn, err = new(tls.Dialer).DialContext(ctx, "tcp", address)
	} else {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, nil, err
	}
	k := &talk{conn: conn, over: make(chan struct{}), news: make(chan struct{})}
	go k.listen()
	return k, u, nil
}

// Write implements io.Writer: it hears what comes.
func (k *talk) Write(p []byte) (int, error) {
	k.change(func() { k.heard.Write(p) })
	return len(p), nil
}

// change notes what has come.
func (k *talk) change(what func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	what()
	close(k.news)
	k.news = make(chan struct{})
}

// listen reads answers until the connection ends.
func (k *talk) listen() {
	defer close(k.over)
	r := bufio.NewReader(io.TeeReader(io.LimitReader(k.conn, maxAnswer), k))
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			k.change(func() { k.end = err })
			return
		}
		if resp.StatusCode < http.StatusOK { // go on, and the like
			continue
		}
		a := &answered{status: resp.StatusCode, header: resp.Header}
		a.body, a.cut = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if a.status >= http.StatusBadRequest && isReset(a.cut) {
			a.cut = nil // it has not read what it refuses, so the end of its answer may be lost
		}
		k.change(func() { k.answers = append(k.answers, a) })
	}
}

// until waits until something has come that done is content with, or for at most d.
func (k *talk) until(ctx context.Context, d time.Duration, done func() bool) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		k.mu.Lock()
		ok, news := done(), k.news
		k.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-news:
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// speak does the case's steps on a connection of its own.
func (c *Case) speak(ctx context.Context, t *Target, p *play, expand func(u *url.URL) *strings.Replacer) *played {
	k, u, err := t.dial(ctx)
	if err != nil {
		return &played{err: err}
	}
	var out played
	fill := expand(u)
	for _, s := range c.Client {
		if out.err = k.step(ctx, s, p, fill, &out); out.err != nil {
			break
		}
	}
	if out.err == nil && out.leftAt.IsZero() {
		k.hear(ctx, c, &out)
	}
	_ = k.conn.Close()
	<-k.over
	return &out
}

// step does one step. A connection that the target has closed already is no error: the
// rest goes unheard, and the answers say why.
func (k *talk) step(ctx context.Context, s Step, p *play, fill *strings.Replacer, out *played) error {
	switch s.Do {
	case Send:
		_ = k.conn.SetWriteDeadline(time.Now().Add(patient(rawTime)))
		_, err := io.WriteString(k.conn, fill.Replace(s.Text))
		if isTimeout(err) {
			return fmt.Errorf("the target does not read what is sent: %w", err)
		}
	case Pause:
		sleep(s.Wait, k.over)
	case Await:
		if !k.until(ctx, patient(rawTime), func() bool { return bytes.Contains(k.heard.Bytes(), []byte(s.Text)) || k.end != nil }) {
			return fmt.Errorf("%q did not come in %v", s.Text, rawTime)
		}
	case AwaitAsked:
		select {
		case <-p.asked:
		case <-time.After(patient(rawTime)):
			return fmt.Errorf("the upstream was not asked in %v", rawTime)
		case <-ctx.Done():
			return ctx.Err()
		}
	case Close:
		out.leftAt = time.Now()
		return k.conn.Close()
	case CloseWrite:
		closeWrite(k.conn)
	}
	return nil
}

// hear waits for the answers that the case wants, and for the end of the connection
// where that is one of them.
func (k *talk) hear(ctx context.Context, c *Case, out *played) {
	want := max(1, len(c.Want.Status))
	k.until(ctx, patient(rawTime), func() bool { return len(k.answers) >= want || k.end != nil })
	if last := c.Want.Status; len(last) > 0 && strings.Contains(strings.Join(last[len(last)-1], " "), Closed) {
		k.until(ctx, patient(rawClosed), func() bool { return k.end != nil })
	} else if c.Want.Requests != nil {
		k.until(ctx, rawMore, func() bool { return k.end != nil })
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	out.more, out.closed = k.answers, k.end != nil
	if len(k.answers) > 0 {
		out.answer = k.answers[0]
	}
	if k.end != nil && !ended(k.end) {
		out.err = fmt.Errorf("what came is no answer: %w", k.end)
	}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// ended reports whether err is the end of a connection, in one of the ways that there
// are. What was not read when it was closed makes a reset of it.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || isReset(err)
}

// isReset reports whether err is a failure of the connection itself; systems have several
// words for its reset.
func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

// expand are the words that stand for something in a client.http.
func (c *Case) expand(t *Target, model string) func(u *url.URL) *strings.Replacer {
	return func(u *url.URL) *strings.Replacer {
		auth, body := "", ""
		if t.Key != "" {
			auth = "Authorization: Bearer " + t.Key + "\r\n"
		}
		for name, values := range t.Header {
			for _, value := range values {
				auth += name + ": " + value + "\r\n"
			}
		}
		if c.Request != nil || c.RawRequest != nil {
			body = string(c.body(model, false))
		}
		return strings.NewReplacer("$HOST", u.Host, "$PATH", strings.TrimRight(u.Path, "/"), "$KEY", t.Key, "$AUTH", auth, "$MODEL", model,
			"$LENGTH", strconv.Itoa(len(body)), "$HEX", strconv.FormatInt(int64(len(body)), 16), "$BODY", body)
	}
}
