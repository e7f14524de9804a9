package plugins

import (
	"context"
	"errors"
	"slices"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/sdk/abi"
)

// Session is one response's use of plugins. It is for one goroutine at a time, and
// Close must be called at its end.
//
// When a guest fails, or is stopped, its instance is dead: all runs that it has
// return the same error, and what is opened later gets a new instance.
type Session struct {
	host   *Host
	table  *table
	closed bool
	leases []*instance // of a module one, or more if many regions are open at once
	first  [2]*instance
	runs   []*Run // that are open
	used   budget
	failed []*parser // that have been counted as failed
}

// CanParse asks a parser about the first bytes of a region; it sees abi.MaxHead of
// them at most. An error is an *Error.
func (s *Session) CanParse(ctx context.Context, parser string, head []byte) (abi.Verdict, error) {
	p, in, err := s.lease(ctx, parser)
	if err != nil {
		return abi.No, err
	}
	v, err := in.canParse(ctx, p.num, head[:min(len(head), abi.MaxHead)])
	if err != nil {
		return abi.No, s.failedCall(p, in, err)
	}
	return v, nil
}

var errQuarantined = fail(KindQuarantined, "quarantined because it kept failing")

// Open gives a region to a parser. The Run must be closed. An error is an *Error.
func (s *Session) Open(ctx context.Context, parser string, opts abi.Options) (*Run, error) {
	p, in, err := s.lease(ctx, parser)
	if err != nil {
		return nil, err
	}
	if in, err = s.room(ctx, p, in); err != nil {
		return nil, p.error(err)
	}
	if limit := s.host.cfg.Limits.Depth; opts.MaxDepth <= 0 || opts.MaxDepth > limit {
		opts.MaxDepth = limit
	}
	r := &Run{s: s, p: p, began: s.used.time}
	in.scratch = abi.AppendOptions(in.scratch[:0], opts)
	if len(in.scratch) > maxOptions {
		return nil, p.error(fail(KindRefused, "its options are longer than %d bytes", maxOptions))
	}
	if r.pass, err = p.breaker.Allow(); err != nil {
		return nil, p.error(errQuarantined)
	}
	r.handle, err = s.openHandle(ctx, in, p.num)
	for err != nil && asFailure(err).kind == KindHandles && s.openRuns(in) > 0 { // another instance may have room
		in.full = true
		other, none := s.room(ctx, p, in)
		if none != nil {
			break
		}
		other.scratch = append(other.scratch[:0], in.scratch...)
		in = other
		r.handle, err = s.openHandle(ctx, in, p.num)
	}
	if err != nil {
		r.pass.Done(s.outcome(p, asFailure(err)))
		s.dropDead(in)
		return nil, p.error(err)
	}
	r.in = in
	p.opened.Add(1)
	if last := len(in.events) - 1; last >= 0 {
		r.events, in.events = in.events[last], in.events[:last]
	}
	s.runs = append(s.runs, r)
	return r, nil
}

// maxLeases is how many instances of a module a session has at most. With as many regions each as an
// instance may have open by default they are enough for all choices of an answer.
const maxLeases = 8

// room finds an instance of the parser's module that may have one more region open: in, another that
// the session has, or a new one.
func (s *Session) room(ctx context.Context, p *parser, in *instance) (*instance, error) {
	has := func(in *instance) bool { return !in.full && s.openRuns(in) < s.host.cfg.Limits.Handles }
	if has(in) {
		return in, nil
	}
	leases := 0
	for _, other := range s.leases {
		if other.mod != p.mod {
			continue
		}
		if leases++; has(other) {
			return other, nil
		}
	}
	if leases >= maxLeases {
		return nil, fail(KindHandles, "%d instances have as many regions open as they may", leases)
	}
	return s.acquire(ctx, p)
}

// openRuns counts the runs of an instance.
func (s *Session) openRuns(in *instance) int {
	n := 0
	for _, r := range s.runs {
		if r.in == in {
			n++
		}
	}
	return n
}

// openHandle opens a handle with the options in in.scratch.
func (s *Session) openHandle(ctx context.Context, in *instance, num int) (int32, error) {
	handle, err := in.open(ctx, num, in.scratch)
	if err != nil {
		return 0, err
	}
	for _, r := range s.runs {
		if r.in == in && r.handle == handle {
			return 0, in.die(fail(KindBadResult, "open returned handle %d, which is in use", handle))
		}
	}
	return handle, nil
}

// maxOptions is how long encoded options may be.
const maxOptions = 1 << 20

