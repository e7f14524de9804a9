package store

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Errors of all stores, to be told apart by errors.Is. Others are faults of the disk or of
// the server.
var (
	// ErrNotFound is for what is not there, for this tenant.
	ErrNotFound = errors.New("store: not found")
	// ErrTooLong is for a chain with more responses or bytes than its bounds.
	ErrTooLong = errors.New("store: the chain is too long")
	// ErrInConversation is for a chain with a response of a conversation: what was before it
	// is there, and not in the chain.
	ErrInConversation = errors.New("store: a response of the chain is in a conversation")
	// ErrTooLarge is for a response, a conversation or a set of items that is larger than
	// Limits.Record.
	ErrTooLarge = errors.New("store: the record is too large")
	// ErrFull is for what finds no room although the tenant has no response left to give
	// up for it: its conversations take all.
	ErrFull = errors.New("store: there is no room")
	// ErrAway is for a database that cannot be reached now, and may be later.
	ErrAway = errors.New("store: the database is away")
)

// Limits bound a store. The response that was not used for the longest time makes room: one
// of the tenant that is beyond its own bound, or, beyond that of all, of the tenant with the
// most bytes.
type Limits struct {
	// Bytes and Entries are for all tenants together. Entries are responses and
	// conversations.
	Bytes, Entries int64
	// TenantBytes and TenantEntries are for each. Zero is as many as for all.
	TenantBytes, TenantEntries int64
	// Record is the largest response, and the most bytes that are added to a conversation
	// at once. Zero is MaxRecord.
	Record int
}

// MaxRecord is the default of Limits.Record.
const MaxRecord = 4 << 20

// Options are what every store takes.
type Options struct {
	// TTL is how long a response is kept after it was last used.
	TTL    time.Duration
	Limits Limits
	// Now is the time; nil is time.Now. For tests.
	Now func() time.Time
	// Log hears of what no caller is told: locks that cannot be kept fresh, and room that cannot be made. nil is nowhere.
	Log *slog.Logger
}

// Complete fills in the defaults and checks the rest.
func (o Options) Complete() (Options, error) {
	l := &o.Limits
	if o.TTL < time.Second || l.Bytes < 1 || l.Entries < 1 {
		return o, fmt.Errorf("store: it needs a time to live of a second or more, and bounds; got %v, %d bytes, %d entries", o.TTL, l.Bytes, l.Entries)
	}
	l.TenantBytes, l.TenantEntries = cmp.Or(l.TenantBytes, l.Bytes), cmp.Or(l.TenantEntries, l.Entries)
	l.TenantBytes, l.TenantEntries = min(l.TenantBytes, l.Bytes), min(l.TenantEntries, l.Entries)
	l.Record = cmp.Or(l.Record, MaxRecord)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Clock is the time that rows have: milliseconds since 1970, which is what every store can
// keep.
func (o Options) Clock() int64 { return o.Now().UnixMilli() }

// Stamp fills in a response's times, and returns them as Clock does.
func (o Options) Stamp(r *Response) (created, expires int64) {
	now := o.Clock()
	created, expires = now, now+o.TTL.Milliseconds()
	if !r.Created.IsZero() {
		created = r.Created.UnixMilli()
	}
	if !r.Expires.IsZero() {
		expires = r.Expires.UnixMilli()
	}
	return created, expires
}

// Prolonged is when a response expires that is used now, and the time before which one must
// expire for that to be written: a use is noted once a thirtieth of the time to live, which
// is a day of a month.
func (o Options) Prolonged() (expires, ifBefore int64) {
	expires = o.Clock() + o.TTL.Milliseconds()
	return expires, expires - o.TTL.Milliseconds()/30
}

// Check returns ErrTooLarge for a record of so many bytes that is larger than may be.
func (l Limits) Check(bytes int) error {
	if bytes > l.Record || int64(bytes) > l.TenantBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, bytes, min(int64(l.Record), l.TenantBytes))
	}
	return nil
}

// ItemsSize is how many bytes items count.
func ItemsSize(items []Item) int { return sizeOf(items) }
