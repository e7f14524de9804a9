package toolservertest

import (
	"context"
	"sync"
)

// Overdue is a context whose time is over once end is called, be it early or often. A test whose call is to have been
// made before its time is over calls it when the server has the call: no time is long enough on a machine that is
// busy.
func Overdue(ctx context.Context) (late context.Context, end func()) {
	o := &overdue{Context: context.WithoutCancel(ctx), over: make(chan struct{})}
	return o, sync.OnceFunc(func() { close(o.over) })
}

type overdue struct {
	context.Context //nolint:containedctx // it is one

	over chan struct{}
}

// Done implements context.Context.
func (o *overdue) Done() <-chan struct{} { return o.over }

// Err implements context.Context.
func (o *overdue) Err() error {
	select {
	case <-o.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
