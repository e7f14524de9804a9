package state

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
)

// Chatter answers chat requests; *flow.Gateway is one.
type Chatter interface {
	Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error)
}

// Options are what a Service is made of.
type Options struct {
	Store  store.Store
	Sealer *responses.Sealer
	// Gateway answers responses that run in the background.
	Gateway Chatter
	// MaxChain is the largest number of responses behind previous_response_id.
	MaxChain int
	// MaxBytes is the most that earlier items may have together; default 32 MiB.
	MaxBytes int
	// Record is the largest response that the store takes; default store.MaxRecord.
	Record int
	// CompactTokens is about how many tokens earlier items may have before a summary takes the
	// place of the older ones; 0 is any number, until an upstream refuses them.
	CompactTokens int
	// CompactTurns is how many turns of the user earlier items may have, likewise. 0: any number.
	CompactTurns int
	// Ended is told of each response in the background that is over. It may be nil.
	Ended func(gateway.Record)
	// SweepEvery is how often what has expired is deleted; default one minute.
	SweepEvery time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Service is the state of all clients. All methods may be called by many goroutines.
type Service struct {
	conversations
	o        Options
	shelf    shelf
	past     past
	runs     runs
	contexts contexts
	counted  counted
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

// lockTime is how long a request waits for the one before it in its conversation.
const lockTime = 30 * time.Second

// New makes a service. Close ends it, and the store with it.
func New(o Options) *Service {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 32 << 20
	}
	if o.Record <= 0 {
		o.Record = store.MaxRecord
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Service{o: o, shelf: shelf{o.Store, o.Log, o.Record}, cancel: cancel, runs: newRuns(ctx)}
	s.conversations.shelf = &s.shelf
	s.past.shelf, s.past.responses = &s.shelf, o.MaxChain
	s.SetMaxBytes(o.MaxBytes)
	s.done.Go(func() { s.sweep(ctx) })
	return s
}

// SetMaxBytes changes the most that earlier items may have together, for requests from now on. A
// nil Service has none.
func (s *Service) SetMaxBytes(n int) {
	if s != nil && n > 0 {
		s.past.bytes.Store(int64(n))
	}
}

// Close ends what runs in the background, which then has failed, and closes the store.
func (s *Service) Close() error {
	if s == nil {
		return nil
	}
	s.runs.stop()
	s.cancel()
	s.done.Wait()
	return s.shelf.store.Close()
}

// Drain waits until nothing runs in the background any more, or until ctx ends.
func (s *Service) Drain(ctx context.Context) {
	if s == nil {
		return
	}
	for _, run := range s.runs.list() {
		select {
		case <-run.over:
		case <-ctx.Done():
			return
		}
	}
}

// sweep deletes what has expired, until ctx ends.
func (s *Service) sweep(ctx context.Context) {
	tick := time.NewTicker(s.o.SweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, err := s.shelf.store.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.o.Log.Warn("the store could not be swept", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Call is a request for something stored.
type Call struct {
	Tenant string
	// ID is that of the response or the conversation, Item that of an item in the path.
	ID, Item string
	Query    url.Values
	Body     []byte
	// Limits are on what the body is made of, and Room has its memory; the caller closes it.
	Limits gateway.Limits
	Room   *inflight.Claim
}

// invalid is an error of the client's.
func invalid(param, format string, args ...any) *gateway.Error {
	return &gateway.Error{Kind: gateway.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// missing says that there is no such thing, for this client.
func missing(what, id string) *gateway.Error {
	return &gateway.Error{Kind: gateway.NotFound, Message: fmt.Sprintf("%s with id %q not found.", what, gateway.ExcerptOf(id, 80))}
}

// newID makes an id.
func newID(prefix string) string {
	var random [24]byte
	_, _ = rand.Read(random[:]) // it never fails
	var id [64]byte
	return string(hex.AppendEncode(append(id[:0], prefix...), random[:]))
}

// options are those by which a client's request is read.
func (s *Service) options(c protocol.Client) responses.Options {
	return responses.Options{Sealer: s.o.Sealer, Tenant: c.Tenant, Limits: c.Limits, Room: c.Room, Serves: c.Serves}
}
