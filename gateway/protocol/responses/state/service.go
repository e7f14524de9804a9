package state

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
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
	o        Options
	runs     runs
	contexts contexts
	counted  counted
	most     atomic.Int64 // bytes of earlier items
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
	s := &Service{o: o, cancel: cancel, runs: newRuns(ctx)}
	s.SetMaxBytes(o.MaxBytes)
	s.done.Go(func() { s.sweep(ctx) })
	return s
}

// SetMaxBytes changes the most that earlier items may have together, for requests from now on. A
// nil Service has none.
func (s *Service) SetMaxBytes(n int) {
	if s != nil && n > 0 {
		s.most.Store(int64(n))
	}
}

func (s *Service) maxBytes() int { return int(s.most.Load()) }

// Close ends what runs in the background, which then has failed, and closes the store.
func (s *Service) Close() error {
	if s == nil {
		return nil
	}
	s.runs.stop()
	s.cancel()
	s.done.Wait()
	return s.o.Store.Close()
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
			if _, err := s.o.Store.Sweep(ctx); err != nil && ctx.Err() == nil {
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

// failed turns a store's error into the client's: missing where it says so.
func (s *Service) failed(err error, what, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return missing(what, id)
	case errors.Is(err, store.ErrTooLarge):
		return &gateway.Error{Kind: gateway.TooLarge, Message: fmt.Sprintf("This is more than the %d bytes that are stored at once: send less.", s.o.Record)}
	case errors.Is(err, store.ErrFull):
		return &gateway.Error{Kind: gateway.TooLarge, Status: http.StatusInsufficientStorage, Code: "store_full",
			Message: "There is no room left for what this key stores: delete conversations that are not needed any more."}
	case errors.Is(err, context.Canceled):
		return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: err}
	}
	s.o.Log.Error("the store fails", "error", err)
	return &gateway.Error{Kind: gateway.Overloaded, Code: "store_unavailable", Message: "The gateway's store of responses does not work at the moment.", Err: err}
}

// newID makes an id.
func newID(prefix string) string {
	var random [24]byte
	_, _ = rand.Read(random[:]) // it never fails
	var id [64]byte
	return string(hex.AppendEncode(append(id[:0], prefix...), random[:]))
}

// client is what a request came with.
func (s *Service) options(c protocol.Client) responses.Options {
	return responses.Options{Sealer: s.o.Sealer, Tenant: c.Tenant, Limits: c.Limits, Room: c.Room, Serves: c.Serves}
}
