package answers

import (
	"time"

	"github.com/callgate/callgate/gateway/usage"
)

// Answer is one that was given, and can be given again. It is shared: nobody changes it.
type Answer struct {
	// Provider and Model say who has made it.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Streamed says whether Body is a stream, or one JSON object.
	Streamed    bool   `json:"streamed,omitempty"`
	ContentType string `json:"content_type,omitempty"`
	// Stored is when it was complete.
	Stored time.Time `json:"stored"`
	// Parsers, Repairs and Corrections are what was said of it.
	Parsers     []string       `json:"parsers,omitempty"`
	Repairs     map[string]int `json:"repairs,omitempty"`
	Corrections []Correction   `json:"corrections,omitempty"`
	// Usage is what it took of its upstream. One that an older gateway has stored says nothing of it.
	Usage usage.Usage `json:"usage,omitzero"`
	// Body is what the client got, byte for byte, without comments.
	Body []byte `json:"-"`
}

// Correction is something that the model was told to do better.
type Correction struct {
	Tool   string `json:"tool,omitempty"`
	Reason string `json:"reason"`
}

// Age is how old the answer is. A clock that was set back makes none younger than new.
func (a *Answer) Age(now time.Time) time.Duration { return max(now.Sub(a.Stored), 0) }

// overhead is what an answer takes in memory besides its texts: the struct, its place in
// the list and the map, and the allocator's rounding.
const overhead = 512

// size is how many bytes the answer takes in memory, on the safe side.
func (a *Answer) size() int {
	n := overhead + len(a.Body) + len(a.Provider) + len(a.Model) + len(a.ContentType)
	for _, p := range a.Parsers {
		n += len(p) + 16
	}
	for kind := range a.Repairs {
		n += len(kind) + 64
	}
	for _, c := range a.Corrections {
		n += len(c.Tool) + len(c.Reason) + 32
	}
	return n
}
