package limit

import "time"

// leases are the holds of a limit. They are a list through the holds themselves, which are parts of their leases: to come
// and to go costs neither memory nor a look-up.
type leases struct {
	first *hold
	n     int64
	due   int64 // nothing expires before, µs
}

// hold is what a request holds of one limit: of a budget an amount, else that it runs. An expired one of a budget holds
// nothing, and used was added to what is spent; it is in the list a while longer.
type hold struct {
	of           *leases // nil: of none
	next, before *hold
	amount, used int64
	expires      int64 // µs
	expired      bool
}

// longest is how far ahead anything expires, in µs.
const longest = int64((Life + grave) / time.Microsecond)

// isDue reports whether something may expire, the first at a time; also if the clock was put back.
func isDue(due, now int64) bool { return due <= now || due > now+longest }

// renew has a hold live anew. One that is not in the list comes into it.
func (l *leases) renew(h *hold, now int64) {
	if h.of == nil {
		if h.of, h.next = l, l.first; l.first != nil {
			l.first.before = h
		}
		l.first = h
		l.n++
	}
	h.expires = now + Life.Microseconds()
	l.due = min(l.due, h.expires)
}

// remove takes a hold out of the list that it is in.
func (l *leases) remove(h *hold) {
	if h.before != nil {
		h.before.next = h.next
	} else {
		l.first = h.next
	}
	if h.next != nil {
		h.next.before = h.before
	}
	h.of, h.next, h.before = nil, nil, nil
	l.n--
}

// end takes the hold out of its list, if it is in one.
func (h *hold) end() {
	if h.of != nil {
		h.of.remove(h)
	}
}

// expire calls over for the holds whose time is over, if there may be any: it takes them away, or has them live on.
func (l *leases) expire(now int64, over func(*hold)) {
	if !isDue(l.due, now) {
		return
	}
	l.due = now + longest
	for h := l.first; h != nil; {
		next := h.next
		if h.expires > now+longest {
			h.expires = now + Life.Microseconds()
		}
		if h.expires <= now {
			over(h)
		}
		if h.of != nil {
			l.due = min(l.due, h.expires)
		}
		h = next
	}
}

// hold is what the lease holds of a limit that is no rate, by the limit's place in the set.
func (l *Lease) hold(i int) *hold { return &l.holds[l.set.slots[i]] }

// newLease makes a lease with so many holds: mostly they have their place beside it.
func newLease(holds int) *Lease {
	l := &struct {
		Lease
		room [4]hold
	}{}
	if l.holds = l.room[:min(holds, len(l.room))]; holds > len(l.room) {
		l.holds = make([]hold, holds)
	}
	return &l.Lease
}
