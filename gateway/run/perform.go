package run

import (
	"crypto/rand"
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/toolserver"
)

// decide says whose tool a call is of, once for each, and gives one an id that the model has given none.
func (l *loop) decide(c *call) owner {
	if c.id == "" {
		c.id = "call_" + rand.Text()[:24]
		l.asking.sum.own.Fault(repair.BadID)
		l.asking.sum.own.Repaired("id")
	}
	if l.asking.lastBecause == "" && l.executor.offer.own[c.name] && l.executor.offer.find(c.name) == nil {
		return client
	}
	return ours
}

// perform begins to run calls. Those that the client has to agree to are for it to answer.
func (l *loop) perform(mine, theirs []*call) {
	w := &work{theirs: theirs}
	var held []ready
	for _, c := range mine {
		r := l.executor.prepare(c)
		if r.err == nil && l.executor.needsWord(r.tool) {
			held = append(held, r)
			continue
		}
		if r.err == nil && !l.executor.offer.spend() {
			r.err = &toolserver.Error{Kind: toolserver.Denied, Message: noneLeft, Hint: "Answer with what there is."}
		}
		w.ready = append(w.ready, r)
	}
	w.held = len(held) > 0
	for _, r := range held {
		r.call.id = l.runner.sign(l.req.From.Tenant, r.tool.Alias, r.call.args, l.policy.Time.Approval)
		w.theirs = append(w.theirs, r.call)
	}
	if len(w.theirs) == 0 {
		l.out.writer.next(l.turn)
	}
	for _, r := range held {
		l.out.tell(toolEvent(approvalEvent, r.call, r.tool))
	}
	l.work = w
	if l.executor.start(l.ctx, w); w.left == 0 {
		l.collected()
	}
}

// wait waits until something happens to the calls that run.
func (l *loop) wait() {
	if err := l.executor.wait(l.ctx, l.work); err != nil {
		l.stopWork()
		l.err = err
		return
	}
	if l.work.left == 0 {
		l.collected()
	}
}

// stopWork ends what runs.
func (l *loop) stopWork() {
	if l.work != nil {
		l.work.stop()
		l.work = nil
	}
}

// collected goes on where all calls of a round are over.
func (l *loop) collected() {
	w := l.work
	l.stopWork()
	l.executor.ledger.add(w.done)
	if len(w.theirs) > 0 {
		l.handOver(w)
		return
	}
	note, choice := l.asking.judge(&l.policy, l.req, l.executor.ledger.idle)
	messages := append([]byte{','}, l.turn.message(callsOf(w.done))...)
	for i, d := range w.done {
		last := ""
		if i == len(w.done)-1 {
			last = note
		}
		messages = append(append(messages, ','), resultMessage(d.call.id, l.executor.offer.content(d, last))...)
	}
	l.executor.ledger.rounds = append(l.executor.ledger.rounds, round{l.turn, w.done})
	edit, err := appended(l.req, messages)
	if err != nil {
		l.turn = &turn{}
		l.partial(gateway.StopError, err.Error())
		return
	}
	l.req = edited(l.req, edit, choice)
	l.turn = &turn{}
}

func callsOf(list []*done) (calls []*call) {
	for _, d := range list {
		calls = append(calls, d.call)
	}
	return calls
}

// handOver ends the answer with the calls that are for the client, and keeps what ran for when
// it comes back.
func (l *loop) handOver(w *work) {
	stop := gateway.StopClient
	if w.held {
		stop = gateway.StopApproval
	}
	if len(w.done) > 0 || len(l.executor.ledger.rounds) > 0 {
		if err := l.runner.carryover(l.req.From.Tenant).remember(l.ctx, l.req.Reading.Conversation(), l.executor.left(w), w.theirs); err != nil {
			l.asking.sum.Warn("tool_results_forgotten")
			l.runner.o.Log.Warn("the results of tools are not kept for the client's next request", "error", fmt.Sprint(err))
		}
	}
	l.finish(w.theirs, "tool_calls", stop)
}
