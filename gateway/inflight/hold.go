package inflight

// step is in how large steps a hold claims. What is less than one is not counted: most answers
// hold a few frames, and often.
const step = 16 << 10

// Hold is what of a claim somebody has for memory that grows and shrinks by small amounts. The
// zero Hold has no bound. It is used by one goroutine.
type Hold struct {
	Of *Claim

	taken int64
}

// Fit makes the hold one of n bytes, in steps. The error is that of [Claim.Grow], and then the
// hold stays as it is.
func (h *Hold) Fit(n int) error {
	if h.Of == nil {
		return nil
	}
	want := int64(n - n%step)
	if want < h.taken {
		h.Of.Shrink(h.taken - want)
	} else if err := h.Of.Grow(want - h.taken); err != nil {
		return err
	}
	h.taken = want
	return nil
}
