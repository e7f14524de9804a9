package conformance

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Upstream is the model server that the gateway under test asks. It is an
// http.Handler that answers POST …/chat/completions with what the running case
// says, and GET …/models with a list. It plays one exchange at a time: a gateway
// needs an Upstream of its own.
type Upstream struct {
	turn sync.Mutex // held while an exchange runs

	mu       sync.Mutex
	script   *script // of the running exchange, or nil
	received [][]byte
	server   *http.Server
}

var _ http.Handler = (*Upstream)(nil)

// NewUpstream makes an upstream. Listen gives it an address of its own; it may be
// mounted in another server instead.
func NewUpstream() *Upstream { return &Upstream{} }

// Listen serves the upstream at an address such as "127.0.0.1:0", and returns the
// base URL for the gateway's configuration, with its "/v1". Close ends it.
func (u *Upstream) Listen(addr string) (baseURL string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.server != nil {
		return "", errors.New("the upstream listens already")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: u, ReadHeaderTimeout: 10 * time.Second}
	u.server = server
	go func() { _ = server.Serve(l) }() // ends with Close
	return "http://" + l.Addr().String() + "/v1", nil
}

// Close ends what Listen began.
func (u *Upstream) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.server == nil {
		return nil
	}
	err := u.server.Close()
	u.server = nil
	return err
}

// begin makes the upstream answer as s says until end is called, which returns the
// bodies of the requests that came.
func (u *Upstream) begin(s *script) (end func() [][]byte) {
	u.turn.Lock()
	u.mu.Lock()
	u.script, u.received = s, nil
	u.mu.Unlock()
	return func() [][]byte {
		u.mu.Lock()
		received := u.received
		u.script, u.received = nil, nil
		u.mu.Unlock()
		u.turn.Unlock()
		return received
	}
}

// ServeHTTP implements http.Handler.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"conformance","object":"model","created":0,"owned_by":"conformance"}]}`)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		u.chat(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (u *Upstream) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway left
	}
	u.mu.Lock()
	s := u.script
	if s != nil {
		u.received = append(u.received, body)
	}
	u.mu.Unlock()
	if s == nil {
		http.Error(w, "no case is running", http.StatusInternalServerError)
		return
	}
	s.answer(w, body)
}
