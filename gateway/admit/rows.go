package admit

import (
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/billing"
)

// Recorder takes the rows of usage; *billing.Book does, and says more of it.
type Recorder interface {
	// Begin notes what an answer uses at least that has not ended, for when the process is killed. Record and
	// Forget end it, by its ID. Nobody needs to call it unless Keeps.
	Begin(r billing.Row)
	Record(r billing.Row)
	Forget(id string)
	Keeps() bool
}

// rows write what the answers to a request have used, a row each.
type rows struct {
	records Recorder // nil: nobody keeps them
	req     *gateway.Request
	ids     ids
	made    int
}

// begun is an answer that has begun: its row is made when it has ended.
type begun struct {
	id               string
	time             time.Time
	provider, served string
	purpose          gateway.Purpose
}

// keeps reports whether rows are told of before they end.
func (r *rows) keeps() bool { return r.records != nil && r.records.Keeps() }

// begin begins an answer.
func (r *rows) begin(provider, model string, why gateway.Purpose) begun {
	r.made++
	b := begun{id: r.ids.row(r.made), provider: provider, served: model, purpose: why}
	if r.keeps() { // else its row has the time of its end alone
		b.time = time.Now()
	}
	return b
}

// row begins the row of an answer.
func (r *rows) row(b *begun, at time.Time, c cost) billing.Row {
	row := billing.Row{ID: b.id, Request: r.req.ID, Time: at, Key: r.req.From.Tenant, Model: r.req.Model, Provider: b.provider, Served: b.served,
		Purpose: string(b.purpose), Nano: c.nano, Priced: c.priced, PriceVersion: c.version}
	if r.req.Routing.Arm != nil {
		row.Arm = r.req.Routing.Arm.String()
	}
	if r.req.Routing.Mirror {
		row.Key, row.Purpose = "", string(gateway.ForMirror)
		return row
	}
	row.Session = r.req.Session()
	if c := r.req.From.Client; c != nil {
		row.Key, row.Team, row.Labels = c.Key, c.Team, c.Labels
	}
	return row
}

// note has the ledger know of an answer that runs, and what it has used at least.
func (r *rows) note(b *begun, in, out int64, c cost) {
	row := r.row(b, b.time, c)
	row.Input, row.Output, row.Estimated = in, out, true
	r.records.Begin(row)
}

// forget ends an answer that has used nothing.
func (r *rows) forget(b *begun) {
	if r.records != nil {
		r.records.Forget(b.id)
	}
}

// end hands over the row of an answer that is over: what counts of it, and what that costs.
func (r *rows) end(b *begun, u *gateway.Use, counted gateway.Usage, estimated bool, c cost) {
	if r.records == nil {
		return
	}
	row := r.row(b, time.Now(), c)
	row.Took = u.Took
	row.Input, row.Cached, row.CacheWrite = int64(counted.Input), int64(counted.CacheRead), int64(counted.WriteShort+counted.WriteLong)
	row.Output, row.Reasoning = int64(counted.Output), int64(counted.Reasoning)
	row.Estimated, row.Tools, row.Status = estimated, u.Tools, u.Status
	r.records.Record(row)
}
