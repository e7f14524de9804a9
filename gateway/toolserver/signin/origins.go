package signin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/toolserver/reach"
	"github.com/callgate/callgate/internal/netaddr"
)

const (
	askTime   = 10 * time.Second // one request of a sign-in
	maxAnswer = 1 << 20
)

// origins is the HTTP under a sign-in: it asks the origins of the configuration alone, at addresses that
// their names may have, and reads a bounded answer.
type origins struct {
	o  Options
	mu sync.Mutex
	of map[string]*http.Transport // by origin; as many as are allowed, and of this machine maxLocal
	no error                      // the first refusal since forget; the SDK keeps no more of it than its words
}

const maxLocal = 64

func newOrigins(o Options) *origins { return &origins{o: o, of: map[string]*http.Transport{}} }

func (n *origins) client() *http.Client {
	return &http.Client{Transport: n, CheckRedirect: reach.Redirect, Timeout: askTime}
}

func (n *origins) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.of {
		t.CloseIdleConnections()
	}
}

// forget begins another sign-in, and refused says why it was not let go on, nil if it was.
func (n *origins) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.no = nil
}

func (n *origins) refused() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.no
}

// check says why an address may not be asked for a token; nil if it may.
func (n *origins) check(at *url.URL) error {
	if at.Scheme != "https" && (at.Scheme != "http" || !netaddr.LoopbackHeader(at.Host)) {
		return n.refusal(at)
	}
	if reach.Origin(at) == reach.Origin(n.o.URL) || netaddr.LoopbackHeader(at.Host) && netaddr.LoopbackHeader(n.o.URL.Host) {
		return nil
	}
	for _, u := range n.o.Origins {
		if reach.Origin(at) == reach.Origin(u) {
			return nil
		}
	}
	return n.refusal(at)
}

func (n *origins) refusal(at *url.URL) error {
	e := &Error{Why: "wants the gateway to sign in at an address that cannot be read"}
	if at != nil && at.Host != "" {
		e.Why = fmt.Sprintf("wants the gateway to sign in at %.200s", reach.Origin(at))
		e.Hint = fmt.Sprintf("If that is meant, add %.200s to oauth.servers.", reach.Origin(at))
		if at.Scheme != "https" && !netaddr.LoopbackHeader(at.Host) {
			e.Hint = "Only https is taken there."
		}
	}
	return e
}

// RoundTrip implements http.RoundTripper.
func (n *origins) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := n.check(req.URL); err != nil {
		n.mu.Lock()
		if n.no == nil {
			n.no = err
		}
		n.mu.Unlock()
		return nil, err
	}
	t, err := n.transport(req.URL)
	if err != nil {
		return nil, err
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	resp.Body.Close()
	if err == nil && len(body) > maxAnswer {
		err = errors.New("the answer is too large")
	}
	if err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

func (n *origins) transport(at *url.URL) (*http.Transport, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := reach.Origin(at)
	t := n.of[key]
	if t == nil {
		if len(n.of) > len(n.o.Origins)+maxLocal {
			return nil, errors.New("too many addresses for one sign-in")
		}
		t = reach.Transport(reach.Options{URL: at, Private: n.o.Private})
		n.of[key] = t
	}
	return t, nil
}
