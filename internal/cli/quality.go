package cli

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/quality"
)

// qualityModes are the configuration's words.
var qualityModes = map[string]gateway.Mode{"off": gateway.Off, "report": gateway.Report, "weight": gateway.Repair}

// newQuality makes the book of how targets call tools, which gateways with one Redis share.
func (p *process) newQuality() *quality.Book {
	book := quality.New(quality.Options{Log: p.log, Salt: p.secret})
	if p.shared != nil {
		p.shared.counts = quality.NewSharer(book, quality.StreamOf(p.shared.redis, p.secret), p.secret, p.log)
	}
	return book
}

// judgeQuality says what is done about the targets of a route that call tools worse than others.
func judgeQuality(p *flow.RoutePolicy, r *config.ResolvedRoute) {
	p.Quality = qualityModes[r.Quality]
	p.QualitySettings = quality.Settings{Low: r.QualityLow, High: r.QualityHigh, Floor: r.QualityFloor}
}
