package billing

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"
)

// Types are the media types of the formats.
var Types = map[Format]string{JSON: "application/json", CSV: "text/csv; charset=utf-8", JSONL: "application/jsonl"} //nolint:gochecknoglobals // a table

// Write writes the answer in the query's format.
func (a *Answer) Write(w io.Writer) error {
	switch a.Query.Format {
	case CSV:
		return a.csv(w)
	case JSONL:
		lines := json.NewEncoder(w)
		for _, r := range a.records() {
			if err := lines.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	whole := struct {
		From    *time.Time `json:"from,omitempty"`
		To      *time.Time `json:"to,omitempty"`
		Of      string     `json:"of"`
		Since   *time.Time `json:"complete_since,omitempty"`
		Entries []any      `json:"entries"`
		Next    string     `json:"next,omitempty"`
	}{moment(a.Query.Filter.From), moment(a.Query.Filter.To), "rows", moment(a.Since), a.records(), a.Cursor}
	if a.Hours {
		whole.Of = "hours"
	}
	lines := json.NewEncoder(w)
	lines.SetIndent("", "  ")
	return lines.Encode(whole)
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Sums of an export.
type sumRecord struct {
	Group      map[Dimension]string `json:"group"`
	Answers    int64                `json:"answers"`
	Failed     int64                `json:"failed"`
	Estimated  int64                `json:"estimated"`
	Unpriced   int64                `json:"unpriced"`
	Input      int64                `json:"input_tokens"`
	Cached     int64                `json:"cached_tokens"`
	CacheWrite int64                `json:"cache_write_tokens"`
	Output     int64                `json:"output_tokens"`
	Reasoning  int64                `json:"reasoning_tokens"`
	Tools      int64                `json:"tools"`
	Took       int64                `json:"took_ms"`
	Nano       *int64               `json:"cost_nano_usd"`
	USD        *string              `json:"cost_usd"`
}

// records are the entries as JSON has them.
func (a *Answer) records() []any {
	out := []any{}
	for i := range a.Rows {
		out = append(out, a.Rows[i].Record())
	}
	for i := range a.Sums {
		s := &a.Sums[i]
		r := sumRecord{map[Dimension]string{}, s.Answers, s.Failed, s.Estimated, s.Unpriced, s.Input, s.Cached, s.CacheWrite, s.Output, s.Reasoning, s.Tools, s.TookMS, nil, nil}
		for j, d := range a.Query.By {
			r.Group[d] = s.Group[j]
		}
		if s.IsPriced() {
			usd := USD(s.Nano)
			r.Nano, r.USD = &s.Nano, &usd
		}
		out = append(out, r)
	}
	return out
}

// IsPriced reports whether the price of any of the sum's rows is known: its cost is not 0 for want of one.
func (s *Sum) IsPriced() bool { return s.Unpriced < s.Answers }

// The columns of numbers in CSV.
var (
	rowHead = []string{"time", "id", "request", "key", "team", "session", "model", "provider", "served", "arm", "purpose", "input_tokens", "cached_tokens", "cache_write_tokens", //nolint:gochecknoglobals // a list
		"output_tokens", "reasoning_tokens", "cost_nano_usd", "cost_usd", "price_version", "estimated", "tools", "status", "took_ms", "labels"}
	sumHead = []string{"answers", "failed", "estimated", "unpriced", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "tools", "took_ms", "cost_nano_usd", "cost_usd"} //nolint:gochecknoglobals // a list
)

// csv writes a line of names, and one for each entry.
func (a *Answer) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	cost := func(nano int64, priced bool) (string, string) {
		if !priced {
			return "", ""
		}
		return number(nano), USD(nano)
	}
	if a.Query.IsRows {
		if err := out.Write(rowHead); err != nil {
			return err
		}
		for i := range a.Rows {
			r := &a.Rows[i]
			nano, usd := cost(r.Nano, r.Priced)
			labels := ""
			if len(r.Labels) > 0 {
				labels = LabelsText(r.Labels)
			}
			err := out.Write([]string{r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), cell(r.ID), cell(r.Request), cell(r.Key), cell(r.Team), cell(r.Session), cell(r.Model), cell(r.Provider), cell(r.Served),
				cell(r.Arm), cell(r.Purpose), number(r.Input), number(r.Cached), number(r.CacheWrite), number(r.Output), number(r.Reasoning), nano, usd, r.PriceVersion,
				strconv.FormatBool(r.Estimated), strconv.Itoa(r.Tools), cell(r.Status), number(r.Took.Milliseconds()), labels})
			if err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	}
	var head []string
	for _, d := range a.Query.By {
		head = append(head, cell(string(d)))
	}
	if err := out.Write(append(head, sumHead...)); err != nil {
		return err
	}
	for i := range a.Sums {
		s := &a.Sums[i]
		var line []string
		for _, v := range s.Group {
			line = append(line, cell(v))
		}
		nano, usd := cost(s.Nano, s.IsPriced())
		for _, n := range []int64{s.Answers, s.Failed, s.Estimated, s.Unpriced, s.Input, s.Cached, s.CacheWrite, s.Output, s.Reasoning, s.Tools, s.TookMS} {
			line = append(line, number(n))
		}
		if err := out.Write(append(line, nano, usd)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// formulas are the signs that a formula begins with, in full width too where spreadsheets are Japanese, and those
// that some pass over on the way to one.
const formulas = "=+-@＝＋－＠\t\r\n"

// cell is a text that no spreadsheet takes for a formula: clients write some of these. Where a ; is between cells, as in much of
// Europe, one within the text begins another cell, and so does the end of a line, quotes or not.
func cell(s string) string {
	if !strings.ContainsAny(s, formulas) {
		return s
	}
	var out strings.Builder
	first := true // of a cell, but for blanks and quotes
	for i, c := range s {
		if first && strings.ContainsRune(formulas, c) && (i == 0 || c > ' ') {
			out.WriteByte('\'')
			first = false
		}
		out.WriteRune(c)
		first = c == ';' || c == '\n' || c == '\r' || first && (c == ' ' || c == '\t' || c == '"')
	}
	return out.String()
}
