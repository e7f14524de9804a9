package rows

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/store"
)

// Ledger is a ledger in tables. Methods are those of [billing.Ledger].
type Ledger struct{ database }

// NewLedger makes a ledger of two handles to one database, as New does a store. It has tables of its own.
func NewLedger(ctx context.Context, read, write *sql.DB, d Dialect) (*Ledger, error) {
	l := &Ledger{database{d, read, write}}
	if err := l.migrate(ctx, "callgate_usage_migrations", d.usageMigrations()); err != nil {
		return nil, err
	}
	return l, nil
}

// The columns of what rows and hours have in common, and what follows in each.
const (
	groupColumns = "key, team, model, provider, served, arm, purpose, labels"
	rowColumns   = "id, request, time, " + groupColumns + ", session, input, cached, cache_write, output, reasoning, nano, priced, price_version, estimated, tools, status, took"
	sumColumns   = "answers, input, cached, cache_write, output, reasoning, nano, unpriced, estimated, failed, tools, took"
)

// usageMigrations make the ledger's tables. A step that was published does not change.
func (d Dialect) usageMigrations() []string {
	texts := strings.ReplaceAll("key TEXT%[1]s NOT NULL, team TEXT%[1]s NOT NULL, model TEXT%[1]s NOT NULL, provider TEXT%[1]s NOT NULL, served TEXT%[1]s NOT NULL, arm TEXT%[1]s NOT NULL, purpose TEXT%[1]s NOT NULL, labels TEXT%[1]s NOT NULL", "%[1]s", d.Collate)
	return []string{fmt.Sprintf(`
CREATE TABLE callgate_usage (id TEXT%[1]s PRIMARY KEY, request TEXT%[1]s NOT NULL, time BIGINT NOT NULL, %[2]s, session TEXT%[1]s NOT NULL,
  input BIGINT NOT NULL, cached BIGINT NOT NULL, cache_write BIGINT NOT NULL, output BIGINT NOT NULL, reasoning BIGINT NOT NULL,
  nano BIGINT NOT NULL, priced BIGINT NOT NULL, price_version TEXT%[1]s NOT NULL, estimated BIGINT NOT NULL, tools BIGINT NOT NULL,
  status TEXT%[1]s NOT NULL, took BIGINT NOT NULL);
CREATE INDEX callgate_usage_time ON callgate_usage (time, id);
CREATE INDEX callgate_usage_session ON callgate_usage (session, time);
CREATE INDEX callgate_usage_request ON callgate_usage (request);
CREATE TABLE callgate_usage_hours (id TEXT%[1]s PRIMARY KEY, time BIGINT NOT NULL, %[2]s,
  answers BIGINT NOT NULL, input BIGINT NOT NULL, cached BIGINT NOT NULL, cache_write BIGINT NOT NULL, output BIGINT NOT NULL,
  reasoning BIGINT NOT NULL, nano BIGINT NOT NULL, unpriced BIGINT NOT NULL, estimated BIGINT NOT NULL, failed BIGINT NOT NULL,
  tools BIGINT NOT NULL, took BIGINT NOT NULL);
CREATE INDEX callgate_usage_hours_time ON callgate_usage_hours (time);
CREATE TABLE callgate_usage_swept (until BIGINT NOT NULL);
INSERT INTO callgate_usage_swept VALUES (-1);
`, d.Collate, texts)}
}

// insertOnce is how many rows one statement inserts; each has 23 parameters, and SQLite takes 32766.
const insertOnce = 250

// Put implements billing.Ledger.
func (l *Ledger) Put(ctx context.Context, rows []billing.Row) (res billing.Result, err error) {
	if err := billing.CheckPut(rows); err != nil {
		return res, err
	}
	err = l.change(ctx, func(tx *tx) error {
		res = billing.Result{}
		var until int64
		// Nobody sweeps until this is over: whether a row was there could not be told then.
		if err := tx.one([]any{&until}, "SELECT until FROM callgate_usage_swept"+l.d.Share); err != nil {
			return err
		}
		fresh := make([]*billing.Row, 0, len(rows))
		for i := range rows {
			if rows[i].Time.UnixMilli() < until {
				res.Late++
			} else {
				fresh = append(fresh, &rows[i])
			}
		}
		slices.SortFunc(fresh, func(a, b *billing.Row) int { return cmp.Compare(a.ID, b.ID) }) // two who write the same wait in one order
		added, err := tx.insert(l.d, fresh)
		if err != nil {
			return err
		}
		res.Added, res.Known = len(added), len(fresh)-len(added)
		return tx.addHours(l.d, added)
	})
	return res, err
}

