package gateway

import "fmt"

// Saved makes the bill of an answer. It is called once for each, with its target.
type Saved func(provider, model string, u Usage) Bill

// Bill is what an answer has cost. It stays in the Summary, for whoever keeps the books.
type Bill interface {
	// SavedText says what the upstream's cache has saved of the price, as a header does:
	// 0.42;usd=0.003; "" if nobody knows.
	SavedText() string
}

// bill notes what the cache has saved, when the usage of the answer is known.
func (r *Response) bill() {
	s := &r.Summary
	if saved := r.gateway.saved; saved != nil && s.Usage.Reported {
		s.Bill = saved(s.Provider, s.Model, s.Usage)
		s.Saved = s.Bill.SavedText()
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
