package console

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/quality"
)

// qualityData is what the page of quality shows.
type qualityData struct {
	Targets []qualityTarget
	Tools   []qualityTool
	Routes  []quality.RouteScore
	Share   *quality.Shared
	Left    int // arms that were left, and Blamed tools
	Blamed  int
}

type qualityTarget struct {
	quality.TargetScore
	State             State
	Failed, NotScored string
}

type qualityTool struct {
	quality.ToolScore
	State  State
	Failed string
	At     string // where it does how well
}

// quality shows how well targets and tools do, and how requests are shared because of that.
func (c *Console) quality(w http.ResponseWriter, _ *http.Request) error {
	s := c.o.Quality()
	d := qualityData{Routes: s.Routes, Share: s.Share}
	for _, t := range s.Targets {
		d.Targets = append(d.Targets, qualityTarget{t, scoreState(t.Score), kinds(t.Results), kinds(t.NotScored)})
	}
	for _, t := range s.Tools {
		row := qualityTool{ToolScore: t, State: scoreState(t.Score), Failed: kinds(t.Results)}
		if !t.Blamed.IsZero() {
			row.State = State{Bad, "its schema"}
			d.Blamed++
		}
		var at []string
		for _, target := range t.Targets {
			at = append(at, fmt.Sprintf("%s/%s %s of %d", target.Provider, target.Model, percent(target.Score), target.Calls))
		}
		row.At = strings.Join(at, ", ")
		d.Tools = append(d.Tools, row)
	}
	for _, r := range s.Routes {
		for _, a := range r.Arms {
			if a.Left {
				d.Left++
			}
		}
	}
	return c.show(w, http.StatusOK, "quality", page{Title: "Quality", Current: qualityPath, Live: true, Data: d})
}

// scoreState says how good a score is, if there are enough turns to say so.
func scoreState(s quality.Score) State {
	switch {
	case s.Turns == 0:
		return State{Fair, "nothing lately"}
	case !s.Enough:
		return State{Fair, "too few to tell"}
	case s.Score < quality.DefaultLow:
		return State{Bad, "poor"}
	case s.Score < quality.DefaultHigh:
		return State{Fair, "middling"}
	}
	return State{Good, "good"}
}

// kinds writes counts without those of what is clean, the largest first.
func kinds[N int | uint64](counts map[string]N) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return int(counts[b]) - int(counts[a])
		}
		return strings.Compare(a, b)
	})
	var out []string
	for _, name := range names {
		if name != quality.Clean.String() {
			out = append(out, fmt.Sprintf("%d %s", counts[name], strings.ReplaceAll(name, "_", " ")))
		}
	}
	return strings.Join(out, ", ")
}
