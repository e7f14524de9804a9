package limit

import "context"

// Extend implements Limiter.
func (b *Batches) Extend(ctx context.Context, l *Lease, holds Holds, force bool) (Verdict, error) {
	o := l.batch
	if o == nil {
		v, err := b.shared.Extend(ctx, l, holds, force)
		if v.Refusal != nil && err == nil && b.giveBack(l.set.group) {
			v, err = b.shared.Extend(ctx, l, holds, force)
		}
		return v, err
	}
	more := &ask{of: l, to: holds.bounded().only(l.set), now: b.shared.now()}
	b.mu.Lock()
	if l.over {
		b.mu.Unlock()
		return Verdict{}, errOver
	}
	if more.fits(o.free()) {
		defer b.mu.Unlock()
		o.change(l, more.to, more.now)
		return o.verdict(more.now), nil
	}
	if force { // it has it whatever the Redis says
		o.change(l, more.to, more.now)
		b.mu.Unlock()
		return b.grow(ctx, o, nil, true)
	}
	o.asked = o.asked.plus(more.beyond()) // nobody else takes it
	b.mu.Unlock()
	return b.ask(ctx, o, more)
}

// ask asks the Redis for what a request of a batch would like to have. One that is refused has what it had, and what it has used.
func (b *Batches) ask(ctx context.Context, o *batch, more *ask) (Verdict, error) {
	l := more.of
	v, err := b.grow(ctx, o, more, false)
	if v.Refusal != nil && err == nil && b.giveBack(l.set.group) {
		v, err = b.grow(ctx, o, more, false)
	}
	if v.Refusal == nil && err == nil {
		return v, nil
	}
	b.mu.Lock()
	o.asked = o.asked.minus(more.beyond())
	o.change(l, Holds{Hold: l.own.Hold.Most(more.to.Used), Used: more.to.Used}, more.now)
	lacks := o.lacks()
	b.mu.Unlock()
	if lacks && err == nil { // what was used is used, though there is no room for it; if the Redis is not told now, it is soon
		_, _ = b.grow(ctx, o, nil, true)
	}
	return v, err
}

// ask is what a request asks for that wants to hold more than its batch has free, unless there is no room. Until the Redis has said that there is,
// the request has what it had: a batch that is told of for another reason does not hold it.
type ask struct {
	of  *Lease
	to  Holds
	now int64 // when it was asked for, µs
}

// beyond is how much more that is.
func (a *ask) beyond() Amount {
	more := a.to.Hold.minus(a.of.own.Hold)
	return more.Most(Amount{})
}

// fits reports whether there is that much; who wants no more has room.
func (a *ask) fits(free Amount) bool {
	more := a.beyond()
	return more.Tokens <= max(free.Tokens, 0) && more.Nano <= max(free.Nano, 0)
}

// grow has a batch hold what its requests have taken, and what one asks for; nil is nothing.
func (b *Batches) grow(ctx context.Context, o *batch, more *ask, force bool) (Verdict, error) {
	o.telling.Lock()
	defer o.telling.Unlock()
	b.mu.Lock()
	w := o.wants(o.held.Most(o.needs()), o.slots)
	if more != nil {
		w.Hold = o.held.Most(o.needs().plus(more.beyond()))
		w.Used = w.Used.plus(more.to.Used.minus(more.of.own.Used))
		w.Holds = w.bounded()
	}
	o.lease.floors = nil // nothing is given back
	b.mu.Unlock()
	v, found, err := b.shared.extend(ctx, o.lease, w, 0, force)
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.note(found, w.Used, err); err != nil || v.Refusal != nil && !force {
		return v, err
	}
	if o.held = w.Hold; more != nil {
		o.asked = o.asked.minus(more.beyond())
		o.change(more.of, more.to, more.now)
	}
	return v, nil
}

// note notes what the Redis was told of, and has said; with an error nobody knows whether it has heard.
func (o *batch) note(found seen, used Amount, err error) {
	if err != nil {
		o.told = 0
		return
	}
	o.seen, o.told, o.said = found, found.at, used
}
