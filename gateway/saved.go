package gateway

import "fmt"

// Saved says what the upstream's cache has saved of an answer's price, as a header does:
// 0.42;usd=0.003; "" if nobody knows. It is called once for an answer, with its target.
type Saved func(provider, model string, u Usage) string

// bill notes what the cache has saved, when the usage of the answer is known.
func (r *Response) bill() {
	s := &r.Summary
	if saved := r.gateway.saved; saved != nil && s.Usage.Reported {
		s.Saved = saved(s.Provider, s.Model, s.Usage)
	}
}

// CachedText writes how many tokens of the prompt the upstream had in its cache, as a
// header does: 3000/3600; "" if it does not say.
func (s *Summary) CachedText() string {
	if !s.Usage.CacheReported {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Usage.CacheRead, s.Usage.Input)
}
