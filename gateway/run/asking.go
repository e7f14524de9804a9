package run

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// asking is how far the rounds have come.
type asking struct {
	began       time.Time
	resp        *gateway.Response // of the round at hand; nil between two
	header      http.Header       // of the first
	round       int
	lastBecause gateway.ToolStop  // why the answer at hand is the last one; "" if it need not be
	end         func()            // ends the time of the round
	inBand      *wire.Frame       // the error that has ended the round, as the upstream sent it; nil for none
	usage       []json.RawMessage // of the rounds
	sum         *summary
}

// Why a round is cut.
var (
	errSoft = &gateway.Error{Kind: gateway.Timeout, Code: "tool_run_timeout", Message: "The rounds of tools took too long."}
	errHard = &gateway.Error{Kind: gateway.Timeout, Code: "tool_run_timeout", Message: "The last answer took too long."}
)

// ask asks the model. Time that tools have taken is not there any more: a round that has not
// begun to answer when the time for the last answer comes is given up, and one that has is cut
// at the end of all time.
func (a *asking) ask(ctx context.Context, inner Chatter, req *gateway.Request, limits Times) error {
	a.round++
	ctx, cancel := context.WithCancelCause(ctx)
	soft, hard := func() bool { return true }, func() bool { return true }
	if a.round > 1 {
		end := a.began.Add(limits.Run)
		hard = time.AfterFunc(time.Until(end), func() { cancel(errHard) }).Stop
		if a.lastBecause == "" {
			soft = time.AfterFunc(time.Until(end.Add(-limits.Answer)), func() { cancel(errSoft) }).Stop
		}
	}
	a.end = func() {
		soft()
		hard()
		cancel(nil)
	}
	resp, err := inner.Chat(ctx, req)
	soft()
	if err != nil {
		if context.Cause(ctx) == errSoft { // the error is one that the gateway has made of it
			err = errSoft
		}
		a.end()
		return err
	}
	a.resp = resp
	a.sum.begin(resp.Summary)
	return nil
}

// over ends the round's request.
func (a *asking) over() {
	_ = a.resp.Close()
	a.end()
	a.sum.over(a.resp.Summary)
	a.resp = nil
}

// close ends what there is of a round whose answer nobody reads any more.
func (a *asking) close() error {
	if a.end != nil {
		a.end()
	}
	if a.resp == nil {
		return nil
	}
	err := a.resp.Close()
	a.sum.grow(a.resp.Summary)
	return err
}

// judge says whether there may be another round: what the model is to be told, and what
// tool_choice of the request is to be. idle is how many rounds have brought nothing new.
func (a *asking) judge(p *Policy, req *gateway.Request, idle int) (note, choice string) {
	left, tell := p.left(a.round)
	switch {
	case left <= 0:
		a.lastBecause = gateway.StopRounds
	case idle >= p.Idle:
		a.lastBecause = gateway.StopIdle
	case time.Since(a.began) >= p.Time.Run-p.Time.Answer:
		a.lastBecause = gateway.StopTime
	}
	if a.lastBecause != "" {
		return leftNote(0), `"none"`
	}
	if tell {
		note = leftNote(left)
	}
	if c := req.Reading.Choice(); c.Required { // else it would call without end
		choice = `"auto"`
	}
	return note, choice
}
