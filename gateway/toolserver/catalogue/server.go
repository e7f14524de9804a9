package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/internal/redact"
)

const (
	defaultConcurrency = 4
	defaultRefresh     = 5 * time.Minute
	leastRefresh       = 10 * time.Second // a server cannot have itself asked more often
	firstWait          = time.Second      // after a failure; doubled for each further one
	longestWait        = time.Minute
	askTime            = 75 * time.Second // for a list, with the start of a process
	startTime          = 10 * time.Second // how long the gateway is not ready for a server that has not answered
	patience           = 2                // failures in a row before a list that is there counts as old
)

// server is a server with what is known of it.
type server struct {
	name   string
	o      Server
	source Source
	places chan struct{} // a place for each call that may run
	wake   chan struct{} // holds one, when the list is to be asked for soon
	scrub  redact.Secrets
	health health
	owners atomic.Int64 // catalogues that have it

	mu       sync.Mutex
	listing  *toolserver.Listing // the last that came; nil before
	listed   time.Time
	failures int // in a row, of asking for the list
	problem  *toolserver.Error
	from     *toolserver.Listing // tools is made of it
	tools    []*tool
}

func newServer(name string, o Server) *server {
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Refresh <= 0 {
		o.Refresh = defaultRefresh
	}
	s := &server{name: name, o: o, places: make(chan struct{}, o.Concurrency), wake: make(chan struct{}, 1), scrub: scrubber(o.Secrets)}
	s.owners.Store(1)
	s.source = o.Open(s.poke)
	return s
}

// join has one more catalogue have it, unless the last has left.
func (s *server) join() bool {
	for {
		n := s.owners.Load()
		if n == 0 {
			return false
		}
		if s.owners.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave has one catalogue less have it. The last closes it.
func (s *server) leave() {
	if s.owners.Add(-1) == 0 {
		_ = s.source.Close()
	}
}

// scrubber takes secrets out of text.
func scrubber(secrets []string) redact.Secrets {
	var list []string
	for _, secret := range secrets {
		for _, part := range append([]string{secret}, strings.Fields(secret)...) {
			if looksSecret(part) {
				list = append(list, part)
			}
		}
	}
	return redact.New(list)
}

// clean takes out of a text what the server was trusted with.
func (s *server) clean(text string) string {
	text = toolserver.Scrub(s.scrub, text)
	if own, ok := s.source.(Scrubber); ok {
		text = own.Scrub(text)
	}
	return text
}

// looksSecret says of a value that a server is given whether it may be a credential: long, of
// letters and digits, and no path or address. Words such as a level of a log are none, and would
// be missed in results.
func looksSecret(text string) bool {
	return len(text) >= 12 && strings.ContainsAny(text, "0123456789") && strings.ContainsFunc(text, unicode.IsLetter) &&
		!strings.HasPrefix(text, "/") && !strings.HasPrefix(text, ".") && !strings.Contains(text, "://")
}

// poke asks for the list soon.
func (s *server) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// follow asks a server for its list until ctx ends. One that another catalogue has just asked has
// time.
func (c *Catalogue) follow(ctx context.Context, s *server) {
	for wait := s.left(); ; wait = 0 {
		began := time.Now()
		if wait == 0 {
			c.ask(ctx, s)
			if ctx.Err() != nil {
				return
			}
			wait = s.wait()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.wake:
			soon := time.NewTimer(time.Until(began.Add(firstWait)))
			select { // a server that says so without end is not asked without end
			case <-ctx.Done():
				s.poke() // whoever follows the server then is to hear of it
			case <-soon.C:
			}
			soon.Stop()
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// left is how long the list that is there is good, 0 if there is none.
func (s *server) left() time.Duration {
	s.mu.Lock()
	good, age := s.listing != nil && s.failures == 0, time.Since(s.listed)
	s.mu.Unlock()
	if !good {
		return 0
	}
	return max(0, s.wait()-age)
}

// ask asks a server for its list once.
func (c *Catalogue) ask(ctx context.Context, s *server) {
	limit, cancel := context.WithTimeout(ctx, askTime)
	listing, err := s.source.List(limit)
	cancel()
	if ctx.Err() != nil && err != nil {
		return
	}
	s.mu.Lock()
	before := s.problem
	if err == nil && len(listing.Tools)+len(listing.Refused) == 0 {
		err = &toolserver.Error{Kind: toolserver.Unavailable, Message: fmt.Sprintf("Tool server %q lists no tools.", s.name)}
		s.listing = listing
	}
	if err == nil {
		s.listing, s.listed, s.failures, s.problem = listing, time.Now(), 0, nil
	} else {
		s.failures++
		s.problem = asError(err)
		s.problem.Message, s.problem.Cause = s.clean(s.problem.Message), s.clean(s.problem.Cause)
	}
	now := s.problem
	s.mu.Unlock()
	switch {
	case now != nil && (before == nil || before.Message != now.Message):
		c.log.Warn("tool server: no list of tools", "server", s.name, "problem", now.Message, "error", s.clean(fmt.Sprint(now.Err)))
	case now == nil && before != nil:
		c.log.Info("tool server: it answers again", "server", s.name)
	}
	c.rebuild()
}

// wait is how long the list is good, or until a server that is away is asked again.
func (s *server) wait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures > 0 {
		wait := min(firstWait<<min(s.failures-1, 10), longestWait)
		return wait + rand.N(wait/8) //nolint:gosec // so that gateways do not come together
	}
	wait := s.o.Refresh
	if ttl := s.listing.TTL; ttl > 0 {
		wait = min(wait, ttl)
	}
	return max(wait, min(leastRefresh, s.o.Refresh))
}

// known is the list, and the problem that keeps it from being offered.
func (s *server) known() (*toolserver.Listing, *toolserver.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem != nil && (s.listing == nil || len(s.listing.Tools)+len(s.listing.Refused) == 0 || s.failures >= patience) {
		return nil, s.problem
	}
	return s.listing, nil
}

// call makes a call when there is a place for it.
func (s *server) call(ctx context.Context, t *tool, arguments json.RawMessage) (*toolserver.Result, error) {
	select {
	case s.places <- struct{}{}:
	case <-ctx.Done():
		return nil, &toolserver.Error{Kind: toolserver.Timeout, Again: true, Err: ctx.Err(),
			Message: fmt.Sprintf("Tool server %q is busy: %d calls run, and no place came free in time.", s.name, cap(s.places))}
	}
	defer func() { <-s.places }()
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.Timeout)
		defer cancel()
	}
	began := time.Now()
	result, err := s.source.Call(ctx, t.Name, arguments)
	s.health.called(time.Since(began))
	if err != nil {
		return nil, err
	}
	if result.Cut > 0 {
		result.Text = strings.TrimSuffix(s.clean(result.Text+toolserver.CutMark), toolserver.CutMark)
	} else {
		result.Text = s.clean(result.Text)
	}
	if len(result.Structured) > 0 {
		result.Structured = json.RawMessage(s.clean(string(result.Structured)))
		if !json.Valid(result.Structured) { // a secret that was a number
			result.Structured, result.Dropped = nil, append(result.Dropped, toolserver.Structured)
		}
	}
	return result, nil
}

// asError gives every error the form that callers are promised.
func asError(err error) *toolserver.Error {
	if e, ok := errors.AsType[*toolserver.Error](err); ok {
		return e
	}
	return &toolserver.Error{Kind: toolserver.Failed, Message: "The tool server failed.", Err: err}
}
