package state

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
)

// Bounds on what runs in the background of one gateway.
const (
	maxRuns    = 32  // at once
	maxWaiting = 256 // besides
	// One key has at most a quarter of what waits and half of what runs, so that it cannot keep all
	// others out.
	maxOfKey     = (maxRuns + maxWaiting) / 4
	maxRunsOfKey = maxRuns / 2
	// maxFeed is how many bytes of events are kept of one response, and feedTime for how long
	// after its end; maxFeeds is how many are kept of those that have ended, and maxEnded how many
	// bytes they have together. What runs has its events within the memory of its request.
	maxFeed  = 8 << 20
	feedTime = 10 * time.Minute
	maxFeeds = 64
	// maxPiece is about how many bytes of a feed are given at once: a client that takes none of
	// them holds no more.
	maxPiece = 64 << 10
	maxEnded = 32 << 20
)

// runs are the responses that wait, run, or have ended a little while ago.
type runs struct {
	ctx   context.Context //nolint:containedctx // of all that runs
	end   context.CancelCauseFunc
	slots chan struct{}

	mu    *sync.Mutex
	all   map[[2]string]*run
	keys  map[string]*keyRuns
	ended *[]*run // oldest first
}

// keyRuns are those of one key.
type keyRuns struct {
	number int           // that are not over
	slots  chan struct{} // of those that run
}

// run is one response.
type run struct {
	key      [2]string       // tenant and id
	ctx      context.Context //nolint:containedctx // the run's own
	end      context.CancelCauseFunc
	release  func()        // of the lock that says that somebody runs it
	over     chan struct{} // closed at the end
	feed     *feed
	streamed bool
	failed   bool // that it has failed is stored already
	running  bool // it has its slots
	of       *keyRuns
	until    time.Time
}

// isOver reports whether the run has ended.
func (n *run) isOver() bool {
	select {
	case <-n.over:
		return true
	default:
		return false
	}
}

func newRuns(ctx context.Context) runs {
	ctx, end := context.WithCancelCause(ctx)
	return runs{ctx: ctx, end: end, slots: make(chan struct{}, maxRuns), mu: &sync.Mutex{}, all: map[[2]string]*run{}, keys: map[string]*keyRuns{}, ended: &[]*run{}}
}

// stop ends all that runs.
func (r *runs) stop() { r.end(errStopped) }

// add notes a response that waits.
func (r *runs) add(tenant, id string, streamed bool) (*run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil, &gateway.Error{Kind: gateway.Overloaded, Message: "The gateway is being stopped."}
	}
	of := r.keys[tenant]
	if of == nil {
		of = &keyRuns{slots: make(chan struct{}, maxRunsOfKey)}
	}
	if tenant != "" && of.number >= maxOfKey {
		return nil, &gateway.Error{Kind: gateway.Overloaded, Code: "background_full", RetryAfter: 5 * time.Second,
			Message: "Too many responses of this key run in the background: try again later, or without \"background\"."}
	}
	if len(r.all)-len(*r.ended) >= maxRuns+maxWaiting {
		return nil, &gateway.Error{Kind: gateway.Overloaded, Code: "background_full", RetryAfter: 5 * time.Second,
			Message: "Too many responses run in the background: try again later, or without \"background\"."}
	}
	n := &run{key: [2]string{tenant, id}, release: func() {}, over: make(chan struct{}), feed: newFeed(), streamed: streamed}
	n.ctx, n.end = context.WithCancelCause(r.ctx)
	r.all[n.key] = n
	of.number++
	n.of, r.keys[tenant] = of, of
	return n, nil
}

// turn waits until the run may begin.
func (r *runs) turn(n *run) error {
	if n.key[0] != "" { // without keys there is one client
		select {
		case n.of.slots <- struct{}{}:
		case <-n.ctx.Done():
			return context.Cause(n.ctx)
		}
	}
	select {
	case r.slots <- struct{}{}:
		n.running = true
		return nil
	case <-n.ctx.Done():
		if n.key[0] != "" {
			<-n.of.slots
		}
		return context.Cause(n.ctx)
	}
}

