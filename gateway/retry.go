package gateway

import (
	"math/rand/v2"
	"sync"
	"time"
)

// RetryPolicy says how often and when a provider's failures are tried again.
type RetryPolicy struct {
	// Max is how many further attempts a request may take. With 0 there is one
	// exception: an upstream that answers 429 with a Retry-After is waited for once
	// and asked once more.
	Max int
	// Base is the first wait and Cap the longest; a Retry-After beyond Cap is not
	// waited for. Zero means 1 s and 60 s.
	Base, Cap time.Duration
}

// Defaults of RetryPolicy.
const (
	defaultBase = time.Second
	defaultCap  = 60 * time.Second
)

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.Base <= 0 {
		p.Base = defaultBase
	}
	if p.Cap <= 0 {
		p.Cap = max(defaultCap, p.Base)
	}
	return p
}

// jitter is the part of a backoff that is left to chance, so that clients which
// failed together do not come back together. OpenAI's SDKs take the same.
const jitter = 0.25

// backoff is the wait before the retry number n, counted from 0: exponential, less
// up to a quarter of it.
func (p RetryPolicy) backoff(n int) time.Duration {
	d := p.Cap
	if n < 32 && p.Base<<n > 0 && p.Base<<n < p.Cap {
		d = p.Base << n
	}
	return d - time.Duration(rand.Float64()*jitter*float64(d)) //nolint:gosec // chance, not a secret
}

// bucket bounds what retries and fallbacks add to the load of a provider that fails:
// an attempt beyond a request's first takes a token and gives it back if it
// succeeds; a first attempt that succeeds adds a tenth of one. Against an upstream
// that fails half of the time this settles at one further attempt for ten requests,
// as in gRPC's retry throttling (gRFC A6).
type bucket struct {
	mu     sync.Mutex
	tokens float64
}

const (
	bucketSize = 10
	deposit    = 0.1
)

func newBucket() *bucket { return &bucket{tokens: bucketSize} }

// take takes a token for an attempt beyond a request's first.
func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// succeeded notes that an attempt did; further says that a token was taken for it.
func (b *bucket) succeeded(further bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	amount := deposit
	if further {
		amount = 1
	}
	b.tokens = min(b.tokens+amount, bucketSize)
}