// insert adds rows, and returns those that were not there.
func (t *tx) insert(d Dialect, rows []*billing.Row) (added []*billing.Row, err error) {
	for some := range slices.Chunk(rows, insertOnce) {
		var query strings.Builder
		query.WriteString("INSERT INTO callgate_usage (" + rowColumns + ") VALUES ")
		args := make([]any, 0, len(some)*23)
		for i, r := range some {
			if i > 0 {
				query.WriteString(", ")
			}
			args = d.values(&query, args, r.ID, r.Request, r.Time.UnixMilli(), r.Key, r.Team, r.Model, r.Provider, r.Served, r.Arm, r.Purpose, billing.LabelsText(r.Labels),
				r.Session, r.Input, r.Cached, r.CacheWrite, r.Output, r.Reasoning, r.Nano, bit(r.Priced), r.PriceVersion, bit(r.Estimated), int64(r.Tools), r.Status, r.Took.Milliseconds())
		}
		query.WriteString(" ON CONFLICT (id) DO NOTHING RETURNING id")
		ids, id := map[string]bool{}, ""
		if err := t.all([]any{&id}, func() { ids[id] = true }, query.String(), args...); err != nil {
			return nil, err
		}
		for _, r := range some {
			if ids[r.ID] { // of two with one ID the first
				added = append(added, r)
				delete(ids, r.ID)
			}
		}
	}
	return added, nil
}

