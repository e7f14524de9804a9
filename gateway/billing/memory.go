package billing

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MemoryLimits bound a ledger in memory.
type MemoryLimits struct {
	// Rows and Hours are the most of each; the oldest make room. Zero is 20 000 and 50 000, about 40 MB
	// together.
	Rows, Hours int
}

// NewMemory makes a ledger that ends with the process.
func NewMemory(l MemoryLimits) Ledger {
	l.Rows, l.Hours = cmp.Or(l.Rows, 20_000), cmp.Or(l.Hours, 50_000)
	return &memory{limits: l, ids: map[rowID]struct{}{}, hours: map[Hour]*Sum{}}
}

// memory is a ledger in memory. It is safe for concurrent use.
type memory struct {
	limits MemoryLimits

	mu    sync.Mutex
	rows  []packed // by time and ID
	ids   map[rowID]struct{}
	hours map[Hour]*Sum
	// last is the sum of the hour that the last row was in; nil once hours were deleted.
	lastHour Hour
	last     *Sum
	// since is when the rows begin that were never deleted, and hoursSince that of the hours.
	since, hoursSince time.Time
}

// Put implements Ledger.
func (m *memory) Put(_ context.Context, rows []Row) (res Result, err error) {
	if err := CheckPut(rows); err != nil {
		return res, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var bytes []byte // of all of them
	for i := range rows {
		r := &rows[i]
		id := r.id()
		if _, known := m.ids[id]; known {
			res.Known++
			continue
		}
		if r.Time.Before(m.since) {
			res.Late++
			continue
		}
		res.Added++
		m.ids[id] = struct{}{}
		if bytes == nil {
			bytes = make([]byte, 0, packedSize(rows[i:]))
		}
		start := len(bytes)
		bytes = r.pack(bytes)
		one := packed{id, r.Time.UnixMilli(), bytes[start:len(bytes):len(bytes)]}
		m.insert(&one)
		m.hour(r.Hour()).Add(r)
	}
	m.room()
	return res, nil
}

// insert puts a row where it belongs: mostly behind all others.
func (m *memory) insert(one *packed) {
	at := len(m.rows)
	if at > 0 && m.rows[at-1].compare(one) > 0 {
		at, _ = slices.BinarySearchFunc(m.rows, one, func(a packed, b *packed) int { return a.compare(b) })
	}
	m.rows = slices.Insert(m.rows, at, *one)
}

// hour is the sum of an hour, mostly that of the row before.
func (m *memory) hour(h Hour) *Sum {
	if m.last != nil && m.lastHour == h {
		return m.last
	}
	sum := m.hours[h]
	if sum == nil {
		sum = &Sum{}
		m.hours[h] = sum
	}
	m.lastHour, m.last = h, sum
	return sum
}

// room keeps the ledger within its bounds. A tenth more goes at once, so that not each row moves all.
func (m *memory) room() {
	if len(m.rows) > m.limits.Rows {
		n := len(m.rows) - m.limits.Rows*9/10
		m.drop(n, m.rows[n-1].time().Add(time.Millisecond))
	}
	if len(m.hours) > m.limits.Hours {
		m.last = nil
		starts := make([]int64, 0, len(m.hours))
		for h := range m.hours {
			starts = append(starts, h.Start)
		}
		slices.Sort(starts)
		last := starts[len(starts)-m.limits.Hours*9/10-1]
		for h := range m.hours {
			if h.Start <= last {
				delete(m.hours, h)
			}
		}
		m.hoursSince = time.UnixMilli(last).UTC().Add(time.Hour)
	}
}

// drop deletes the first rows, and no row before a time is taken from then on.
func (m *memory) drop(n int, since time.Time) {
	for n < len(m.rows) && m.rows[n].time().Before(since) {
		n++ // of the same millisecond
	}
	for i := range m.rows[:n] {
		delete(m.ids, m.rows[i].id)
	}
	if n > len(m.rows)/2 {
		m.rows = slices.Clone(m.rows[n:])
	} else {
		m.rows = slices.Delete(m.rows, 0, n) // as many come again, mostly
	}
	if since.After(m.since) {
		m.since = since
	}
}

// Sweep implements Ledger.
func (m *memory) Sweep(_ context.Context, limit time.Time) (int, error) {
	limit = time.UnixMilli(Milliseconds(limit)).UTC()
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _ := slices.BinarySearchFunc(m.rows, limit, func(r packed, t time.Time) int {
		if r.time().Before(t) {
			return -1
		}
		return 1
	})
	if n > 0 {
		m.drop(n, limit)
	}
	return n, nil
}

// Close implements Ledger.
func (m *memory) Close() error { return nil }

// holds reports whether a row with a time and values is meant.
func (f Filter) holds(t time.Time, value func(Dimension) string) bool {
	if !f.From.IsZero() && t.Before(f.From) || !f.To.IsZero() && !t.Before(f.To) {
		return false
	}
	for _, c := range f.Where {
		if !slices.Contains(c.Values, value(c.Dimension)) {
			return false
		}
	}
	return true
}

// RowsAfter reads the After of a page of rows.
func RowsAfter(after []string) (ms int64, id string, err error) {
	if after == nil {
		return -1 << 62, "", nil
	}
	if len(after) != 2 {
		return 0, "", ErrCursor
	}
	if ms, err = strconv.ParseInt(after[0], 10, 64); err != nil {
		return 0, "", ErrCursor
	}
	return ms, after[1], nil
}

// Cut makes a page of rows that may hold one more than wanted.
func Cut(rows []Row, since time.Time, p Page) Rows {
	out := Rows{Rows: rows, Since: since}
	if len(rows) > p.Limit {
		out.Rows = rows[:p.Limit]
		last := &out.Rows[p.Limit-1]
		out.Next = []string{strconv.FormatInt(last.Time.UnixMilli(), 10), last.ID}
	}
	return out
}

// Rows implements Ledger.
func (m *memory) Rows(_ context.Context, f Filter, p Page) (Rows, error) {
	ms, id, err := RowsAfter(p.After)
	if err != nil {
		return Rows{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Row
	first, _ := slices.BinarySearchFunc(m.rows, ms, func(r packed, ms int64) int { return cmp.Compare(r.ms, ms) })
	for i := range m.rows[first:] {
		r := m.rows[first+i].row()
		if (r.Time.UnixMilli() > ms || r.ID > id) && f.holds(r.Time, r.Value) {
			if out = append(out, r); len(out) > p.Limit {
				break
			}
		}
	}
	return Cut(out, m.since, p), nil
}

// CutSums makes a page of sums that may hold one more than wanted.
func CutSums(sums []Sum, p Page) Sums {
	out := Sums{Sums: sums}
	if len(sums) > p.Limit {
		out.Sums = sums[:p.Limit]
		out.Next = out.Sums[p.Limit-1].Group
	}
	return out
}

// Sums implements Ledger.
func (m *memory) Sums(_ context.Context, f Filter, by []Dimension, p Page) (Sums, error) {
	if p.After != nil && len(p.After) != len(by) {
		return Sums{}, ErrCursor
	}
	groups := map[string]*Sum{}
	add := func(value func(Dimension) string, one *Sum) {
		group := make([]string, len(by))
		for i, d := range by {
			group[i] = value(d)
		}
		if p.After != nil && slices.Compare(group, p.After) <= 0 {
			return
		}
		name := strings.Join(group, "\x00")
		s := groups[name]
		if s == nil {
			s = &Sum{Group: group}
			groups[name] = s
		}
		s.Join(one)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	since := m.since
	hours := f.FromHours(by)
	if hours {
		since = m.hoursSince
		for h, s := range m.hours {
			value := h.reader()
			if f.holds(time.UnixMilli(h.Start), value) {
				add(value, s)
			}
		}
	} else {
		for i := range m.rows {
			if r := m.rows[i].row(); f.holds(r.Time, r.Value) {
				one := Sum{}
				one.Add(&r)
				add(r.Value, &one)
			}
		}
	}
	all := make([]Sum, 0, len(groups))
	for _, s := range groups {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Sum) int { return slices.Compare(a.Group, b.Group) })
	out := CutSums(all, p)
	out.Since, out.Hours = since, hours
	return out, nil
}

// reader gives the values of an hour.
func (h Hour) reader() func(Dimension) string {
	var labels map[string]string
	return func(d Dimension) string {
		name, ok := d.Label()
		if !ok {
			return h.value(d)
		}
		if labels == nil {
			labels = ReadLabels(h.Labels)
		}
		return labels[name]
	}
}

// LabelsText writes labels as ledgers keep them: JSON with sorted names.
func LabelsText(labels map[string]string) string {
	if len(labels) == 0 {
		return "{}"
	}
	b, err := json.Marshal(labels)
	if err != nil {
		return "{}" // texts are always JSON
	}
	return string(b)
}

// ReadLabels reads what LabelsText has written; nil for none.
func ReadLabels(text string) map[string]string {
	var labels map[string]string
	if text == "{}" || json.Unmarshal([]byte(text), &labels) != nil {
		return nil
	}
	return labels
}
