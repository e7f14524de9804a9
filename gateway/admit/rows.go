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

// keeps reports whether rows are told of before they end.
func (r *rows) keeps() bool { return r.records != nil && r.records.Keeps() }

// begin begins the row of an answer.
func (r *rows) begin(row *billing.Row, provider, model string, why gateway.Purpose) {
	r.made++
	*row = billing.Row{ID: r.ids.row(r.made), Request: r.req.ID, Key: r.req.From.Tenant, Model: r.req.Model, Provider: provider, Served: model, Purpose: string(why)}
	if r.records == nil {
		return
	}
	if r.keeps() { // else it has the time of its end alone
		row.Time = time.Now()
	}
	if r.req.Routing.Arm != nil {
		row.Arm = r.req.Routing.Arm.String()
	}
	if r.req.Routing.Mirror {
		row.Key, row.Purpose = "", string(gateway.ForMirror)
		return
	}
	row.Session = r.req.Session()
	if c := r.req.From.Client; c != nil {
		row.Key, row.Team, row.Labels = c.Key, c.Team, c.Labels
	}
}

// note has the ledger know of an answer that runs, and what it has used at least.
func (r *rows) note(row *billing.Row, in, out int64, c cost) {
	row.Input, row.Output, row.Estimated = in, out, true
	row.Nano, row.Priced, row.PriceVersion = c.nano, c.priced, c.version
	r.records.Begin(*row)
}

// forget ends the row of an answer that has used nothing.
func (r *rows) forget(row *billing.Row) {
	if r.records != nil {
		r.records.Forget(row.ID)
	}
}

// end hands over the row of an answer that is over: what counts of it, and what that costs.
func (r *rows) end(row *billing.Row, u *gateway.Use, counted gateway.Usage, estimated bool, c cost) {
	if r.records == nil {
		return
	}
	row.Time, row.Took = time.Now(), u.Took
	row.Input, row.Cached, row.CacheWrite = int64(counted.Input), int64(counted.CacheRead), int64(counted.WriteShort+counted.WriteLong)
	row.Output, row.Reasoning = int64(counted.Output), int64(counted.Reasoning)
	row.Nano, row.Priced, row.PriceVersion = c.nano, c.priced, c.version
	row.Estimated, row.Tools, row.Status = estimated, u.Tools, u.Status
	r.records.Record(*row)
}
