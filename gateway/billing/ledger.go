package billing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Ledger is where rows are kept, and what they add up to in each hour. All its methods may be called by
// many goroutines. There is one in memory ([NewMemory]) and, in gateway/store/sqlite and
// gateway/store/postgres, those in a database; gateway/billing/billingtest holds all of them to one
// contract.
type Ledger interface {
	// Put adds rows, at most [PutMost]: all or none. A row whose ID is there already is not added again,
	// and counts once in the hours. One older than what a sweep has deleted may have been there: it is
	// not added, since nobody can tell, and the result says so. The ledger does not keep the slice: the
	// caller uses its memory again.
	Put(ctx context.Context, rows []Row) (Result, error)
	// Rows returns rows in the order of their time and ID. It keeps to p.Limit.
	Rows(ctx context.Context, f Filter, p Page) (Rows, error)
	// Sums adds rows up by dimensions, in the order of these. Where the filter and the dimensions need no
	// more than an hour has, they are the hours' sums, which outlive the rows.
	Sums(ctx context.Context, f Filter, by []Dimension, p Page) (Sums, error)
	// Sweep deletes the rows before a time, and returns how many. The hours' sums stay.
	Sweep(ctx context.Context, before time.Time) (int, error)
	// Close ends the ledger. Nothing else is called then.
	Close() error
}

// PutMost is how many rows one Put takes.
const PutMost = 500

// CheckPut returns an error for more rows than one Put takes. Ledgers call it.
func CheckPut(rows []Row) error {
	if len(rows) > PutMost {
		return fmt.Errorf("billing: %d rows at once; the most is %d", len(rows), PutMost)
	}
	return nil
}

// Result is what a Put has done.
type Result struct {
	// Added are the new rows, Known those that were there before, and Late those that are older than what
	// was swept.
	Added, Known, Late int
}

// Dimension is what rows are told apart by: one of those below, or [LabelDimension].
type Dimension string

// The dimensions. Those after Hour, Day and Month are in rows alone, and not in the hours' sums.
const (
	ByKey      Dimension = "key"
	ByTeam     Dimension = "team"
	ByModel    Dimension = "model"
	ByProvider Dimension = "provider"
	ByServed   Dimension = "served"
	ByArm      Dimension = "arm"
	ByPurpose  Dimension = "purpose"
	// ByHour, ByDay and ByMonth are times in UTC, as 2026-11-23T07:00:00Z, 2026-11-23 and 2026-11. Nothing is
	// filtered by them: that is From and To.
	ByHour  Dimension = "hour"
	ByDay   Dimension = "day"
	ByMonth Dimension = "month"

	BySession Dimension = "session"
	ByRequest Dimension = "request"
	ByStatus  Dimension = "status"
	ByVersion Dimension = "price_version"
)

// Dimensions are all but labels, in the order in which they are shown.
var Dimensions = []Dimension{ByKey, ByTeam, ByModel, ByProvider, ByServed, ByArm, ByPurpose, ByHour, ByDay, ByMonth, BySession, ByRequest, ByStatus, ByVersion} //nolint:gochecknoglobals // a list

const labelPrefix = "label:"

// LabelDimension tells rows apart by a label. A row without it has "".
func LabelDimension(name string) Dimension { return Dimension(labelPrefix + name) }

// Label is the label's name, if the dimension is one.
func (d Dimension) Label() (name string, ok bool) { return strings.CutPrefix(string(d), labelPrefix) }

// IsTime reports whether the dimension is a time.
func (d Dimension) IsTime() bool { return d == ByHour || d == ByDay || d == ByMonth }

// InHours reports whether the hours' sums know the dimension.
func (d Dimension) InHours() bool {
	return d != BySession && d != ByRequest && d != ByStatus && d != ByVersion
}

// Filter says which rows are meant.
type Filter struct {
	// From and To bound the time: From is in it, and To is not. Zero is no bound. Rows have whole milliseconds, and
	// ledgers look at [Milliseconds] of the bounds.
	From, To time.Time
	// Where all must hold.
	Where []Condition
}

// Milliseconds is a bound on rows' times, in milliseconds since 1970, up to which or from which the same rows are: it is
// rounded up.
func Milliseconds(bound time.Time) int64 { return bound.Add(time.Millisecond - 1).UnixMilli() }

// Condition holds for rows that have one of some values in a dimension.
type Condition struct {
	Dimension Dimension
	Values    []string
}

// FromHours reports whether the hours' sums can answer: they know all dimensions, and the bounds are full
// hours.
func (f Filter) FromHours(by []Dimension) bool {
	for _, c := range f.Where {
		if !c.Dimension.InHours() {
			return false
		}
	}
	for _, d := range by {
		if !d.InHours() {
			return false
		}
	}
	isFull := func(t time.Time) bool { return t.IsZero() || t.Equal(t.Truncate(time.Hour)) }
	return isFull(f.From) && isFull(f.To)
}

