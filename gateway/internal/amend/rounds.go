package amend

import (
	"context"
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/loop"
	"github.com/callgate/callgate/gateway/wire"
)

// Rounds is the loop guard: it notices conversations that call tools without an end.
type Rounds struct {
	Action gateway.LoopAction
	Limits gateway.LoopLimits
}

// Apply implements gateway.RequestPolicy.
func (p Rounds) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	if !r.MentionsTools() {
		return a, nil
	}
	seen := loop.Check(r.Ledger(), r.Tools().Names, p.Limits)
	if seen.Rounds == 0 {
		return a, nil
	}
	a.Note = func(n *gateway.Notes) { n.Rounds = &seen }
	if seen.Near {
		a.Warnings = append(a.Warnings, "tool_rounds")
	}
	if seen.Stop == "" {
		return a, nil
	}
	a.Warnings = append(a.Warnings, "tool_loop:"+string(seen.Stop))
	switch p.Action {
	case gateway.LoopRefuse:
		return a, &gateway.Error{Kind: gateway.Looping, Param: "messages", Message: stopText(&seen)}
	case gateway.LoopAnswer:
		if r.OffersTools() {
			a.Edits = []wire.Edit{r.Set(r.Places().ToolChoice, "tool_choice", `"none"`)}
			a.Repairs = map[string]int{"tool_loop": 1}
		}
	}
	return a, nil
}

// stopText says why no further round is allowed.
func stopText(r *gateway.Rounds) string {
	tool := gateway.Excerpt([]byte(r.Tool))
	switch r.Stop {
	case loop.Limit:
		return fmt.Sprintf("The model has called tools in %d rounds since the last message of the user; the limit is %d (max_rounds).", r.Rounds, r.Limit)
	case loop.Calls:
		return fmt.Sprintf("The model has made %d calls of tools since the last message of the user; that is the limit (max_calls).", r.Calls)
	case loop.Oscillation:
		return fmt.Sprintf("The model keeps calling the same tools in turn, most recently %q, without learning anything new (round %d).", tool, r.Rounds)
	}
	return fmt.Sprintf("The model keeps calling tools, most recently %q, without learning anything new (round %d).", tool, r.Rounds)
}

// LastRound tells the model to answer, where Rounds has seen that it calls tools without an
// end. The tools stay in the request, so that the upstream's cache of the conversation stays
// good.
type LastRound struct{}

// Apply implements gateway.RequestPolicy.
func (LastRound) Apply(_ context.Context, r *gateway.Request, at *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	rounds := at.Notes.Rounds
	if rounds == nil || rounds.Stop == "" || !at.Asked.OffersTools() {
		return a, nil
	}
	note := "No further tool calls are possible for this request. Answer with what the results so far say, and say what is missing."
	if rounds.Stop != loop.Limit && rounds.Stop != loop.Calls {
		note = "The last tool calls brought nothing new. " + note
	}
	a.Edits, a.Appended = []wire.Edit{r.Message("user", note)}, 1
	// Some upstreams want a message of the model's behind every result.
	a.Refused = func(e *gateway.Error) bool { return e.Kind == gateway.Rejected }
	return a, nil
}
