package gateway

import (
	"fmt"

	"github.com/callgate/callgate/gateway/internal/loop"
)

// checkRounds asks the loop guard.
func (a *attempts) checkRounds() error {
	c := a.conduct
	if c.Loop == LoopOff || !a.req.mentionsTools() {
		return nil
	}
	r := loop.Check(a.req.talk(), c.LoopLimits)
	if r.Rounds == 0 {
		return nil
	}
	a.rounds = &r
	if r.Near {
		a.warn("tool_rounds")
	}
	if r.Stop == "" {
		return nil
	}
	a.warn("tool_loop:" + string(r.Stop))
	switch c.Loop {
	case LoopRefuse:
		return &Error{Kind: Looping, Param: "messages", Message: stopText(&r),
			Summary: &Summary{Route: &a.way.RouteChoice, Rounds: &r, Report: a.report(), PrefixChange: a.broken}}
	case LoopAnswer:
		if a.req.OffersTools() {
			a.stopCalling(&r)
		}
	}
	return nil
}

// stopText says why there are no further rounds.
func stopText(r *Rounds) string {
	switch r.Stop {
	case loop.Limit:
		return fmt.Sprintf("The model has called tools in %d rounds since the last message of the user; the limit is %d (max_rounds).", r.Rounds, r.Limit)
	case loop.Oscillation:
		return fmt.Sprintf("The model calls the same tools in turn, the last one being %q, and nothing new comes of it (round %d).", excerpt([]byte(r.Tool)), r.Rounds)
	}
	return fmt.Sprintf("The model calls tools, the last one being %q, and nothing new comes of it (round %d).", excerpt([]byte(r.Tool)), r.Rounds)
}

// stopCalling lets the model answer, and not call a tool any more. The tools stay in
// the request, so that the upstream's cache of the conversation stays good.
func (a *attempts) stopCalling(r *Rounds) {
	note := "No further tool calls are possible for this request. Answer with what the results so far say, and say what is missing."
	if r.Stop != loop.Limit {
		note = "The last tool calls brought nothing new. " + note
	}
	a.remark = note
	a.req = a.req.with(a.req.set(a.req.toolChoice, "tool_choice", `"none"`))
	a.changed("tool_loop")
}
