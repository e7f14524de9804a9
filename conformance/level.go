package conformance

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Level says who demands something. A target passes a case at a level if it keeps what that
// level and those before it demand there.
type Level string

// The levels. Core is what clients cannot do without, and has a source outside of this
// repository. Exact, "strict", is that nothing is changed that need not be: bytes, framing, the
// spelling of numbers, white space. Own, "callgate", is this project's conventions: which code, which
// header, what is repaired and how.
const (
	Core  Level = "core"
	Exact Level = "strict"
	Own   Level = "callgate"
)

// Levels are all levels, the most basic first.
func Levels() []Level { return []Level{Core, Exact, Own} }

// ParseLevel reads a level's name; "" is the last, which is everything.
func ParseLevel(name string) (Level, error) {
	if name == "" {
		return Own, nil
	}
	if l := Level(name); slices.Contains(Levels(), l) {
		return l, nil
	}
	return "", fmt.Errorf("there is no level %q: there are core, strict and callgate", name)
}

func (l Level) rank() int { return slices.Index(Levels(), l) }

// within reports whether l is m or before it.
func (l Level) within(m Level) bool { return l.rank() <= m.rank() }

// atLeast is l, or m if that is behind it.
func (l Level) atLeast(m Level) Level {
	if l.within(m) {
		return m
	}
	return l
}

// Fault is what is wrong with an exchange, and who says so.
type Fault struct {
	Level Level  `json:"level"`
	Text  string `json:"fault"`
	rule  string // for every answer, that is broken; see formRules
}

// String is the text, with the level where that is not the first.
func (f Fault) String() string {
	if f.Level == Core || f.Level == "" {
		return f.Text
	}
	return "[" + string(f.Level) + "] " + f.Text
}

// blame makes faults of texts.
func (l Level) blame(texts ...string) (faults []Fault) {
	for _, t := range texts {
		faults = append(faults, Fault{Level: l, Text: t})
	}
	return faults
}

// grade makes faults of what differs: another value is at fault at l, another spelling of
// the same not before Exact, and a member that nobody asked for at added; "" is never.
func (l Level) grade(found []finding, added Level) (faults []Fault) {
	for _, f := range found {
		switch {
		case f.kind == isChanged:
			faults = append(faults, Fault{Level: l, Text: f.text})
		case f.kind == isSpelled:
			faults = append(faults, Fault{Level: l.atLeast(Exact), Text: f.text})
		case added != "":
			faults = append(faults, Fault{Level: l.atLeast(added), Text: f.text})
		}
	}
	return faults
}

// faulty reports whether there is a fault at l or before it.
func faulty(faults []Fault, l Level) bool {
	return slices.ContainsFunc(faults, func(f Fault) bool { return f.Level.within(l) })
}

// Beyond is what a level above a case's own demands of the same exchange.
type Beyond struct {
	Level Level
	Rule  string // what is broken where it fails
	Want  Want   // the case's, with what this level says otherwise
}

// demands reports whether a case has something to fail at a level by itself.
func (c *Case) demands(l Level) bool {
	if c.Level == l || slices.ContainsFunc(c.Beyond, func(b Beyond) bool { return b.Level == l }) {
		return true
	}
	if !c.Level.within(l) {
		return false
	}
	w := &c.Want
	switch l {
	case Core:
	case Exact: // the spelling of what is compared as values
		return w.spells()
	case Own: // how finely a stream is cut, how it breaks, and who refuses a request
		return w.Stream != nil || w.Deltas > 0 || w.StreamError != nil || c.silent() && w.Requests == nil
	}
	return false
}

// spells reports whether something is wanted that can be said in several ways.
func (w *Want) spells() bool {
	upstream := w.RawUpstream != nil || w.Upstream != nil
	data := w.Body != nil || w.Frames != nil || w.RawBody != nil || w.RawData != nil
	return upstream || data || w.Answers != nil || w.Error != nil || w.StreamError != nil
}

// allWants are what the levels want, the most basic first.
func (c *Case) allWants() []Beyond {
	return append([]Beyond{{c.Level, c.Rule, c.Want}}, c.Beyond...)
}

// RuleAt is the rule that a case breaks which fails at a level.
func (c *Case) RuleAt(l Level) string {
	for _, b := range c.Beyond {
		if b.Level == l {
			return b.Rule
		}
	}
	return c.Rule
}

//go:embed sources.txt
var sourcesFile string

// Sources are the places outside of this repository that demand what the rules of Core say,
// by the names under which cases cite them.
func Sources() map[string]string {
	sources := map[string]string{}
	for line := range lines([]byte(sourcesFile)) {
		if key, text, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			sources[key] = text
		}
	}
	return sources
}

// Citations are the sources of a case in full.
func (c *Case) Citations() (texts []string) {
	all := Sources()
	for _, key := range c.Sources {
		if text := all[key]; text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
