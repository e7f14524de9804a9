package attempt

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway"
)

// jitter is the part of a backoff that is left to chance, so that clients which
// failed together do not come back together. OpenAI's SDKs take the same.
const jitter = 0.25

// backoff is the wait before the retry number n, counted from 0: the policy's Base, doubled n times
// and at most its Cap, less up to a quarter of it.
func backoff(p gateway.RetryPolicy, n int) time.Duration {
	d := p.Cap
	if p.Base <= p.Cap>>n {
		d = p.Base << n
	}
	return d - time.Duration(rand.Float64()*jitter*float64(d)) //nolint:gosec // chance, not a secret
}

// bucket bounds what retries and fallbacks add to the load of a provider that fails,
// as gRPC's retry throttling does (gRFC A6): an attempt beyond a request's first that
// fails takes a token, every success earns a tenth of one, and there are such attempts
// only while the bucket is more than half full. What many at once take beyond that is a
// debt. Against an upstream that fails half of the time this settles at
// one further attempt for ten requests; one that works is never throttled. One token comes
// back each second besides, or a target that is only ever fallen back to could not
// recover.
type bucket struct {
	mu     sync.Mutex
	tokens float64
	at     time.Time // when the tokens were counted
}

const (
	bucketSize = 10
	earned     = 0.1
	perSecond  = 1
)

// allows reports whether there may be an attempt beyond a request's first.
func (b *bucket) allows() bool { return b.add(0) > bucketSize/2 }

// add adds tokens, and returns how many there are.
func (b *bucket) add(n float64) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.tokens = min(max(b.tokens+n, -bucketSize)+perSecond*now.Sub(b.at).Seconds(), bucketSize)
	b.at = now
	return b.tokens
}
