package attempt

import "github.com/callgate/callgate/gateway"

// maxCorrections is how often the model is corrected in a request: told that its call is
// refused, or that it has to make one.
const maxCorrections = 1

// budget is how often a request may ask, and how much of that it has used. Retries and fallbacks
// share it: as many attempts as the retries allow, or one for each target if there are more of those.
type budget struct {
	targets       int  // that there are
	maxRetries    int  // the most that one of them allows
	clientRetried bool // the client's SDK has tried before

	attempts    int  // so far, corrections and all
	retries     int  // so far
	skipped     int  // targets that were not asked, since a breaker or a bucket was against it
	corrections int  // attempts in which the model was told what was wrong, of any sort
	waited      bool // for a Retry-After where no retries are allowed, which happens once
}

// newBudget is what the targets of a request allow it.
func newBudget(list candidates, w *gateway.Wishes) budget {
	b := budget{targets: len(list), clientRetried: w.ClientRetries > 0}
	for _, c := range list {
		b.maxRetries = max(b.maxRetries, c.retry.Max)
	}
	return b
}

// allows reports whether a target may be asked once more. Where no retries are allowed at all,
// a 429 that says how long to wait is waited for once, unless it was the client's SDK that came back.
func (b *budget) allows(c *candidate) bool {
	if c.retry.Max == 0 {
		return !b.waited && !b.clientRetried && c.last.Kind == gateway.RateLimited && c.last.RetryAfter > 0
	}
	return c.attempts-c.corrected <= c.retry.Max && b.attempts-b.corrections < max(1+b.maxRetries, b.targets-b.skipped)
}

// retry spends one of the retries on a target.
func (b *budget) retry(c *candidate) {
	b.waited = b.waited || c.retry.Max == 0
	b.retries++
}

// corrects reports whether a correction of the model is left.
func (b *budget) corrects() bool { return b.corrections < maxCorrections }