// remove notes that a run is over. Its events stay for a while.
func (r *runs) remove(n *run) {
	n.end(nil)
	if n.running { // until here: one that was cancelled still works
		<-r.slots
		if n.key[0] != "" {
			<-n.of.slots
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.of.number--; n.of.number == 0 {
		delete(r.keys, n.key[0])
	}
	close(n.over)
	n.until = time.Now().Add(feedTime)
	*r.ended = append(*r.ended, n)
	r.forget()
}

// forget drops the events of what ended long ago, or is too much.
func (r *runs) forget() {
	list, bytes := *r.ended, 0
	for _, n := range list {
		bytes += n.feed.kept()
	}
	for len(list) > 0 && (len(list) > maxFeeds || bytes > maxEnded || time.Now().After(list[0].until)) {
		bytes -= list[0].feed.kept()
		delete(r.all, list[0].key)
		list[0], list = nil, list[1:]
	}
	*r.ended = list
}

// list is all that waits or runs, and some that have ended.
func (r *runs) list() []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.all))
}

// find is a run of this gateway, or nil.
func (r *runs) find(tenant, id string) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	return r.all[[2]string{tenant, id}]
}

// feed are the events of a response, by their numbers.
type feed struct {
	mu      sync.Mutex
	events  [][]byte
	bytes   int
	over    bool
	lost    bool // there were more than are kept
	changed chan struct{}
	room    *inflight.Claim // of the request, until the end
}

func newFeed() *feed { return &feed{changed: make(chan struct{})} }

// add takes a piece of a stream, which ends where an event does. What is no event is left out.
func (f *feed) add(stream []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(stream) > 0 {
		end := bytes.Index(stream, []byte("\n\n"))
		if end < 0 {
			break
		}
		event := stream[:end+2]
		stream = stream[end+2:]
		if !bytes.HasPrefix(event, []byte("event: ")) {
			continue
		}
		if f.bytes += len(event); f.bytes > maxFeed {
			f.drop()
		}
		if f.lost {
			continue
		}
		if f.room.Grow(int64(len(event))) != nil {
			f.drop()
			continue
		}
		f.events = append(f.events, bytes.Clone(event))
	}
	f.wake()
}

// drop forgets the events, of which there are too many.
func (f *feed) drop() { f.lost, f.events = true, nil }

// kept is how many bytes there are.
func (f *feed) kept() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return 0
	}
	return f.bytes
}

// size is how many events there are, and whether they are lost.
func (f *feed) size() (events int, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.events), f.lost
}

// errLostEvents says that there were more events than are kept.
func errLostEvents() *gateway.Error {
	return &gateway.Error{Kind: gateway.Unavailable, Message: "The response's events are more than the gateway keeps: ask for the response without \"stream\"."}
}

// end says that there are no more.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.wake()
}

func (f *feed) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// from reads the events from a number on: each call waits for some, the last returns io.EOF.
func (f *feed) from(next int) protocol.Events {
	return func(ctx context.Context) ([]byte, error) {
		for {
			f.mu.Lock()
			events, over, lost, changed := f.events, f.over, f.lost, f.changed
			f.mu.Unlock()
			switch {
			case lost:
				return nil, errLostEvents()
			case next < len(events):
				from, size := next, 0
				for next < len(events) && size < maxPiece {
					size += len(events[next])
					next++
				}
				return bytes.Join(events[from:next], nil), nil
			case over:
				return []byte("data: [DONE]\n\n"), io.EOF
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, gateway.Ended(ctx)
			}
		}
	}
}

// Replay answers GET /v1/responses/{id}?stream=true: the events of a response in the
// background, from the one behind starting_after on.
func (s *Service) Replay(ctx context.Context, c Call) (protocol.Events, error) {
	r, err := s.response(ctx, c)
	if err != nil {
		return nil, err
	}
	run := s.runs.find(c.Tenant, c.ID)
	if run == nil || !run.streamed {
		if string(valueOf(r.Body, "background")) != "true" {
			return nil, invalid("stream", "Only responses with \"background\": true and \"stream\": true can be streamed again: ask for this one without \"stream\".")
		}
		return nil, invalid("stream", "The events of this response are not kept, or not any more: ask for it without \"stream\".")
	}
	have, lost := run.feed.size()
	if lost {
		return nil, errLostEvents()
	}
	next := 0
	if text := c.Query.Get("starting_after"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n >= have {
			return nil, invalid("starting_after", "The parameter \"starting_after\" must be the sequence_number of an event that was sent, 0 to %d, not %.40q.", have-1, text)
		}
		next = n + 1
	}
	return run.feed.from(next), nil
}
