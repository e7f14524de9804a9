package run

import (
	"context"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/toolserver"
)

// executor runs the calls of one request, and tells the client of them.
type executor struct {
	caller *caller
	beat   time.Duration
	policy *Policy
	until  time.Time // no call runs longer
	offer  *offer
	ledger *ledger
	sum    *summary
	out    *output
}

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

// running are the tools that run.
func (w *work) running() (names []string) {
	for i, r := range w.ready {
		if w.done[i] == nil && r.tool != nil && !slices.Contains(names, r.tool.Alias) {
			names = append(names, r.tool.Alias)
		}
	}
	return names
}

// stop ends what runs.
func (w *work) stop() {
	w.beat.Stop()
	w.end()
}

// ended is a call that is over, by its place.
type ended struct {
	place int
	done  *done
}

// prepare finds the tool of a call, and checks the arguments.
func (s *executor) prepare(c *call) ready { return s.caller.prepare(c, s.offer, &s.sum.own) }

// needsWord reports whether the client has to agree to a call.
func (s *executor) needsWord(t *toolserver.Tool) bool {
	if t.Approval || s.offer.ask[t.Alias] {
		return true
	}
	if !s.ledger.tainted || t.Effect != toolserver.Writes || s.policy.Taint == TaintOff {
		return false
	}
	s.sum.Warn("tainted_call:" + t.Alias)
	return s.policy.Taint == TaintApprove
}

// run runs what is ready, until all of it is over. The error is that of ctx, if it ended before.
func (s *executor) run(ctx context.Context, w *work) error {
	s.start(ctx, w)
	defer w.stop()
	for w.left > 0 {
		if err := s.wait(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// start runs what is ready.
func (s *executor) start(ctx context.Context, w *work) {
	n := len(w.ready)
	w.done, w.left, w.ended, w.beat = make([]*done, n), n, make(chan ended, n), time.NewTicker(s.beat)
	ctx, w.end = context.WithDeadline(ctx, s.until)
	places := make(chan int, n)
	for i, r := range w.ready {
		s.out.tell(toolEvent(startedEvent, r.call, r.tool))
		places <- i
	}
	close(places)
	for range min(n, s.policy.Parallel) {
		go func() { // it ends with ctx, or soon behind it
			for i := range places {
				w.ended <- ended{i, s.caller.make(ctx, w.ready[i], s.policy)}
			}
		}()
	}
	s.out.comment(w.running())
}

// wait waits until something happens to the calls that run. The error is that of ctx.
func (s *executor) wait(ctx context.Context, w *work) error {
	select {
	case e := <-w.ended:
		w.done[e.place], w.left = e.done, w.left-1
	case <-w.beat.C:
		s.out.comment(w.running())
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // also if a call has ended with it
		return gateway.Ended(ctx)
	}
	for w.told < len(w.done) && w.done[w.told] != nil { // in the order of the calls
		s.over(ctx, w.done[w.told])
		w.told++
	}
	return nil
}

// over cleans and bounds what a call has given, and tells the client.
func (s *executor) over(ctx context.Context, d *done) {
	s.caller.clean(ctx, d, s.offer)
	s.ledger.bound(d)
	s.sum.call(d)
	e := toolEvent(finishedEvent, d.call, d.tool)
	if d.err != nil {
		e.Error = failure{d.err.Kind, d.err.Message}
	} else {
		e.Output = &d.text
		if d.own {
			e.Error = failure{toolserver.Failed, "The tool says that it has failed."}
		}
	}
	s.out.tell(e)
}

// toolEvent is an event of a call. Of an unknown name there is no tool.
func toolEvent(kind string, c *call, t *toolserver.Tool) *event {
	e := &event{Event: kind, ID: c.id, Name: c.name, Arguments: string(c.args)}
	if t != nil {
		e.Server, e.Name = t.Server, t.Name
	}
	return e
}

// left is what the rounds so far and the calls of this one leave behind.
func (s *executor) left(w *work) leftover {
	m := leftover{Before: string(s.ledger.before(s.offer))}
	for _, d := range w.done {
		m.Calls += string(d.call.appendTo(nil)) + ","
		m.Results += "," + string(resultMessage(d.call.id, s.offer.content(d, "")))
	}
	return m
}
