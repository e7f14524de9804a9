package demo

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	limitWindow = time.Minute // for which a request is known to have been limited
	maxLimited  = 1024        // requests that are known; the oldest is forgotten
)

// memory is what the demo remembers between requests. All other of its answers
// follow from the request alone.
type memory struct {
	mu      sync.Mutex
	limited map[[sha256.Size]byte]bool
	order   []limited // those in limited, the oldest first
	odds    bool      // the last request of the model flaky was an odd one
}

type limited struct {
	body [sha256.Size]byte
	at   time.Time
}

// first says whether a request with this body is the first one within the window,
// which begins with it.
func (m *memory) first(body []byte, now time.Time) bool {
	sum := sha256.Sum256(body)
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.order) > 0 && now.Sub(m.order[0].at) >= limitWindow {
		m.forget()
	}
	if m.limited[sum] {
		return false
	}
	if len(m.order) == maxLimited {
		m.forget()
	}
	if m.limited == nil {
		m.limited = map[[sha256.Size]byte]bool{}
	}
	m.limited[sum] = true
	m.order = append(m.order, limited{sum, now})
	return true
}

// forget drops the oldest request.
func (m *memory) forget() {
	delete(m.limited, m.order[0].body)
	m.order = m.order[1:]
}

// odd says whether this is the first of two requests.
func (m *memory) odd() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.odds = !m.odds
	return m.odds
}
