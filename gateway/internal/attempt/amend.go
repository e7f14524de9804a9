package attempt

import (
	"context"
	"reflect"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Amend applies policies to a request, in their order. All edits that leave each other's
// places alone are spliced in at once; a policy whose own would not is asked again with
// those before it spliced in. One that is nil is left out.
func Amend(ctx context.Context, r *gateway.Request, policies []gateway.RequestPolicy, a *gateway.AttemptInfo, done func(place int, a gateway.Amendment)) (*gateway.Request, error) {
	var edits []wire.Edit
	own := 0
	splice := func() {
		if len(edits) > 0 {
			r = r.Edit(edits...)
			r.Body.Appended += own
			edits, own = nil, 0
		}
	}
	for i, p := range policies {
		if p == nil {
			continue
		}
		change, err := p.Apply(ctx, r, a)
		if err == nil && len(edits) > 0 && (change.All || !wire.Disjoint(edits, change.Edits)) {
			splice()
			change, err = p.Apply(ctx, r, a)
		}
		done(i, change)
		if err != nil {
			return nil, err
		}
		edits, own = append(edits, change.Edits...), own+change.Appended
	}
	splice()
	return r, nil
}

// withdrawals are edits of policies that upstreams may refuse, and those that one has refused. Each
// target has policies of its own, so what is refused is told by the policy's kind and the upstream.
type withdrawals struct {
	policies  []gateway.RequestPolicy // of the latest attempt
	sent      []proposal              // with it
	without   map[withdrawal]bool     // policies that are not asked any more
	confirmed func()                  // is called if the upstream answers without
	by        *upstream               // that has refused the latest of them
}

// proposal is an edit that may be refused.
type proposal struct {
	kind reflect.Type // of the policy that made it
	edit gateway.Amendment
}

// withdrawal is a policy that an upstream has refused.
type withdrawal struct {
	kind reflect.Type
	by   *upstream
}

// left are the policies that an upstream has not refused, each in its place.
func (w *withdrawals) left(policies []gateway.RequestPolicy, by *upstream) []gateway.RequestPolicy {
	w.policies, w.sent = policies, w.sent[:0]
	if len(w.without) == 0 {
		return policies
	}
	left := slices.Clone(policies)
	for i, p := range left {
		if w.without[withdrawal{reflect.TypeOf(p), by}] {
			left[i] = nil
		}
	}
	return left
}

// note takes note of what a policy has changed.
func (w *withdrawals) note(place int, a gateway.Amendment) {
	if a.Refused != nil {
		w.sent = append(w.sent, proposal{reflect.TypeOf(w.policies[place]), a})
	}
}

// take takes the edits back that a refusal may be about, the last of a policy's that it fits.
// warning is what is said of that.
func (w *withdrawals) take(e *gateway.Error, by *upstream) (warning string, ok bool) {
	for i := len(w.sent) - 1; i >= 0; i-- {
		if p := &w.sent[i]; p.edit.Refused(e) {
			if w.without == nil {
				w.without = map[withdrawal]bool{}
			}
			w.without[withdrawal{p.kind, by}] = true
			w.confirmed, w.by = p.edit.Confirmed, by
			return p.edit.Warning, true
		}
	}
	return "", false
}

// confirm notes that an upstream has answered: if it is the one that refused the edits, they
// were at fault, and not what a client made it say.
func (w *withdrawals) confirm(u *upstream) {
	if w.confirmed != nil && u == w.by {
		w.confirmed()
	}
}
