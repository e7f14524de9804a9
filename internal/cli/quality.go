package cli

import (
	"context"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/quality"
)

// qualityModes are the configuration's words.
var qualityModes = map[string]gateway.Mode{"off": gateway.Off, "report": gateway.Report, "weight": gateway.Repair}

// newQuality makes the book of how targets call tools, which gateways with one Redis share.
func (p *process) newQuality(ctx context.Context, cfg *config.Config) *quality.Book {
	now, _ := ctx.Value(clockKey{}).(func() time.Time)
	book := quality.New(quality.Options{Now: now, Log: p.log, Salt: p.secret})
	if p.shared != nil {
		p.shared.counts = quality.NewSharer(book, quality.StreamOf(p.shared.redis, p.secret), p.secret, time.Duration(cfg.Redis.Interval), p.log)
	}
	return book
}

// clockKey is where a context has the clock of scores, a func() time.Time, for tests: shares change in
// minutes.
type clockKey struct{}

// judgeQuality says what is done about the targets of a route that call tools worse than others.
func judgeQuality(p *flow.RoutePolicy, r *config.ResolvedRoute) {
	p.Quality = qualityModes[r.Quality]
	p.QualitySettings = quality.Settings{Low: r.QualityLow, High: r.QualityHigh, Floor: r.QualityFloor}
}
