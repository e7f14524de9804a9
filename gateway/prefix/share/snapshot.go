package share

import "time"

// Snapshot is how the sharing goes, for the operator.
type Snapshot struct {
	// Up says that the last exchange has worked.
	Up bool `json:"up"`
	// Error is why it has not: one line, without a password.
	Error string `json:"error,omitzero"`
	// LastPush is when something was written, LastPull when the stream was read to its end.
	LastPush time.Time `json:"last_push,omitzero"`
	LastPull time.Time `json:"last_pull,omitzero"`
	// Lag is how long the oldest batch of the last reading that had any was on its way, in
	// seconds. A gateway that has just begun reads old ones.
	Lag    float64 `json:"lag_seconds"`
	Pushed Pushed  `json:"pushed_batches"`
	Pulled Pulled  `json:"pulled_batches"`
}

// Pushed counts batches that were to be written. One that has failed is tried again.
type Pushed struct {
	OK     uint64 `json:"ok"`
	Failed uint64 `json:"failed"`
}

// Pulled counts batches of others that were read. Foreign are those that are not of a
// gateway with this salt, Version those of gateways of another version; both are let be.
// Failed counts readings and not batches.
type Pulled struct {
	OK      uint64 `json:"ok"`
	Foreign uint64 `json:"foreign"`
	Version uint64 `json:"version"`
	Failed  uint64 `json:"failed"`
}

// Snapshot returns how the sharing goes. It may be called by any goroutine.
func (s *Sharer) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}