// values writes ($1, $2 ...) or (?, ? ...) for arguments, which come behind those that are there.
func (d Dialect) values(query *strings.Builder, args []any, more ...any) []any {
	for i := range more {
		if i == 0 {
			query.WriteByte('(')
		} else {
			query.WriteString(", ")
		}
		if d.Unnamed {
			query.WriteByte('?')
		} else {
			fmt.Fprintf(query, "$%d", len(args)+i+1)
		}
	}
	query.WriteByte(')')
	return append(args, more...)
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// hourID is the key of an hour's row: the texts may be longer than an index takes.
func hourID(h *billing.Hour) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s\x00%s\x00%s\x00%s\x00%s\x00%s", h.Start, h.Key, h.Team, h.Model, h.Provider, h.Served, h.Arm, h.Purpose, h.Labels))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// addHours adds rows to the sums of their hours.
func (t *tx) addHours(d Dialect, rows []*billing.Row) error {
	type hour struct {
		billing.Hour
		billing.Sum
		id string
	}
	byHour := map[billing.Hour]*hour{}
	for _, r := range rows {
		key := r.Hour()
		if byHour[key] == nil {
			byHour[key] = &hour{Hour: key, id: hourID(&key)}
		}
		byHour[key].Add(r)
	}
	hours := make([]*hour, 0, len(byHour))
	for _, h := range byHour {
		hours = append(hours, h)
	}
	slices.SortFunc(hours, func(a, b *hour) int { return cmp.Compare(a.id, b.id) }) // all who write lock in one order
	for some := range slices.Chunk(hours, insertOnce) {
		var query strings.Builder
		query.WriteString("INSERT INTO callgate_usage_hours (id, time, " + groupColumns + ", " + sumColumns + ") VALUES ")
		var args []any
		for i, h := range some {
			if i > 0 {
				query.WriteString(", ")
			}
			args = d.values(&query, args, h.id, h.Start, h.Key, h.Team, h.Model, h.Provider, h.Served, h.Arm, h.Purpose, h.Labels,
				h.Answers, h.Input, h.Cached, h.CacheWrite, h.Output, h.Reasoning, h.Nano, h.Unpriced, h.Estimated, h.Failed, h.Tools, h.TookMS)
		}
		query.WriteString(" ON CONFLICT (id) DO UPDATE SET ")
		for i, c := range strings.Split(sumColumns, ", ") {
			if i > 0 {
				query.WriteString(", ")
			}
			if c == "nano" { // one sum that is too large would keep all rows out; see billing.AddNano
				fmt.Fprintf(&query, "nano = CASE WHEN callgate_usage_hours.nano > %[1]d - excluded.nano THEN %[1]d ELSE callgate_usage_hours.nano + excluded.nano END", int64(math.MaxInt64))
				continue
			}
			fmt.Fprintf(&query, "%[1]s = callgate_usage_hours.%[1]s + excluded.%[1]s", c)
		}
		if _, err := t.exec(query.String(), args...); err != nil {
			return err
		}
	}
	return nil
}

// where collects what a query asks for, and its arguments.
type where struct {
	d     Dialect
	parts []string
	args  []any
}

// arg returns the parameter of an argument.
func (w *where) arg(a any) string {
	w.args = append(w.args, a)
	return fmt.Sprintf("$%d", len(w.args))
}

// text is the parameter of a text, where a database could not tell its type.
func (w *where) text(s string) string { return "CAST(" + w.arg(s) + " AS TEXT)" + w.d.Collate }

// column is the expression for a dimension.
func (w *where) column(d billing.Dimension) string {
	if name, ok := d.Label(); ok {
		return "coalesce(" + fmt.Sprintf(w.d.Label, "CAST("+w.arg(name)+" AS TEXT)") + ", '')" + w.d.Collate
	}
	if d.IsTime() {
		return w.d.TimeText[d] + w.d.Collate
	}
	return string(d)
}

// filter adds what a filter asks for.
func (w *where) filter(f billing.Filter) {
	if !f.From.IsZero() {
		w.parts = append(w.parts, "time >= "+w.arg(billing.Milliseconds(f.From)))
	}
	if !f.To.IsZero() {
		w.parts = append(w.parts, "time < "+w.arg(billing.Milliseconds(f.To)))
	}
	for _, c := range f.Where {
		column := w.column(c.Dimension)
		var in []string
		for _, v := range c.Values {
			in = append(in, w.text(v))
		}
		if len(in) == 0 {
			in = []string{"NULL"}
		}
		w.parts = append(w.parts, column+" IN ("+strings.Join(in, ", ")+")")
	}
}

func (w *where) String() string {
	if len(w.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.parts, " AND ")
}

// since reads when the rows begin that were never swept.
func (t *tx) since() (since time.Time, err error) {
	var until int64
	if err := t.one([]any{&until}, "SELECT until FROM callgate_usage_swept"); err != nil || until < 0 {
		return since, err
	}
	return time.UnixMilli(until).UTC(), nil
}

// Rows implements billing.Ledger.
func (l *Ledger) Rows(ctx context.Context, f billing.Filter, p billing.Page) (out billing.Rows, err error) {
	ms, id, err := billing.RowsAfter(p.After)
	if err != nil {
		return out, err
	}
	w := &where{d: l.d}
	w.filter(f)
	if p.After != nil {
		w.parts = append(w.parts, "(time, id) > ("+w.arg(ms)+", "+w.text(id)+")")
	}
	query := "SELECT " + rowColumns + " FROM callgate_usage" + w.String() + " ORDER BY time, id LIMIT " + w.arg(int64(p.Limit)+1)
	err = l.look(ctx, func(tx *tx) error {
		since, err := tx.since()
		if err != nil {
			return err
		}
		var rows []billing.Row
		var r billing.Row
		var at, priced, estimated, tools, took int64
		var labels string
		err = tx.all([]any{&r.ID, &r.Request, &at, &r.Key, &r.Team, &r.Model, &r.Provider, &r.Served, &r.Arm, &r.Purpose, &labels, &r.Session,
			&r.Input, &r.Cached, &r.CacheWrite, &r.Output, &r.Reasoning, &r.Nano, &priced, &r.PriceVersion, &estimated, &tools, &r.Status, &took}, func() {
			r.Time, r.Labels, r.Took = time.UnixMilli(at).UTC(), billing.ReadLabels(labels), time.Duration(took)*time.Millisecond
			r.Priced, r.Estimated, r.Tools = priced != 0, estimated != 0, int(tools)
			rows = append(rows, r)
		}, query, w.args...)
		out = billing.Cut(rows, since, p)
		return err
	})
	return out, lacking(err)
}

// lacking says that a text which no database can have is in no row.
func lacking(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// The sums of rows as hours have them. The costs are added up in two parts, of nanoPart 10⁻⁹ US dollars and of one: 64 bits
// hold the sum of each, and not always that of both.
const (
	nanoPart    = 1 << 30
	sumsOfNano  = "sum(nano / 1073741824), sum(nano % 1073741824)"
	sumsOfHours = "sum(answers), sum(input), sum(cached), sum(cache_write), sum(output), sum(reasoning), " + sumsOfNano + ", sum(unpriced), sum(estimated), sum(failed), sum(tools), sum(took)"
	sumsOfRows  = "count(*), sum(input), sum(cached), sum(cache_write), sum(output), sum(reasoning), " + sumsOfNano + ", sum(1 - priced), sum(estimated), sum(CASE WHEN status = 'ok' THEN 0 ELSE 1 END), sum(tools), sum(took)"
)

// Sums implements billing.Ledger.
func (l *Ledger) Sums(ctx context.Context, f billing.Filter, by []billing.Dimension, p billing.Page) (out billing.Sums, err error) {
	if p.After != nil && len(p.After) != len(by) {
		return out, billing.ErrCursor
	}
	hours := f.FromHours(by)
	w := &where{d: l.d}
	table, sums := "callgate_usage", sumsOfRows
	if hours {
		table, sums = "callgate_usage_hours", sumsOfHours
	}
	var columns, names []string
	for i, d := range by {
		name := fmt.Sprintf("g%d", i+1)
		columns, names = append(columns, w.column(d)+" AS "+name), append(names, name)
	}
	for i, s := range strings.Split(sums, ", ") {
		columns = append(columns, fmt.Sprintf("CAST(%s AS BIGINT) AS s%d", s, i+1))
	}
	w.filter(f)
	query := "SELECT " + strings.Join(columns, ", ") + " FROM " + table + w.String()
	if len(names) > 0 {
		query += " GROUP BY " + strings.Join(names, ", ")
	}
	query = "SELECT * FROM (" + query + ") AS groups WHERE s1 > 0"
	if p.After != nil && len(by) > 0 {
		var after []string
		for _, v := range p.After {
			after = append(after, w.text(v))
		}
		query += " AND (" + strings.Join(names, ", ") + ") > (" + strings.Join(after, ", ") + ")"
	}
	if len(names) > 0 {
		query += " ORDER BY " + strings.Join(names, ", ")
	}
	query += " LIMIT " + w.arg(int64(p.Limit)+1)
	err = l.look(ctx, func(tx *tx) error {
		since, err := tx.since()
		if err != nil {
			return err
		}
		all, err := tx.sums(len(by), query, w.args)
		out = billing.CutSums(all, p)
		out.Hours = hours
		if !hours {
			out.Since = since
		}
		return err
	})
	return out, lacking(err)
}

// sums reads the sums of groups of so many dimensions.
func (t *tx) sums(dimensions int, query string, args []any) (all []billing.Sum, err error) {
	var s billing.Sum
	var parts, nano int64
	group := make([]string, dimensions)
	var into []any
	for i := range group {
		into = append(into, &group[i])
	}
	into = append(into, &s.Answers, &s.Input, &s.Cached, &s.CacheWrite, &s.Output, &s.Reasoning, &parts, &nano, &s.Unpriced, &s.Estimated, &s.Failed, &s.Tools, &s.TookMS)
	err = t.all(into, func() {
		s.Group, s.Nano = slices.Clone(group), math.MaxInt64
		if parts < math.MaxInt64/nanoPart {
			s.Nano = billing.AddNano(parts*nanoPart, nano)
		}
		all = append(all, s)
	}, query, args...)
	return all, err
}

// sweepRows is how many rows one statement deletes: others wait for it.
const sweepRows = 2000

// Sweep implements billing.Ledger. That rows before the limit are gone is said first, and then they are
// deleted step by step.
func (l *Ledger) Sweep(ctx context.Context, limit time.Time) (n int, err error) {
	ms := billing.Milliseconds(limit)
	there := false
	err = l.look(ctx, func(tx *tx) error {
		var first int64
		err := tx.one([]any{&first}, "SELECT coalesce(min(time), $1) FROM callgate_usage", ms)
		there = first < ms
		return err
	})
	if err != nil || !there {
		return 0, err
	}
	err = l.change(ctx, func(tx *tx) error {
		_, err := tx.exec("UPDATE callgate_usage_swept SET until = $1 WHERE until < $1", ms)
		return err
	})
	for err == nil {
		gone := int64(0)
		err = l.change(ctx, func(tx *tx) (err error) {
			gone, err = tx.exec("DELETE FROM callgate_usage WHERE id IN (SELECT id FROM callgate_usage WHERE time < $1 ORDER BY time, id LIMIT $2)", ms, int64(sweepRows))
			return err
		})
		n += int(gone)
		if gone < sweepRows {
			break
		}
	}
	return n, err
}
