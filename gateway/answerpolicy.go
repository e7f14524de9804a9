package gateway

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway/answers"
)

// AnswerPolicy says whether the answers of a route are kept, and given to those who ask
// the same. The zero value keeps none.
type AnswerPolicy struct {
	// Store keeps them; nil for none.
	Store AnswerStore
	// TTL is for how long.
	TTL time.Duration
	// Largest is how many bytes the body of one may have.
	Largest int
	// Fingerprint stands for the program and all in its configuration that an answer depends
	// on. With another one nothing is found that was stored before. The parsers' code, which
	// may change while the program runs, is not in it: see Fingerprinter.
	Fingerprint string
}

// AnswerStore keeps answers for a time; those of package answers do. It is safe for
// concurrent use. A store that cannot be reached has nothing, and says so elsewhere.
type AnswerStore interface {
	// Get returns the answer of a key, if it is there and has not expired.
	Get(ctx context.Context, key answers.Key) (*answers.Answer, bool)
	// Put keeps an answer. It is called before the last of it has gone to the client, and
	// must not take long.
	Put(ctx context.Context, key answers.Key, a *answers.Answer, ttl time.Duration)
}

// AnswerOutcome is what became of a request where answers are kept.
type AnswerOutcome string

// The outcomes.
const (
	AnswerHit    AnswerOutcome = "hit"    // the answer is a stored one
	AnswerShared AnswerOutcome = "shared" // it is that of an equal request, which was waited for
	AnswerMiss   AnswerOutcome = "miss"   // there was none
	AnswerBypass AnswerOutcome = "bypass" // nobody looked: the request cannot be repeated, or does not want to
)

// Replayed reports whether the answer was made for another request, and counted there.
func (s *Summary) Replayed() bool {
	return s.AnswerCache == AnswerHit || s.AnswerCache == AnswerShared
}

// AnswerText writes what became of the request as the header x-callgate-cache does: hit,
// miss or bypass; "" where no answers are kept.
func (s *Summary) AnswerText() string {
	if s.Replayed() {
		return string(AnswerHit)
	}
	return string(s.AnswerCache)
}

// answering is what a gateway needs for all routes whose answers are kept.
type answering struct {
	keys    *answers.Keys
	flights *answers.Flights
	taped   atomic.Int64 // bytes of answers that are not complete yet
}

// maxTaped is how many those may be. Beyond it an answer is not kept.
const maxTaped = 256 << 20

// newAnswering checks the routes' policies; nil if no answers are kept.
func newAnswering(o Options) (*answering, error) {
	kept := false
	for name, p := range o.RoutePolicies {
		if err := p.Answers.check(name); err != nil {
			return nil, err
		}
		kept = kept || p.Answers.Store != nil
	}
	if err := o.RoutePolicy.Answers.check(AnyModel); err != nil {
		return nil, err
	}
	if !kept && o.RoutePolicy.Answers.Store == nil {
		return nil, nil //nolint:nilnil // there is nothing to make
	}
	return &answering{keys: answers.NewKeys(o.CacheSalt), flights: answers.NewFlights()}, nil
}

func (p AnswerPolicy) check(route string) error {
	if p.Store != nil && (p.TTL <= 0 || p.Largest <= 0) {
		return &Error{Kind: Internal, Message: fmt.Sprintf("model %q: answers are kept for %s with at most %d bytes; both must be more than 0", route, p.TTL, p.Largest)}
	}
	return nil
}
