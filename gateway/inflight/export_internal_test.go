package inflight

// Taken is how many bytes the claim has.
func (c *Claim) Taken() int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}
