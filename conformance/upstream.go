package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Upstream is the model server that the gateway under test asks. It is an
// http.Handler that answers POST …/chat/completions with what the running cases
// say, and GET …/models with a list. It knows a case by the model that is asked
// for, or plays one at a time: a gateway needs an Upstream of its own.
type Upstream struct {
	turn sync.RWMutex // held for writing while a case runs that may get any request

	mu     sync.Mutex
	lanes  map[string]*sync.Mutex // of a model at the upstream; held while a case with it runs
	plays  map[string]*play       // that run, by model; "" is for all models
	known  map[string]bool        // models that the upstream has
	strays int                    // requests that came while no case with their model ran
	server *http.Server
	addr   string
}

var _ http.Handler = (*Upstream)(nil)

// NewUpstream makes an upstream. Listen gives it an address of its own; it may be
// mounted in another server instead.
func NewUpstream() *Upstream {
	return &Upstream{plays: map[string]*play{}, lanes: map[string]*sync.Mutex{}, known: map[string]bool{}}
}

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
	u.server, u.addr = server, "http://"+l.Addr().String()+"/v1"
	go func() { _ = server.Serve(l) }() // ends with Close
	return u.addr, nil
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

// play is an exchange that runs.
type play struct {
	script *script
	asked  chan struct{} // closed when the first request has come
	left   chan struct{} // told when the gateway has left a request that is held
	over   chan struct{} // closed when the exchange has ended

	mu       sync.Mutex
	requests []received
}

// received is a request that has come to the upstream.
type received struct {
	path   string
	header http.Header
	body   []byte
}

// add keeps a request, and returns how many came before.
func (p *play) add(r received) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	if len(p.requests) == 1 {
		close(p.asked)
	}
	return len(p.requests) - 1
}

// received are the requests that have come so far.
func (p *play) received() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// begin makes the upstream answer as s says until end is called: all requests for a
// model, or whatever comes if lane is "".
func (u *Upstream) begin(lane string, s *script) (p *play, end func()) {
	unlock := u.turn.Unlock
	if lane == "" {
		u.turn.Lock()
	} else {
		u.turn.RLock()
		one := u.lane(lane)
		one.Lock()
		unlock = func() {
			one.Unlock()
			u.turn.RUnlock()
		}
	}
	p = &play{script: s, asked: make(chan struct{}), left: make(chan struct{}, 1), over: make(chan struct{})}
	u.mu.Lock()
	u.plays[lane] = p
	u.mu.Unlock()
	return p, func() {
		u.mu.Lock()
		delete(u.plays, lane)
		u.mu.Unlock()
		close(p.over)
		unlock()
	}
}

// lane is what is held while a case with a model runs.
func (u *Upstream) lane(model string) *sync.Mutex {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lanes[model] == nil {
		u.lanes[model] = new(sync.Mutex)
	}
	return u.lanes[model]
}

// find is the exchange that a request belongs to, or nil.
func (u *Upstream) find(body []byte) *play {
	var asked struct{ Model string }
	_ = json.Unmarshal(body, &asked) // what has no model belongs to nobody in particular
	u.mu.Lock()
	defer u.mu.Unlock()
	if p := u.plays[""]; p != nil {
		return p
	}
	if p := u.plays[asked.Model]; p != nil {
		return p
	}
	u.strays++
	return nil
}

// stray is how many requests came that belonged to no case.
func (u *Upstream) stray() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.strays
}

// has reports whether the upstream has a model: those that were asked for in the probe, and
// those that "callgate conformance config" names.
func (u *Upstream) has(model string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known[model] || strings.HasPrefix(model, "upstream-")
}

// learn notes models that the upstream has.
func (u *Upstream) learn(models ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, m := range models {
		u.known[m] = true
	}
}

// ServeHTTP implements http.Handler.
func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
	if err != nil {
		return // the gateway left
	}
	switch api := protocolAt(r.URL.Path); {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"conformance","object":"model","created":0,"owned_by":"conformance"}]}`)
	case strings.HasSuffix(r.URL.Path, "/messages/count_tokens"):
		writeJSON(w, http.StatusOK, `{"input_tokens":17}`)
	case r.Method == http.MethodPost || api != otherAPI:
		u.serve(w, r, body)
	default:
		notThere(r.Method, r.URL.Path).write(w, api)
	}
}

// serve answers a request of a case.
func (u *Upstream) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	p := u.find(body)
	if p == nil {
		api := protocolAt(r.URL.Path)
		if no := refusal(api, r.Method, r.URL.Path, body, func(string) bool { return false }); no != nil {
			no.write(w, api)
		}
		return
	}
	n := p.add(received{path: r.URL.Path, header: r.Header, body: body})
	p.answer(w, r, body, n, u.has)
}
