package rollout

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Reading is what parsers made of a text.
type Reading struct {
	Calls           []Call
	Text, Reasoning string
	Failed          bool
}

// The kinds of differences between two readings of one text.
const (
	Equal          = "same"
	MissingCall    = "missing_call" // the live parser reads more calls
	ExtraCall      = "extra_call"   // the other one does
	OtherTool      = "other_tool"
	OtherArguments = "other_arguments"
	OtherText      = "other_text"
	OtherReasoning = "other_reasoning"
	Unread         = "failed" // the other parser has failed
)

// Diff are the kinds in which another reading differs from the live one; Equal alone if in none.
func Diff(live, other Reading) (kinds []string) {
	if other.Failed {
		return []string{Unread}
	}
	switch n, m := len(live.Calls), len(other.Calls); {
	case n > m:
		kinds = append(kinds, MissingCall)
	case n < m:
		kinds = append(kinds, ExtraCall)
	default:
		tools, arguments := same(live.Calls, other.Calls)
		if !tools {
			kinds = append(kinds, OtherTool)
		} else if !arguments {
			kinds = append(kinds, OtherArguments)
		}
	}
	if strings.TrimSpace(live.Text) != strings.TrimSpace(other.Text) {
		kinds = append(kinds, OtherText)
	}
	if strings.TrimSpace(live.Reasoning) != strings.TrimSpace(other.Reasoning) {
		kinds = append(kinds, OtherReasoning)
	}
	if kinds == nil {
		kinds = []string{Equal}
	}
	return kinds
}

// Sample is a text that was read differently, without what it says.
type Sample struct {
	Time    time.Time `json:"time"`
	Request string    `json:"request"`
	Model   string    `json:"model"`
	Kinds   []string  `json:"kinds"`
	Bytes   int       `json:"bytes"`
	// Live and Other are how many calls either has read.
	Live  int `json:"live_calls"`
	Other int `json:"other_calls"`
}

// maxSamples is how many are kept of a rollout, the latest.
const maxSamples = 20

// DiffTally sums up readings.
type DiffTally struct {
	Read    int            `json:"read"`
	Kinds   map[string]int `json:"kinds"`
	Samples []Sample       `json:"samples"`
}

// Add counts a text that both have read.
func (t *DiffTally) Add(kinds []string, s Sample) {
	t.Read++
	if t.Kinds == nil {
		t.Kinds = map[string]int{}
	}
	for _, k := range kinds {
		t.Kinds[k]++
	}
	if slices.Contains(kinds, Equal) {
		return
	}
	if s.Kinds = kinds; len(t.Samples) == maxSamples {
		t.Samples = slices.Delete(t.Samples, 0, 1)
	}
	t.Samples = append(t.Samples, s)
}

func (t *DiffTally) clone() DiffTally {
	out := DiffTally{Read: t.Read, Kinds: maps.Clone(t.Kinds), Samples: slices.Clone(t.Samples)}
	if out.Kinds == nil {
		out.Kinds = map[string]int{}
	}
	if out.Samples == nil {
		out.Samples = []Sample{}
	}
	return out
}
