package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
)

// Status is how a server is, for operators.
type Status struct {
	Name string `json:"name"`
	// Up says that its list is known and not too old.
	Up bool `json:"up"`
	// Problem is why the list could not be had when it was last asked for.
	Problem string `json:"problem,omitempty"`
	// Cause is what lies behind Problem, as far as one knows: how a command ended, what it said last.
	Cause   string    `json:"cause,omitempty"`
	Version string    `json:"protocol,omitempty"` // of the protocol
	Listed  time.Time `json:"listed,omitzero"`    // when the list came
	// Pinned says that tools of it are compared with the lock file.
	Pinned  bool                 `json:"pinned"`
	Tools   []ToolStatus         `json:"tools"`
	Missing []toolserver.Missing `json:"missing"`
	Running int                  `json:"running"` // calls
	Health
}

// Why is the problem with what lies behind it, in a line.
func (s Status) Why() string {
	if strings.Contains(s.Problem, s.Cause) { // some problems say their cause themselves
		return s.Problem
	}
	return strings.TrimSuffix(s.Problem, ".") + ": " + s.Cause
}

// ToolStatus is how a tool is that is offered, or in quarantine.
type ToolStatus struct {
	Alias       string   `json:"alias"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Effect      string   `json:"effect"` // reads, writes or unknown
	Idempotent  bool     `json:"idempotent"`
	Untrusted   bool     `json:"untrusted"`
	Approval    bool     `json:"approval"`
	SHA256      string   `json:"sha256,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
	// Quarantine says why it is not offered, and Diff what has changed; both "" if it is.
	Quarantine string `json:"quarantine,omitempty"`
	Diff       string `json:"diff,omitempty"`
}

var effects = map[toolserver.Effect]string{toolserver.Reads: "reads", toolserver.Writes: "writes", toolserver.Unknown: "unknown"}

// Status is how all servers are, sorted by name. A nil Catalogue has none.
func (c *Catalogue) Status() []Status {
	if c == nil {
		return nil
	}
	v := c.view.Load()
	out := make([]Status, 0, len(c.names))
	for _, name := range c.names {
		out = append(out, c.status(v, c.servers[name]))
	}
	return out
}

func (c *Catalogue) status(v *view, s *server) Status {
	pins := c.locks.of(s.name)
	out := Status{Name: s.name, Pinned: pins != nil && !s.o.Own, Tools: []ToolStatus{}, Missing: []toolserver.Missing{}, Running: len(s.places), Health: s.health.read()}
	s.mu.Lock()
	listing, problem := s.listing, s.problem
	out.Listed = s.listed
	s.mu.Unlock()
	if problem != nil {
		out.Problem, out.Cause = problem.Message, problem.Cause
	}
	out.Missing = append(out.Missing, v.missing[s.name]...)
	if current, _ := s.known(); current == nil || listing == nil {
		return out
	}
	out.Up, out.Version = true, listing.Version
	tools := slices.Clone(s.made(listing))
	slices.SortFunc(tools, func(a, b *tool) int { return byAlias(a.Tool, b.Tool) })
	for _, t := range tools {
		quarantined, changed := v.changed[t.Alias]
		if v.byAlias[t.Alias] != t && (!changed || quarantined.Tool != t.Name) {
			continue // it is among the missing
		}
		st := ToolStatus{Alias: t.Alias, Name: t.Name, Description: t.Description, Effect: effects[t.Effect], Idempotent: t.Idempotent,
			Untrusted: t.Untrusted, Approval: t.Approval, SHA256: t.hash, Warnings: c.warnings(s, t)}
		if changed {
			st.Quarantine, st.Diff = quarantined.Why, pins.diff(t)
		}
		out.Tools = append(out.Tools, st)
	}
	return out
}

// wordy is how long a tool's name must be to be no word that any text may have, such as "read".
const wordy = 5

// warnings are what is suspicious about a tool's words, other servers' tools in them among it.
func (c *Catalogue) warnings(s *server, t *tool) []string {
	out := slices.Clone(t.warnings)
	if _, own := s.o.Descriptions[t.Name]; own || s.o.Own {
		return out
	}
	for _, name := range c.names {
		if name == s.name {
			continue
		}
		other := c.servers[name]
		other.mu.Lock()
		listing := other.listing
		other.mu.Unlock()
		if listing == nil {
			continue
		}
		for _, d := range listing.Tools {
			words := t.Description + "\n" + string(t.Parameters)
			if len(d.Name) >= wordy && mentions(words, d.Name) || mentions(words, toolserver.Alias(name, d.Name)) {
				out = append(out, fmt.Sprintf("its words name the tool %s of the server %s", d.Name, name))
			}
		}
	}
	return out
}
