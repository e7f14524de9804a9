package gateway

import (
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/prefix"
)

// TargetState is what the gateway knows of a target, for the operator.
type TargetState struct {
	Provider string `json:"provider"`
	// Model is the upstream's name, or "*" for all of the provider's that the
	// configuration does not name.
	Model string `json:"model"`
	// Running is how many requests the target is at work on, for this gateway.
	Running int64 `json:"running"`
	// FirstToken is how long the first useful byte of an answer has taken lately, of whole
	// answers all of it, and Answer how long answers have taken, in seconds: a mean in
	// which those of two minutes ago count for a third. Both are 0 if there was no answer
	// in ten minutes.
	FirstToken float64 `json:"first_token"`
	Answer     float64 `json:"answer"`
	// LastOutcome is how the last attempt ended, "ok" or the error's code, at LastAt; it
	// is "" if there was none.
	LastOutcome string    `json:"last_outcome"`
	LastAt      time.Time `json:"last_at,omitzero"`
	// Breaker is the state of the provider's breaker, and Cooling for how many more
	// seconds the provider wants to be left alone.
	Breaker breaker.State `json:"breaker"`
	Cooling float64       `json:"cooling"`
}

// CacheSnapshot is what the gateway believes to be in the caches of targets.
type CacheSnapshot = prefix.Snapshot
