package billing

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Query is what an operator asks of the ledger: GET /admin/usage.
type Query struct {
	Filter Filter
	// By are the dimensions of the sums. IsRows asks for the rows themselves instead.
	By     []Dimension
	IsRows bool
	Page   Page
	Format Format
}

// Format is the form of an export.
type Format string

// The formats.
const (
	JSON  Format = "json"
	CSV   Format = "csv"
	JSONL Format = "jsonl"
)

// QueryError is what is wrong with a parameter of a query.
type QueryError struct {
	// Param is its name, and Message one sentence that says what to write.
	Param, Message string
}

func (e *QueryError) Error() string { return e.Message }

// Bounds on a query.
const (
	MaxLimit     = 10_000
	defaultLimit = 1000
	maxValues    = 100
	maxBy        = 8
	defaultDays  = 30
)

// groupRow and groupTotal are what group may be besides dimensions.
const (
	groupRow   = "row"
	groupTotal = "total"
)

// ParseQuery reads the parameters of a query: from, to, group, limit, cursor, format, label (name:value), and the
// dimensions but times by their names, each as often as values may be. What is unknown or twice is a *QueryError.
// Without from it is the last 30 days until now.
func ParseQuery(v url.Values, now time.Time) (Query, error) {
	q := Query{Page: Page{Limit: defaultLimit}, By: []Dimension{ByTeam, ByKey, ByModel}, Format: JSON}
	for _, name := range slices.Sorted(keysOf(v)) {
		values := v[name]
		if len(values) > maxValues {
			return q, &QueryError{name, fmt.Sprintf("The parameter %s is there %d times; the most is %d.", name, len(values), maxValues)}
		}
		if err := q.parameter(name, values); err != nil {
			return q, err
		}
	}
	if q.Filter.From.IsZero() && v.Get("from") == "" {
		q.Filter.From = now.UTC().Truncate(time.Hour).AddDate(0, 0, -defaultDays)
	}
	if f := q.Filter; !f.To.IsZero() && !f.From.Before(f.To) {
		return q, &QueryError{"to", "The time of to is not after that of from."}
	}
	return q, nil
}

func keysOf(v url.Values) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range v {
			if !yield(name) {
				return
			}
		}
	}
}

// parameter reads one parameter.
func (q *Query) parameter(name string, values []string) error {
	if name == "label" {
		return q.labels(values)
	}
	if d := Dimension(name); slices.Contains(Dimensions, d) && !d.IsTime() {
		q.Filter.Where = append(q.Filter.Where, Condition{d, values})
		return nil
	}
	if len(values) != 1 {
		return &QueryError{name, fmt.Sprintf("The parameter %.40q is there %d times; keep one.", name, len(values))}
	}
	value := values[0]
	var err error
	switch name {
	case "from":
		q.Filter.From, err = parseTime(name, value)
	case "to":
		q.Filter.To, err = parseTime(name, value)
	case "group":
		err = q.group(value)
	case "limit":
		q.Page.Limit, err = parseLimit(value)
	case "cursor":
		q.Page.After, err = readCursor(value)
	case "format":
		q.Format, err = parseFormat(value)
	default:
		err = unknown(name)
	}
	return err
}

func parseLimit(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > MaxLimit {
		return 0, &QueryError{"limit", fmt.Sprintf("The value of limit must be a number from 1 to %d, not %.40q.", MaxLimit, value)}
	}
	return n, nil
}

func parseFormat(value string) (Format, error) {
	if f := Format(value); f == JSON || f == CSV || f == JSONL {
		return f, nil
	}
	return "", &QueryError{"format", fmt.Sprintf("The value of format must be json, csv or jsonl, not %.40q.", value)}
}

// unknown names the parameters that there are.
func unknown(name string) error {
	var names []string
	for _, d := range Dimensions {
		if !d.IsTime() {
			names = append(names, string(d))
		}
	}
	return &QueryError{name, fmt.Sprintf("There is no parameter %.40q; there are from, to, group, label, limit, cursor, format, %s.", name, strings.Join(names, ", "))}
}

