// Package billing keeps what requests have used and cost: an append-only ledger, with roll-ups by
// the hour, retention and export. It knows no request: the gateway's admission hands it rows.
package billing

import "time"

// Row is what one answer of an upstream has used. An answer that was thrown away (a retry of the
// model, a round of tools, a judge) has a row of its own, since its upstream bills it.
type Row struct {
	// ID is the row's own: a row that is written twice counts once. Request is the id of the
	// client's request, which may have several rows.
	ID, Request string
	Time        time.Time
	// Key, Team and Labels are whose request it was.
	Key, Team string
	Labels    map[string]string
	// Session is the conversation that the client names by metadata.session, or "".
	Session string
	// Model is the name that the client asked for; Provider and Served are the target's.
	Model, Provider, Served string
	// Arm is the rollout's arm, as rollout/arm, or "".
	Arm string
	// Purpose is why the upstream was asked: "answer", "reask", "judge", "mirror".
	Purpose string
	// Input has Cached in it, and Output has Reasoning in it. CacheWrite is the part of Input that
	// was written to the upstream's cache.
	Input, Cached, CacheWrite, Output, Reasoning int64
	// Nano is the cost in 10⁻⁹ US dollars, by the prices of PriceVersion. Priced says that the
	// price is known.
	Nano         int64
	Priced       bool
	PriceVersion string
	// Estimated says that the upstream has not reported the usage, or not all of it.
	Estimated bool
	// Tools is how many calls of tools the answer made.
	Tools int
	// Status is how it ended: "ok", "canceled", or the code of its error.
	Status string
	// Took is from the request to the upstream to the end of its answer.
	Took time.Duration
}
