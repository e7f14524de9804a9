package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
)

// work is the calls of a round that run.
type work struct {
	theirs []*call // the client's, and those that need its word
	held   bool    // one of them does
	ready  []ready
	done   []*done // by place; nil as long as a call runs
	left   int     // how many run
	told   int     // how many the client has been told of
	ended  chan ended
	beat   *time.Ticker
	end    context.CancelFunc
}

// ended is a call that is over, by its place.
type ended struct {
	place int
	done  *done
}

// decide says whose tool a call is of.
func (l *loop) decide(c *call) owner {
	if l.asking.last == "" && l.offer.own[c.name] && l.offer.find(c.name) == nil {
		return client
	}
	return ours
}

// sort tells the calls of the turn apart.
func (l *loop) sort() (mine, theirs []*call) {
	for _, c := range l.turn.calls {
		if c.owner == undecided {
			c.owner = l.decide(c)
		}
		if c.id == "" {
			c.id = "call_" + rand.Text()[:24]
		}
		if c.owner == client {
			theirs = append(theirs, c)
		} else {
			mine = append(mine, c)
		}
	}
	return mine, theirs
}

// perform begins to run calls. Those that the client has to agree to are for it to answer.
func (l *loop) perform(mine, theirs []*call) {
	w := &work{theirs: theirs}
	var held []ready
	for _, c := range mine {
		r := l.runner.hands.prepare(c, l.offer, &l.asking.sum.own)
		if r.err == nil && l.needsWord(r.tool) {
			held = append(held, r)
			continue
		}
		if r.err == nil && !l.offer.spend() {
			r.err = &toolserver.Error{Kind: toolserver.Denied, Message: "No further call is made: the request allows as many as there were (max_tool_calls).", Hint: "Answer with what there is."}
		}
		w.ready = append(w.ready, r)
	}
	w.held = len(held) > 0
	for _, r := range held {
		r.call.id = l.runner.sign(l.req.From.Tenant, r.tool.Alias, r.call.args, l.policy.Time.Approval)
		w.theirs = append(w.theirs, r.call)
	}
	if len(w.theirs) == 0 {
		l.writer.next(l.turn)
	}
	for _, r := range held {
		l.tell(toolEvent(approvalEvent, r.call, r.tool))
	}
	l.start(w)
}

// needsWord reports whether the client has to agree to a call.
func (l *loop) needsWord(t *toolserver.Tool) bool {
	if t.Approval || l.offer.ask[t.Alias] {
		return true
	}
	if !l.ledger.tainted || t.Effect != toolserver.Writes || l.policy.Taint == TaintOff {
		return false
	}
	l.asking.sum.Warn("tainted_call:" + t.Alias)
	return l.policy.Taint == TaintApprove
}

// start runs what is ready.
func (l *loop) start(w *work) {
	n := len(w.ready)
	w.done, w.left, w.ended, w.beat = make([]*done, n), n, make(chan ended, n), time.NewTicker(l.runner.o.Beat)
	var ctx context.Context
	ctx, w.end = context.WithDeadline(l.ctx, l.asking.began.Add(l.policy.Time.Run-l.policy.Time.Answer))
	free := make(chan struct{}, l.policy.Parallel)
	for i, r := range w.ready {
		l.tell(toolEvent(startedEvent, r.call, r.tool))
		go func() { // it ends with ctx, or soon behind it
			free <- struct{}{}
			defer func() { <-free }()
			w.ended <- ended{i, l.runner.hands.make(ctx, r, &l.policy)}
		}()
	}
	l.work = w
	l.comment(w)
	if n == 0 {
		l.collected()
	}
}

// wait waits until something happens to the calls that run.
func (l *loop) wait() {
	w := l.work
	select {
	case e := <-w.ended:
		w.done[e.place], w.left = e.done, w.left-1
	case <-w.beat.C:
		l.comment(w)
	case <-l.ctx.Done():
		l.stopWork()
		l.err = gateway.Ended(l.ctx)
		return
	}
	for w.told < len(w.done) && w.done[w.told] != nil { // in the order of the calls
		l.over(w.done[w.told])
		w.told++
	}
	if w.left == 0 {
		l.collected()
	}
}

