package metrics

import "github.com/callgate/callgate/gateway/quality"

// together has a target that a route lists several times as one arm: it is one series.
func together(arms []quality.ArmScore) (out []quality.ArmScore) {
	places := map[[3]string]int{}
	for _, a := range arms {
		key := [3]string{a.Provider, a.Model, a.Parser}
		at, known := places[key]
		if !known {
			places[key], out = len(out), append(out, a)
			continue
		}
		all := &out[at]
		if base := all.Base + a.Base; base > 0 {
			all.Factor = (all.Base*all.Factor + a.Base*a.Factor) / base
		}
		all.Base, all.Share = all.Base+a.Base, all.Share+a.Share
	}
	return out
}

func (c *collected) quality(o Options) {
	target := []string{"provider", "model", "parser"}
	c.add(o.Quality != nil, target, func(set setter) {
		for _, t := range o.Quality().Targets {
			if t.Turns > 0 {
				set("callgate_quality_score", "How well a target calls tools, 0 to 1, of its latest turns with a call; the model * stands for all that the configuration does not name.",
					t.Score.Score, t.Provider, t.Model, t.Parser)
				set("callgate_quality_score_turns", "On how many turns the score rests, of all gateways; below 100 nothing is judged by it.",
					float64(t.Turns), t.Provider, t.Model, t.Parser)
			}
		}
	})
	c.add(o.Quality != nil, []string{"provider", "model", "parser", "result"}, func(set setter) {
		for _, t := range o.Quality().Targets {
			turns := func(n uint64, result string) {
				set("callgate_quality_turns_total", "Answers to requests with tools, by what became of their calls: clean, repaired, corrected, unparseable, invalid, unknown_tool, ghost, loop, or not_scored_ and why.",
					float64(n), t.Provider, t.Model, t.Parser, result)
			}
			for result, n := range t.Totals {
				turns(n, result)
			}
			for why, n := range t.NotScored {
				turns(n, "not_scored_"+why)
			}
		}
	})
	c.add(o.Quality != nil, []string{"route", "provider", "model", "parser"}, func(set setter) {
		for _, r := range o.Quality().Routes {
			for _, a := range together(r.Arms) {
				if a.Base > 0 {
					set("callgate_quality_share", "Share of a route's new conversations with tools that a target gets by how it calls, 0 to 1; with quality: report the one that it would get.",
						a.Share, r.Route, a.Provider, a.Model, a.Parser)
					set("callgate_quality_weight_factor", "What has become of a target's weight: its share relative to that of its configured weight.",
						a.Factor, r.Route, a.Provider, a.Model, a.Parser)
				}
			}
		}
	})
	c.add(o.Quality != nil, nil, func(set setter) {
		n := 0
		for _, t := range o.Quality().Tools {
			if !t.Blamed.IsZero() {
				n++
			}
		}
		set("callgate_quality_blamed_tools", "Tools whose calls fail at every upstream, so that their schemas are to blame; GET /admin/quality names them.",
			float64(n))
	})
}
