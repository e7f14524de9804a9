package toolserver

import (
	"encoding/json"
	"time"
)

// Definition is a tool as its server says it is, byte for byte. What is offered to models is
// made of it, and what is pinned is its hash.
type Definition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// Hints are the annotations of a definition that say what a call does. They are the server's
// word, and count where it is trusted. A nil pointer is a hint that it does not give.
type Hints struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`
}

// Hints reads the annotations. What cannot be read says nothing.
func (d Definition) Hints() Hints {
	var h Hints
	if len(d.Annotations) == 0 || json.Unmarshal(d.Annotations, &h) != nil {
		return Hints{}
	}
	return h
}

// Listing is what a server says it has.
type Listing struct {
	Tools []Definition // in the server's order
	// TTL is how long the server says that the list holds; 0 if it says nothing.
	TTL time.Duration
	// Refused are tools of the list that cannot be called, and why.
	Refused []Missing
	// Version is that of the protocol, for operators; "" for plain HTTP.
	Version string
}
