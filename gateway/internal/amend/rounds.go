package amend

import (
	"context"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/loop"
	"github.com/callgate/callgate/gateway/internal/turns"
	"github.com/callgate/callgate/gateway/wire"
)

// Rounds is the loop guard: it notices conversations that call tools without an end.
type Rounds struct {
	Action gateway.LoopAction
	Limits gateway.LoopLimits
	// Turns may be nil where there are no limits in time and money.
	Turns *turns.Book
}

// Apply implements gateway.RequestPolicy.
func (p Rounds) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	if !r.Reading.MentionsTools() && !r.Reading.OffersTools() {
		return a, nil
	}
	turn := p.turn(r)
	if turn != nil {
		a.Note = func(n *gateway.Notes) { n.Turn = turn }
	}
	if !r.Reading.MentionsTools() {
		return a, nil
	}
	seen := loop.Check(r.Reading.Ledger(), r.Reading.Tools().Names, p.Limits)
	if seen.Rounds == 0 {
		return a, nil
	}
	if turn != nil {
		t := turn.Taken()
		seen.Take(t.Time, t.Nano, t.Unpriced, p.Limits)
	}
	a.Note = func(n *gateway.Notes) { n.Rounds, n.Turn = &seen, turn }
	if seen.Taken.Unpriced {
		a.Warnings = append(a.Warnings, "tool_cost_unknown")
	}
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
		if r.Reading.OffersTools() {
			a.Edits = []wire.Edit{r.Body.Set(r.Body.Places().ToolChoice, "tool_choice", `"none"`)}
			a.Repairs = map[string]int{"tool_loop": 1}
		}
	}
	return a, nil
}

// turn is the turn of a request, nil where nobody limits what it takes, and of a copy, which is in none.
func (p Rounds) turn(r *gateway.Request) *turns.Turn {
	if r.Routing.Mirror || p.Turns == nil || p.Limits.Time <= 0 && p.Limits.Nano <= 0 {
		return nil
	}
	w := turns.Whose{Tenant: r.From.Tenant, Session: r.Session()}
	talk := r.Reading.Conversation()
	if last := talk.LastUser(len(talk.Messages)); last >= 0 {
		w.Said = talk.Said(talk.Messages[last])
	}
	var ids []string
	for _, c := range r.Reading.Ledger().Turn() {
		ids = append(ids, c.ID)
	}
	return p.Turns.Find(w, ids)
}

// stopText says why no further round is allowed.
func stopText(r *gateway.Rounds) string {
	tool := gateway.Excerpt([]byte(r.Tool))
	switch r.Stop {
	case loop.Limit:
		return fmt.Sprintf("The model has called tools in %d rounds since the last message of the user; the limit is %d (max_rounds).", r.Rounds, r.Limit)
	case loop.Calls:
		return fmt.Sprintf("The model has made %d calls of tools since the last message of the user; that is the limit (max_calls).", r.Calls)
	case loop.Time:
		return fmt.Sprintf("The model has been calling tools for %s since the last message of the user; the limit is %s (max_loop_time).", r.Taken.Time.Truncate(time.Second), r.Taken.MaxTime)
	case loop.Cost:
		return fmt.Sprintf("The answers since the last message of the user have cost %s US dollars; the limit is %s (max_loop_usd).", gateway.Dollars(r.Taken.Nano), gateway.Dollars(r.Taken.MaxNano))
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
	if rounds == nil || rounds.Stop == "" || !at.Asked.Reading.OffersTools() {
		return a, nil
	}
	note := "No further tool calls are possible for this request. Answer with what the results so far say, and say what is missing."
	if rounds.Stop == loop.Idle || rounds.Stop == loop.Oscillation {
		note = "The last tool calls brought nothing new. " + note
	}
	a.Edits, a.Appended = []wire.Edit{r.Body.Message(note)}, 1
	// Some upstreams want a message of the model's behind every result.
	a.Refused = func(e *gateway.Error) bool { return e.Kind == gateway.Rejected }
	return a, nil
}