// labels reads name:value, of which those with one name are one condition.
func (q *Query) labels(values []string) error {
	byName := map[string][]string{}
	for _, v := range values {
		name, value, ok := strings.Cut(v, ":")
		if !ok || name == "" {
			return &QueryError{"label", fmt.Sprintf("A label must be name:value, such as cost_center:a, not %.40q.", v)}
		}
		byName[name] = append(byName[name], value)
	}
	for name, values := range byName {
		q.Filter.Where = append(q.Filter.Where, Condition{LabelDimension(name), values})
	}
	return nil
}

// group reads dimensions.
func (q *Query) group(value string) error {
	q.By = nil
	switch value {
	case groupRow:
		q.IsRows = true
		return nil
	case groupTotal:
		return nil
	}
	for name := range strings.SplitSeq(value, ",") {
		d := Dimension(name)
		label, isLabel := d.Label()
		switch {
		case !slices.Contains(Dimensions, d) && (!isLabel || label == "" || len(label) > maxLabel):
			return &QueryError{"group", fmt.Sprintf("Nothing is grouped by %.40q; group is row, total, or some of %s, label:NAME.", name, joined(Dimensions))}
		case slices.Contains(q.By, d):
			return &QueryError{"group", fmt.Sprintf("The dimension %s is in group twice; keep one.", name)}
		case len(q.By) == maxBy:
			return &QueryError{"group", fmt.Sprintf("There are too many dimensions in group; the most is %d.", maxBy)}
		}
		q.By = append(q.By, d)
	}
	return nil
}

func joined(all []Dimension) string {
	var names []string
	for _, d := range all {
		names = append(names, string(d))
	}
	return strings.Join(names, ", ")
}

// parseTime reads a time or a day in UTC.
func parseTime(name, value string) (time.Time, error) {
	for _, form := range []string{time.RFC3339, time.DateOnly, "2006-01"} {
		if t, err := time.Parse(form, value); err == nil && t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 { // JSON has no other years
			return t.UTC(), nil
		}
	}
	return time.Time{}, &QueryError{name, fmt.Sprintf("The value of %s must be a time such as 2026-11-23T07:00:00Z, a day such as 2026-11-23, or a month such as 2026-11, not %.40q.", name, value)}
}

// cursor is what a page ends with, as text.
func cursor(next []string) string {
	if next == nil {
		return ""
	}
	b, err := json.Marshal(next)
	if err != nil {
		return "" // texts are always JSON
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func readCursor(text string) (after []string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &after)
	}
	if err != nil || after == nil {
		return nil, badCursor()
	}
	return after, nil
}

func badCursor() error {
	return &QueryError{"cursor", "The cursor is none that an answer to these parameters had; leave it out to begin at the first page."}
}

// Answer is what a ledger says to a query.
type Answer struct {
	Query Query
	// Rows or Sums are one page, and Cursor is the parameter for the next one; "" if this is the last.
	Rows   []Row
	Sums   []Sum
	Cursor string
	// Since is when the rows begin that are all there, if some were deleted. Hours says that the sums are of
	// hours, and outlive rows.
	Since time.Time
	Hours bool
}

// Ask asks a ledger. A cursor of another query is a *QueryError.
func Ask(ctx context.Context, l Ledger, q Query) (Answer, error) {
	a := Answer{Query: q}
	if q.IsRows {
		page, err := l.Rows(ctx, q.Filter, q.Page)
		if err != nil {
			return a, asked(err)
		}
		a.Rows, a.Cursor, a.Since = page.Rows, cursor(page.Next), page.Since
		return a, nil
	}
	page, err := l.Sums(ctx, q.Filter, q.By, q.Page)
	if err != nil {
		return a, asked(err)
	}
	a.Sums, a.Cursor, a.Since, a.Hours = page.Sums, cursor(page.Next), page.Since, page.Hours
	return a, nil
}

func asked(err error) error {
	if errors.Is(err, ErrCursor) {
		return badCursor()
	}
	return err
}