// stopWork ends what runs.
func (l *loop) stopWork() {
	l.work.beat.Stop()
	l.work.end()
	l.work = nil
}

// comment says which tools run.
func (l *loop) comment(w *work) {
	if l.writer == nil || !l.asking.stream {
		return
	}
	var names []string
	for i, r := range w.ready {
		if w.done[i] == nil && r.tool != nil && !slices.Contains(names, r.tool.Alias) {
			names = append(names, r.tool.Alias)
		}
	}
	if len(names) > 0 {
		l.out.put(&wire.Frame{Raw: []byte(": tool " + strings.Join(names, " ") + "\n\n")})
	}
}

// over cleans and bounds what a call has given, and tells the client.
func (l *loop) over(d *done) {
	l.runner.hands.clean(l.ctx, d, l.offer)
	l.ledger.bound(d)
	l.asking.sum.call(d)
	e := toolEvent(finishedEvent, d.call, d.tool)
	if d.err != nil {
		e.Error = failure{d.err.Kind, d.err.Message}
	} else {
		e.Output = &d.text
		if d.own {
			e.Error = failure{toolserver.Failed, "The tool says that it has failed."}
		}
	}
	l.tell(e)
}

// tell puts an event into the answer, or keeps it until there is one.
func (l *loop) tell(e *event) {
	if l.writer == nil {
		l.ledger.early = append(l.ledger.early, e)
		return
	}
	l.writer.event(e)
}

// toolEvent is an event of a call. Of an unknown name there is no tool.
func toolEvent(kind string, c *call, t *toolserver.Tool) *event {
	e := &event{Event: kind, ID: c.id, Name: c.name, Arguments: string(c.args)}
	if t != nil {
		e.Server, e.Name = t.Server, t.Name
	}
	return e
}

// collected goes on where all calls of a round are over.
func (l *loop) collected() {
	w := l.work
	l.stopWork()
	if l.writer == nil { // approved calls of an earlier request: resume goes on
		return
	}
	l.ledger.add(w.done)
	if len(w.theirs) > 0 {
		l.handOver(w)
		return
	}
	note, choice := l.judge()
	messages := append([]byte{','}, l.turn.message(callsOf(w.done))...)
	for i, d := range w.done {
		last := ""
		if i == len(w.done)-1 {
			last = note
		}
		messages = append(append(messages, ','), resultMessage(d.call.id, l.offer.content(d, last))...)
	}
	l.ledger.rounds = append(l.ledger.rounds, round{l.turn, w.done})
	edit, err := l.appended(messages)
	if err != nil {
		l.turn = &turn{}
		l.partial(gateway.StopError, err.Error())
		return
	}
	l.edit(edit, choice)
	l.turn = &turn{}
}

func callsOf(list []*done) (calls []*call) {
	for _, d := range list {
		calls = append(calls, d.call)
	}
	return calls
}

// judge says whether there may be another round: what the model is to be told, and what
// tool_choice is to be.
func (l *loop) judge() (note, choice string) {
	a := &l.asking
	left, tell := l.policy.left(a.round)
	switch {
	case left <= 0:
		a.last = gateway.StopRounds
	case l.ledger.idle >= l.policy.Idle:
		a.last = gateway.StopIdle
	case time.Since(a.began) >= l.policy.Time.Run-l.policy.Time.Answer:
		a.last = gateway.StopTime
	}
	if a.last != "" {
		return leftNote(0), `"none"`
	}
	if tell {
		note = leftNote(left)
	}
	if c := l.req.Reading.Choice(); c.Required { // else it would call without end
		choice = `"auto"`
	}
	return note, choice
}

// handOver ends the answer with the calls that are for the client, and keeps what ran for when
// it comes back.
func (l *loop) handOver(w *work) {
	stop := gateway.StopClient
	if w.held {
		stop = gateway.StopApproval
	}
	if len(w.done) > 0 || len(l.ledger.rounds) > 0 {
		if err := l.runner.remember(l.ctx, l.req, l.ledger, w, l.offer); err != nil {
			l.asking.sum.Warn("tool_results_forgotten")
			l.runner.o.Log.Warn("the results of tools are not kept for the client's next request", "error", fmt.Sprint(err))
		}
	}
	l.finish(w.theirs, "tool_calls", stop)
}
