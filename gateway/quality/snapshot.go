package quality

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot is what a book knows, for the operator.
type Snapshot struct {
	Targets []TargetScore `json:"targets"`
	Tools   []ToolScore   `json:"tools"`
	Routes  []RouteScore  `json:"routes"`
	// Share is how the counts of other gateways come; nil without any.
	Share *Shared `json:"share,omitempty"`
}

// Score is a score of the latest turns, with its interval of 99 %.
type Score struct {
	// Score is 0 to 1. It is nothing if Turns is 0.
	Score float64 `json:"score"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Turns int     `json:"turns"`
	// Enough says that there are enough turns to judge by.
	Enough bool `json:"enough"`
	// Results are the turns by their result, those that there were.
	Results map[string]int `json:"results"`
}

// TargetScore is that of a target. Calls of tools that are to blame are not in it, and are among the
// Results.
type TargetScore struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Parser   string `json:"parser"`
	Score
	// Totals are turns by result, and NotScored those that are not scored by why, of this gateway and
	// since its start.
	Totals    map[string]uint64 `json:"totals"`
	NotScored map[string]uint64 `json:"not_scored"`
}

// ToolScore is that of a tool, over all targets.
type ToolScore struct {
	Tool   string `json:"tool"`
	Schema string `json:"schema"` // a hash
	Score
	// Blamed is since when its schema is to blame; nothing if it is not.
	Blamed  time.Time    `json:"blamed,omitzero"`
	Targets []ToolTarget `json:"targets"`
}

// ToolTarget is the score of a tool at a target.
type ToolTarget struct {
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Parser   string  `json:"parser"`
	Score    float64 `json:"score"`
	Calls    int     `json:"calls"`
}

// RouteScore is how the requests of a route are shared.
type RouteScore struct {
	Route string `json:"route"`
	// Applied says that new conversations are sent by the shares; else they are what it would do.
	Applied bool       `json:"applied"`
	Arms    []ArmScore `json:"arms"`
}

// ArmScore is an arm of a route. Shares are 0 to 1: by the operator's weights, and now; Factor is what
// has become of the weight.
type ArmScore struct {
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	Parser   string  `json:"parser"`
	Base     float64 `json:"base_share"`
	Share    float64 `json:"share"`
	Factor   float64 `json:"factor"`
	Left     bool    `json:"left"`
}

// Snapshot returns what is known now. It takes longer than what requests do.
func (b *Book) Snapshot() Snapshot {
	now := b.o.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := Snapshot{Targets: []TargetScore{}, Tools: []ToolScore{}, Routes: []RouteScore{}}
	oldest := slotOf(now) - uint32(maxAge/bucketTime)
	tools := make([]counts, len(b.tools.seen))
	at := make([][]ToolTarget, len(b.tools.seen))
	for _, r := range b.targets {
		r.window.trim(oldest)
		s := r.window.sums()
		t := TargetScore{Provider: r.target.Provider, Model: r.target.Model, Parser: r.target.Parser,
			Score: scoreOf(overall(s, b.isBlamed), s[wholeTurn]), Totals: map[string]uint64{}, NotScored: map[string]uint64{}}
		for i, n := range r.results {
			if n > 0 {
				t.Totals[Result(i).String()] = n
			}
		}
		for i, n := range r.excuses {
			if n > 0 {
				t.NotScored[Excuse(i).String()] = n
			}
		}
		out.Targets = append(out.Targets, t)
		for n, c := range s {
			if n >= firstTool && n != allCalls {
				tools[n-firstTool].add(c)
				at[n-firstTool] = append(at[n-firstTool], ToolTarget{t.Provider, t.Model, t.Parser, round(c.score()), int(c.n())})
			}
		}
	}
	for i := range tools {
		if c := &tools[i]; c.n() > 0 {
			tool := b.tools.seen[i].Tool
			slices.SortFunc(at[i], func(x, y ToolTarget) int {
				return cmp.Or(cmp.Compare(x.Score, y.Score), cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.Model, y.Model), cmp.Compare(x.Parser, y.Parser))
			})
			out.Tools = append(out.Tools, ToolScore{Tool: tool.Name, Schema: tool.hash(), Score: scoreOf(estimated(c.score(), float64(c.n())), c),
				Blamed: b.tools.blamed[uint16(i)+firstTool], Targets: at[i]})
		}
	}
	slices.SortFunc(out.Targets, func(x, y TargetScore) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.Model, y.Model), cmp.Compare(x.Parser, y.Parser))
	})
	slices.SortFunc(out.Tools, func(x, y ToolScore) int {
		return cmp.Or(cmp.Compare(x.Score.Score, y.Score.Score), cmp.Compare(x.Tool, y.Tool), cmp.Compare(x.Schema, y.Schema))
	})
	for _, name := range sortedNames(b.groups) {
		out.Routes = append(out.Routes, b.groups[name].snapshot())
	}
	out.Share = b.shared
	if b.shared != nil {
		copied := *b.shared
		out.Share = &copied
	}
	return out
}

func (g *Group) snapshot() RouteScore {
	r := RouteScore{Route: g.name, Applied: g.settings.Apply}
	for i := range g.arms {
		a := &g.arms[i]
		factor := 1.0
		if a.base > 0 {
			factor = a.share / a.base
		}
		r.Arms = append(r.Arms, ArmScore{a.Provider, a.Model, a.Parser, round(a.base), round(a.share), round(factor), a.demoted})
	}
	return r
}

func scoreOf(e estimate, c *counts) Score {
	s := Score{Score: round(e.score), Low: round(e.low), High: round(e.high), Turns: int(e.n), Enough: e.n >= enoughTurns, Results: map[string]int{}}
	if c != nil {
		for i, n := range c {
			if n > 0 {
				s.Results[Result(i).String()] = int(n)
			}
		}
	}
	return s
}
