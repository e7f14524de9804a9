// Package chain reads the text of a model's answer: it finds where a tool call or
// reasoning may begin, asks the parsers in order, and turns all of it into events.
//
// Text without a trigger never reaches a parser. At a trigger the candidates are
// asked by priority; the first that says yes is fed the region, and what it gives
// back goes to the next one, in the end out as content. The events do not depend
// on how the text was cut.
package chain

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// Fallback is the name of the parser that takes what all others have declined.
const Fallback = "fallback"

// Candidate is a parser that a chain may ask.
type Candidate struct {
	Name      string // what logs and headers call it
	Parser    string // the plugin's name of it; a configured format has another than Name
	Priority  int
	Triggers  []string
	Starts    []string
	Models    []string // globs of model names that ask it first
	Heuristic bool
	Framing   bool // it reads the framing of the answer, also where no tools are offered
	Settings  []abi.Setting
	End       string // the marker that its calls end with, or ""

	anything bool // reads any text at the start of the output
	hinted   bool // it is made for the plan's model
}

// Plan is a set of candidates made ready for scanning. It is built once for a
// target, and shared.
type Plan struct {
	candidates []Candidate // in the order in which they are asked
	fallback   *Candidate
	automaton  *automaton
	literals   map[string]*meaning
	starts     []string // literals that begin a region at the start of the output
	beginnings []string // these and all other literals
	anyStart   bool     // some candidate reads any text at the start of the output
	framing    bool     // some candidate reads the framing of the answer
	reasoning  bool
	auto       bool
}

// PlanOptions say how a plan's candidates were chosen.
type PlanOptions struct {
	Model     string // candidates made for it are asked first
	Reasoning bool   // the markers of reasoning are looked for too
	// Auto says that nobody named the candidates. What they read is then a guess,
	// and text that quotes a call, or a call without its required arguments, is text.
	Auto bool
}

// NewPlan makes a plan. The candidates whose models match the model are asked
// first, then the others, each by priority.
func NewPlan(candidates []Candidate, o PlanOptions) *Plan {
	p := &Plan{reasoning: o.Reasoning, auto: o.Auto}
	for _, c := range candidates {
		if c.Name == Fallback {
			p.fallback = &c
			continue
		}
		if i := slices.Index(c.Starts, ""); i >= 0 {
			c.Starts = slices.Delete(slices.Clone(c.Starts), i, i+1)
			c.anything = !o.Auto || c.hints(o.Model)
			p.anyStart = p.anyStart || c.anything
		}
		c.hinted = c.hints(o.Model)
		p.framing = p.framing || c.Framing
		p.candidates = append(p.candidates, c)
		p.starts = append(p.starts, c.Starts...)
	}
	rank := func(c Candidate) int {
		if c.hinted {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(p.candidates, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Priority, a.Priority))
	})
	p.literals = p.meanings()
	literals := slices.Sorted(maps.Keys(p.literals))
	p.automaton = newAutomaton(literals)
	p.beginnings = slices.Concat(p.starts, slices.DeleteFunc(slices.Clone(literals), func(l string) bool { return p.literals[l].onlyEnds() }))
	return p
}

// hints reports whether the candidate is made for the model. Names are compared
// without case, and a glob's * also crosses the slash of an organisation.
func (c *Candidate) hints(model string) bool {
	flat := strings.NewReplacer("/", "-").Replace(strings.ToLower(model))
	return slices.ContainsFunc(c.Models, func(glob string) bool {
		ok, err := path.Match(strings.ToLower(glob), flat)
		return err == nil && ok
	})
}

// at returns the candidates whose trigger begins the text, in order; start adds
// those that only read the start of the output. A longer trigger comes before a
// shorter one of the same priority.
func (p *Plan) at(text []byte, start bool) []*Candidate {
	var found []*Candidate
	length := func(c *Candidate) int {
		n := longestPrefix(c.Triggers, text)
		if start {
			n = max(n, longestPrefix(c.Starts, text))
		}
		return n
	}
	for i := range p.candidates {
		if c := &p.candidates[i]; length(c) > 0 || start && c.anything {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b *Candidate) int {
		if a.Priority != b.Priority || a.hinted != b.hinted {
			return 0 // the plan's order holds
		}
		return cmp.Compare(length(b), length(a))
	})
	return found
}

// begins reports whether text begins with what begins a region at the start of the output. A mere
// bracket of a tag does so only with a name behind it.
func (p *Plan) begins(text []byte) bool {
	n := longestPrefix(p.starts, text)
	return n > 1 || n == 1 && (text[0] != '<' || len(text) > 1 && text[1] != '/' && isWord(text[1]))
}

func longestPrefix(literals []string, text []byte) int {
	n := 0
	for _, l := range literals {
		if len(l) > n && len(l) <= len(text) && l[0] == text[0] && string(text[:len(l)]) == l {
			n = len(l)
		}
	}
	return n
}