// Page is which part of a list is wanted.
type Page struct {
	// After is where the page before has ended: the Next of its result; nil for the first one.
	After []string
	// Limit is the largest number of entries, 1 or more.
	Limit int
}

// ErrCursor is for a Page.After that no result had.
var ErrCursor = errors.New("billing: no page ends there")

// Rows is a page of rows.
type Rows struct {
	Rows []Row
	// Next is the After of the next page; nil if this is the last one.
	Next []string
	// Since is when the rows begin that are all here: those before it were deleted. Zero if none was.
	Since time.Time
}

// Sums is a page of sums.
type Sums struct {
	Sums []Sum
	Next []string
	// Since is as that of Rows. Hours says that the sums are of hours, which outlive rows: then nothing is
	// missing since then, unless this is a ledger in memory.
	Since time.Time
	Hours bool
}

// Sum is what some rows add up to.
type Sum struct {
	// Group are the values of the dimensions, in their order.
	Group []string
	// Answers is how many rows there are.
	Answers                                      int64
	Input, Cached, CacheWrite, Output, Reasoning int64
	// Nano is the cost of those whose price is known, in 10⁻⁹ US dollars, and Unpriced counts the others.
	Nano     int64
	Unpriced int64
	// Estimated counts the rows whose usage the upstream has not reported, and Failed those whose status is not
	// "ok".
	Estimated, Failed int64
	Tools             int64
	// TookMS is how long they took together, in milliseconds: a Duration has no more than 292 years.
	TookMS int64
}

// Add adds a row.
func (s *Sum) Add(r *Row) {
	one := Sum{Answers: 1, Input: r.Input, Cached: r.Cached, CacheWrite: r.CacheWrite, Output: r.Output, Reasoning: r.Reasoning,
		Tools: int64(r.Tools), TookMS: r.Took.Milliseconds()}
	if r.Priced {
		one.Nano = r.Nano
	} else {
		one.Unpriced = 1
	}
	if r.Estimated {
		one.Estimated = 1
	}
	if r.Status != StatusOK {
		one.Failed = 1
	}
	s.Join(&one)
}

// StatusOK is the status of a row whose answer came whole.
const StatusOK = "ok"

// AddNano adds costs, none of which is negative; a sum that 64 bits do not hold is the most that they do.
func AddNano(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Join adds another sum.
func (s *Sum) Join(o *Sum) {
	s.Answers += o.Answers
	s.Input += o.Input
	s.Cached += o.Cached
	s.CacheWrite += o.CacheWrite
	s.Output += o.Output
	s.Reasoning += o.Reasoning
	s.Nano = AddNano(s.Nano, o.Nano)
	s.Unpriced += o.Unpriced
	s.Estimated += o.Estimated
	s.Failed += o.Failed
	s.Tools += o.Tools
	s.TookMS += o.TookMS
}

// Hour is what tells the hours' sums apart.
type Hour struct {
	// Start is when it begins, in milliseconds since 1970.
	Start                                            int64
	Key, Team, Model, Provider, Served, Arm, Purpose string
	// Labels are all labels of the row, as JSON with sorted names; "{}" for none.
	Labels string
}

// Hour is that of the row.
func (r *Row) Hour() Hour {
	return Hour{r.Time.Truncate(time.Hour).UnixMilli(), r.Key, r.Team, r.Model, r.Provider, r.Served, r.Arm, r.Purpose, LabelsText(r.Labels)}
}

// Value is the row's in a dimension.
func (r *Row) Value(d Dimension) string {
	switch d {
	case BySession:
		return r.Session
	case ByRequest:
		return r.Request
	case ByStatus:
		return r.Status
	case ByVersion:
		return r.PriceVersion
	}
	h := Hour{r.Time.UnixMilli(), r.Key, r.Team, r.Model, r.Provider, r.Served, r.Arm, r.Purpose, ""}
	if name, ok := d.Label(); ok {
		return r.Labels[name]
	}
	return h.value(d)
}

// value is the hour's in a dimension that is no label.
func (h *Hour) value(d Dimension) string {
	switch d {
	case ByKey:
		return h.Key
	case ByTeam:
		return h.Team
	case ByModel:
		return h.Model
	case ByProvider:
		return h.Provider
	case ByServed:
		return h.Served
	case ByArm:
		return h.Arm
	case ByPurpose:
		return h.Purpose
	case ByHour:
		return time.UnixMilli(h.Start).UTC().Truncate(time.Hour).Format(time.RFC3339)
	case ByDay:
		return time.UnixMilli(h.Start).UTC().Format(time.DateOnly)
	case ByMonth:
		return time.UnixMilli(h.Start).UTC().Format("2006-01")
	}
	return ""
}
