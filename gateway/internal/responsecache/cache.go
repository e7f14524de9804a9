// Package responsecache gives answers again that were given before, to those who ask the
// same. The first of equal requests that come at the same time asks, and the others wait for
// it.
package responsecache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
)

// Policy says whether the answers of a route are kept. The zero value keeps none.
type Policy struct {
	// Store keeps them; nil for none.
	Store Store
	// TTL is for how long.
	TTL time.Duration
	// Largest is how many bytes the body of one may have.
	Largest int
	// Fingerprint stands for the program and all in its configuration that an answer depends
	// on. With another one nothing is found that was stored before. The parsers' code, which
	// may change while the program runs, is not in it: see gateway.Fingerprinter.
	Fingerprint string
}

// Check says what is wrong with the policy of a route.
func (p Policy) Check(route string) error {
	if p.Store != nil && (p.TTL <= 0 || p.Largest <= 0) {
		return &gateway.Error{Kind: gateway.Internal, Message: fmt.Sprintf("model %q: answers are kept for %s with at most %d bytes; both must be more than 0", route, p.TTL, p.Largest)}
	}
	return nil
}

// Store keeps answers for a time; those of package answers do. It is safe for concurrent use.
// A store that cannot be reached has nothing, and says so elsewhere.
type Store interface {
	// Get returns the answer of a key, if it is there and has not expired.
	Get(ctx context.Context, key answers.Key) (*answers.Answer, bool)
	// Put keeps an answer. It is called before the last of it has gone to the client, and
	// takes no longer than its context, which has ended already where Get took all the time of the request.
	Put(ctx context.Context, key answers.Key, a *answers.Answer, ttl time.Duration)
}

// Cache is what all routes whose answers are kept share.
type Cache struct {
	keys    *answers.Keys
	flights *answers.Flights
	held    *atomic.Int64 // bytes of answers that are not complete yet
	parsers gateway.ParserSource
	now     func() time.Time
	log     *slog.Logger
}

// maxHeld is how many bytes of answers may not be complete yet. Beyond it an answer is not
// kept.
const maxHeld = 256 << 20

// New makes a cache. parsers may be nil.
func New(salt []byte, parsers gateway.ParserSource, now func() time.Time, log *slog.Logger) *Cache {
	return &Cache{keys: answers.NewKeys(salt), flights: answers.NewFlights(), held: &atomic.Int64{}, parsers: parsers, now: now, log: log}
}

// With is c for other parsers: they share what is under way and its bounds.
func (c *Cache) With(parsers gateway.ParserSource) *Cache {
	other := *c
	other.parsers = parsers
	return &other
}

// Query is a request whose answer may be there.
type Query struct {
	Request *gateway.Request
	Policy  Policy
	Route   *gateway.RouteChoice
	// Targets are those that may be asked, and Model what a target without a name of its own
	// asks for.
	Targets []gateway.Target
	Model   string
	// Execution says that clients get what was done in the answer's body.
	Execution bool
	// Day is the day that the prompt tells, "" if none.
	Day string
}

// Answer answers a request from what is stored, or asks and keeps what can be kept. ask is
// given the last of the stages that the answer is to pass.
func (c *Cache) Answer(ctx context.Context, q Query, ask func(recorder gateway.Maker) (*gateway.Response, error)) (*gateway.Response, error) {
	began := time.Now()
	fresh := freshnessOf(q.Request)
	if fresh == ownAnswer || !isRepeatable(q.Request) || !sourceRepeats(q.Request) {
		resp, err := ask(nil)
		return noted(resp, err, gateway.AnswerBypass)
	}
	r := &recording{cache: c, ctx: ctx, policy: q.Policy}
	if f, ok := c.parsers.(gateway.Fingerprinter); ok {
		r.readers = f.Fingerprint()
	}
	r.key = c.key(q, r.readers)
	handed := false
	defer func() {
		if !handed { // also if something panicked: those who wait must hear of it
			r.giveUp()
		}
	}()
	how := gateway.AnswerBypass
	if fresh == anyAnswer {
		a, found, err := r.find(ctx)
		if err != nil {
			return nil, err
		}
		if a != nil {
			resp := c.replay(q, a, found)
			resp.Summary.Requested = began
			if found == gateway.AnswerHit { // not what was spent on waiting
				resp.Summary.Overhead = time.Since(began)
			}
			return resp, nil
		}
		how = gateway.AnswerMiss
		c.missed(ctx, q.Request)
	}
	resp, err := ask(r)
	switch {
	case err == nil:
		handed = true
	case gateway.AsError(err).Kind == gateway.Canceled:
		r.abandon()
	}
	return noted(resp, err, how)
}

// maxWait is how long a request waits for the answer to an equal one. That one's client may
// read it as slowly as it likes, and nobody else should have to wait for that.
const maxWait = 20 * time.Second

// find looks for the answer in the store, and waits for one that is under way. If there is
// none the recording may have a flight, which the caller leads.
func (r *recording) find(ctx context.Context) (*answers.Answer, gateway.AnswerOutcome, error) {
	flight, leads := r.cache.flights.Join(r.key.Name)
	if flight == nil { // too many wait
		return nil, "", nil
	}
	if leads {
		r.flight = flight
		began := time.Now()
		a, ok := r.policy.Store.Get(ctx, r.key)
		r.waited = time.Since(began)
		if ok {
			r.land(a)
		}
		return a, gateway.AnswerHit, nil
	}
	joined := r.cache.now()
	bounded, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	switch a, end := flight.Wait(bounded); end {
	case answers.Landed:
		r.over = true
		if a.Stored.Before(joined) { // the leader had it from the store
			return a, gateway.AnswerHit, nil
		}
		return a, gateway.AnswerShared, nil
	case answers.Lead:
		r.flight = flight
	case answers.Left:
		if ctx.Err() != nil {
			return nil, "", gateway.Ended(ctx)
		}
	case answers.Failed: // the caller goes on its own
	}
	return nil, "", nil
}

// key is what an answer is stored under: all that it depends on. The body counts as it came,
// byte for byte: what can be left out of it without changing an answer is the upstream's to
// know. So does the day, where the prompt tells it.
func (c *Cache) key(q Query, readers string) answers.Key {
	asked := make([]string, len(q.Targets)) // which ones may have been decided by a header that does not count
	for i, t := range q.Targets {
		asked[i] = fmt.Sprintf("%+v", t)
	}
	r := q.Request
	return c.keys.Of([]byte(r.From.Tenant), []byte(r.Routing.Route), []byte(q.Model), []byte(q.Policy.Fingerprint), []byte(readers),
		answers.List(asked...), []byte(q.Day), lastingHeaders(r.From.Header), r.Body.Bytes(), source(r))
}

// noted notes what became of a request, also where it has failed.
func noted(resp *gateway.Response, err error, how gateway.AnswerOutcome) (*gateway.Response, error) {
	var e *gateway.Error
	switch {
	case resp != nil:
		resp.Summary.AnswerCache = how
	case errors.As(err, &e) && e.Summary != nil:
		e.Summary.AnswerCache = how
	}
	return resp, err
}

// missed says which headers counted where there was no answer. One that a proxy sets anew for
// each request, and that volatile lacks, would otherwise keep all answers apart unseen.
func (c *Cache) missed(ctx context.Context, r *gateway.Request) {
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.DebugContext(ctx, "no stored answer", "id", r.ID, "route", r.Routing.Route, "headers", lastingNames(r.From.Header))
	}
}
