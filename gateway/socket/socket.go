package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/callgate/callgate/gateway/inflight"
)

// Bounds on connections. OpenAI ends them after an hour too, and clients know that.
const (
	maxConnections = 4096
	maxAge         = time.Hour
	maxMessage     = 32 << 20         // unless SetMaxMessage says otherwise
	maxTurns       = 16               // of a connection, that run or wait for those before them
	lookEvery      = 30 * time.Second // at whether the client and its key are still there
	stallTime      = time.Minute      // how long nothing may come of a message that has begun, or of the answer to a ping
	cutTime        = time.Second      // how long what is cut at the end has to say so
	partTime       = 4 * time.Second  // how long a client has to answer a close frame: less than the library waits, which says nothing
)

// Settings are those of a connection.
type Settings struct {
	// Path is where its messages are posted.
	Path string
	// Key is whose connection it is; "" for one that counts towards no key's share.
	Key string
	// Allowed reports whether the key of a handshake is still taken: a connection whose is not ends. It may be nil.
	Allowed func(handshake *http.Request) bool
	// Stopped makes the cause of the end of a request that Shutdown cuts. It may be nil.
	Stopped func() error
	// Memory is what messages are in until they are read as requests; nil has no bound.
	Memory *inflight.Budget
	// Begin is called with the context of a connection, which all its requests get from it. end is called
	// when they are over. It may be nil.
	Begin func(ctx context.Context) (_ context.Context, end func())
}

// Sockets are the connections of a gateway. Make one with New. It is safe for concurrent use.
type Sockets struct {
	handler http.Handler
	log     *slog.Logger
	age     time.Duration // of a connection, at most
	stall   time.Duration
	part    time.Duration // how long a close frame waits for its answer
	every   time.Duration
	most    int          // connections
	largest atomic.Int64 // message in bytes

	mu      sync.Mutex
	open    map[*connection]struct{}
	taken   int            // connections that are open, and handshakes
	byKey   map[string]int // of those that count towards a key's share
	refused map[string]int64
	closing bool
	work    sync.WaitGroup
}

// New returns Sockets whose messages h answers.
func New(h http.Handler, log *slog.Logger) *Sockets {
	s := &Sockets{handler: h, log: log, age: maxAge, stall: stallTime, part: partTime, every: lookEvery, most: maxConnections, open: map[*connection]struct{}{}, byKey: map[string]int{}, refused: map[string]int64{}}
	s.largest.Store(maxMessage)
	return s
}

// SetMaxMessage changes how large a message may be from now on, on open connections too.
func (s *Sockets) SetMaxMessage(bytes int64) { s.largest.Store(bytes) }

// Stats are how many connections are open, and how many connections and messages were refused, by code, before
// anybody was asked.
type Stats struct {
	Open    int
	Refused map[string]int64
}

// dropped stands for the code where a message is not answered, and its connection has ended.
const dropped = "dropped"

// Stats returns them.
func (s *Sockets) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{len(s.open), maps.Clone(s.refused)}
}

// Open is how many connections there are.
func (s *Sockets) Open() int { return s.Stats().Open }

// refuse counts a refusal.
func (s *Sockets) refuse(code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[code]++
}

// tooManyConnections is the code of ErrBusy and ShareError.
const tooManyConnections = "too_many_connections"

// ErrBusy says that there are too many connections, or that the gateway shuts down.
var ErrBusy = errors.New("no more WebSockets are taken at the moment")

// ShareError says that a key has so many connections as are left for all others, which is the most.
type ShareError struct{ Has, Of int }

func (e *ShareError) Error() string {
	return fmt.Sprintf("the key has %d of %d WebSockets, and no more than that are left", e.Has, e.Of)
}

// enter takes a place for a connection of a key. Of those that are left a key may always have as many as it has:
// one that takes all it gets has a half, two have a third each, and somebody else finds a place.
func (s *Sockets) enter(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.most - s.taken
	if s.closing || left <= 0 {
		return ErrBusy
	}
	if has := s.byKey[key]; key != "" && has >= left {
		return &ShareError{has, s.most}
	}
	s.taken++
	if key != "" {
		s.byKey[key]++
	}
	s.work.Add(1)
	return nil
}

// Accept takes over the connection of a handshake, and returns: the connection is served in the
// background until it ends. With ErrBusy and ShareError nothing has been answered; with any other error the
// answer says what is wrong with the handshake. Whether the request's page may ask is for the caller to check.
func (s *Sockets) Accept(w http.ResponseWriter, r *http.Request, o Settings) error {
	if err := s.enter(o.Key); err != nil {
		s.refuse(tooManyConnections)
		return err
	}
	c := &connection{of: s, id: w.Header().Get("X-Request-Id"), handshake: r, settings: o, lanes: map[string]chan struct{}{}, sending: make(chan struct{}, 1), pongs: make(chan []byte, 1)}
	raw := &hijacking{ResponseWriter: w}
	var err error
	c.ws, err = websocket.Accept(raw, r, &websocket.AcceptOptions{InsecureSkipVerify: true, OnPingReceived: c.pinged})
	if err != nil {
		s.over(c)
		return err
	}
	c.ws.SetReadLimit(-1) // its messages are measured as they come
	c.conn = raw.conn
	ctx, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(r.Context()), idKey{}, c.id))
	c.cancel = cancel
	context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	end := func() {}
	if o.Begin != nil {
		ctx, end = o.Begin(ctx)
	}
	c.ctx = ctx
	c.asking, c.stop = context.WithCancel(ctx)
	s.mu.Lock()
	s.open[c] = struct{}{}
	late := s.closing
	s.mu.Unlock()
	if late {
		c.leave(restarting)
	}
	go func() {
		defer s.over(c)
		c.serve()
		end()
	}()
	return nil
}

// hijacking notes which connection is taken over: while the library waits for a client's answer to its close
// frame, the end of a context does not end it.
type hijacking struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker.
func (h *hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// over notes that a connection has ended, or that its handshake came to nothing.
func (s *Sockets) over(c *connection) {
	defer s.work.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if key := c.settings.Key; s.byKey[key] > 1 {
		s.byKey[key]--
	} else {
		delete(s.byKey, key)
	}
	delete(s.open, c)
}

type idKey struct{}

// Connection is the id of the WebSocket that a request has come over: that of its handshake's request; ""
// for one that has come by itself.
func Connection(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

// Shutdown takes no more messages, ends each connection behind what it answers, and returns when all have
// ended. What still runs when ctx is over is cut, and its client told, if it reads that within a second; the error says
// so. A client that only does not answer the close frame is no error.
func (s *Sockets) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.each(func(c *connection) { c.leave(restarting) })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.work.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	cut := false
	s.each(func(c *connection) {
		cut = c.isBusy() || cut
		c.stop()
	})
	late := time.NewTimer(cutTime)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		s.each(func(c *connection) { c.cut("the time to shut down is over") })
		<-ended
	}
	if !cut {
		return nil
	}
	return ctx.Err()
}

// each calls f for all connections that are open.
func (s *Sockets) each(f func(c *connection)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		f(c)
	}
}