// Close ends the runs that are still open and gives the instances back. It may be
// called twice. Nothing is opened after it.
func (s *Session) Close() {
	for len(s.runs) > 0 {
		r := s.runs[len(s.runs)-1]
		r.left = s.host.cfg.Isolation == IsolationReset // which closes the handle
		r.Close()
	}
	for len(s.leases) > 0 {
		s.give(len(s.leases) - 1)
	}
	if !s.closed {
		s.closed = true
		s.host.release(s.table)
	}
}

// Work is how much the guests have worked for the session, in counts of the meter: calls
// of functions, rounds of loops, and bytes that are moved at once. It takes about as long
// as a machine takes for it, but unlike time it is the same on every run. It is for tests
// of plugins.
func (s *Session) Work() int64 {
	work := s.used.work
	for _, in := range s.leases {
		work += in.work()
	}
	return work
}

// lease finds a parser and the session's instance of its module.
func (s *Session) lease(ctx context.Context, name string) (*parser, *instance, error) {
	p, in := s.find(name)
	switch {
	case p == nil:
		return nil, nil, &Error{Parser: name, Kind: KindUnknownParser, Err: errUnknown}
	case p.breaker.State() == breaker.Open:
		return nil, nil, p.error(errQuarantined)
	case in != nil:
		return p, in, nil
	}
	in, err := s.acquire(ctx, p)
	if err != nil {
		return nil, nil, p.error(err)
	}
	return p, in, nil
}

// acquire takes an instance of the parser's module.
func (s *Session) acquire(ctx context.Context, p *parser) (*instance, error) {
	in, err := p.mod.acquire(ctx)
	if err != nil {
		return nil, err
	}
	limits := &s.host.cfg.Limits
	in.setTime(limitedTime{limits.Time, limits.Total, &s.used.time})
	in.beginWork()
	s.leases = append(s.leases, in)
	return in, nil
}

// find looks for a parser, and for an instance of it that the session has already.
func (s *Session) find(name string) (*parser, *instance) {
	p := s.table.byName[name]
	if p == nil {
		return nil, nil
	}
	for _, in := range s.leases {
		if in.mod == p.mod {
			return p, in
		}
	}
	return p, nil
}

// Parsers describes the parsers that the session can use, those with the highest priority
// first.
func (s *Session) Parsers() []Info { return s.table.parsers() }

// Version tells sets of plugins apart: it is another one after every change of what is
// loaded.
func (s *Session) Version() uint64 { return s.table.version }

// Fingerprint stands for the code of all modules that the session can use. Unlike Version it
// is the same in another process with the same modules, and again after a module has come
// and gone. It costs nothing: it is made when the modules change.
func (s *Session) Fingerprint() string { return s.table.fingerprint }

var errUnknown = errors.New("no plugin has it")

// failedCall turns the error of a call outside of a run into an *Error and counts
// it.
func (s *Session) failedCall(p *parser, in *instance, err error) *Error {
	if pass, refused := p.breaker.Allow(); refused == nil {
		pass.Done(s.outcome(p, asFailure(err)))
	}
	s.dropDead(in)
	return p.error(err)
}

// outcome is what a parser's breaker is told of a failure, and why. Only the first one in
// a response counts, and a success after it does not.
func (s *Session) outcome(p *parser, f *failure) (breaker.Outcome, string) {
	switch {
	case slices.Contains(s.failed, p):
		return breaker.Excluded, ""
	case f == nil:
		return breaker.Success, ""
	case !faults[f.kind]:
		return breaker.Excluded, string(f.kind)
	}
	s.failed = append(s.failed, p)
	p.failed.Add(1)
	return breaker.Failure, string(f.kind)
}

// dropDead gives up an instance if it is dead, so that the next Open takes another
// one.
func (s *Session) dropDead(in *instance) {
	if in.dead == nil {
		return
	}
	if i := slices.Index(s.leases, in); i >= 0 {
		s.host.cfg.Log.Debug("plugin instance is thrown away", "plugin", in.mod.name, "error", in.dead.err)
		s.give(i)
	}
}

// give returns a lease.
func (s *Session) give(i int) {
	in := s.leases[i]
	s.leases = slices.Delete(s.leases, i, i+1)
	s.used.work += in.work()
	if len(in.printed.text) > 0 {
		s.host.cfg.Log.Debug("plugin printed", "plugin", in.mod.name,
			"text", in.printed.String(), "more", in.printed.more)
	}
	in.mod.release(context.Background(), in)
}
