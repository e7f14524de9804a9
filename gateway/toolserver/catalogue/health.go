package catalogue

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
)

// samples is how many of the last calls p95 is of.
const samples = 256

// Health is how a server's calls have gone since the start.
type Health struct {
	Calls  int64                     `json:"calls"`
	Errors map[toolserver.Kind]int64 `json:"errors"`
	// P95 is what 95 of 100 of the last 256 calls took at most; 0 if there was none.
	P95       time.Duration `json:"p95_ns"`
	LastError string        `json:"last_error,omitempty"`
	LastAt    time.Time     `json:"last_error_at,omitzero"`
}

type health struct {
	mu     sync.Mutex
	calls  int64
	errors map[toolserver.Kind]int64
	took   []time.Duration // a ring
	last   string
	lastAt time.Time
}

func (h *health) called(took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.took) < samples {
		h.took = append(h.took, took)
	} else {
		h.took[h.calls%samples] = took
	}
	h.calls++
}

func (h *health) failed(e *toolserver.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.errors == nil {
		h.errors = map[toolserver.Kind]int64{}
	}
	h.errors[e.Kind]++
	h.last, h.lastAt = e.Message, time.Now()
}

func (h *health) read() Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := Health{Calls: h.calls, Errors: map[toolserver.Kind]int64{}, LastError: h.last, LastAt: h.lastAt}
	maps.Copy(out.Errors, h.errors)
	if len(h.took) > 0 {
		sorted := slices.Sorted(slices.Values(h.took))
		out.P95 = sorted[(len(sorted)*95+99)/100-1]
	}
	return out
}
