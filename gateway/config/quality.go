package config

import "cmp"

// qualityWeight is the word of [Route.Quality] that changes something.
const qualityWeight = "weight"

// The defaults of bounds, which package quality has.
const (
	defaultQualityLow  = .85
	defaultQualityHigh = .92
)

// fillQuality fills in the keys of quality; numbers stay 0 where nobody has set them.
func (route *Route) fillQuality(own, all Route) {
	route.Quality = cmp.Or(own.Quality, all.Quality, "report")
	if route.Quality == Off {
		return
	}
	route.QualityLow = cmp.Or(own.QualityLow, all.QualityLow)
	route.QualityHigh = cmp.Or(own.QualityHigh, all.QualityHigh)
	route.QualityFloor = cmp.Or(own.QualityFloor, all.QualityFloor)
}

// checkQuality refuses bounds between which no target can come back.
func (c *Config) checkQuality(r *report, p path, own Route) {
	if own.QualityLow == 0 && own.QualityHigh == 0 {
		return
	}
	filled := c.fill(own)
	low, high := cmp.Or(filled.QualityLow, defaultQualityLow), cmp.Or(filled.QualityHigh, defaultQualityHigh)
	if filled.Quality == Off || low < high {
		return
	}
	at := p.Key("quality_high")
	if own.QualityHigh == 0 {
		at = p.Key("quality_low")
	}
	if !r.isBad(at) {
		r.add(at, "quality_low is %v here and quality_high %v, and a target that has lost conversations below the one gets them back above the other: quality_low has to be less", low, high)
	}
}

// checkWeights refuses quality: weight where there is nothing to share.
func (c *Config) checkWeights(r *report, p path, m Model) {
	if m.Quality != qualityWeight || m.Alias != "" {
		return
	}
	lists := [][]Target{m.Targets}
	for _, rule := range m.Rules {
		lists = append(lists, rule.Targets)
	}
	for _, list := range lists {
		taking := 0
		for _, t := range list {
			if t.Weight > 0 {
				taking++
			}
		}
		if taking > 1 || taking == 0 && len(list) > 1 && c.fill(m.Route).Routing == "prefix" {
			return
		}
	}
	r.add(p.Key("quality"), "weight shares the conversations of targets, and here one target alone gets them; give two targets a weight, or write quality: report")
}
