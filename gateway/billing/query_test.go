package billing_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/billing/billingtest"
)

var now = time.Date(2026, 11, 23, 7, 40, 0, 0, time.UTC)

func query(t testing.TB, text string) billing.Query {
	t.Helper()
	v, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := billing.ParseQuery(v, now)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestQuery(t *testing.T) {
	t.Parallel()
	plain := query(t, "")
	if want := time.Date(2026, 10, 24, 7, 0, 0, 0, time.UTC); !plain.Filter.From.Equal(want) || plain.Page.Limit != 1000 || plain.Format != billing.JSON || len(plain.By) != 3 {
		t.Errorf("got %+v, want 30 days from %v", plain, want)
	}
	q := query(t, "from=2026-11&to=2026-11-23T07:00:00%2B01:00&team=red&team=blue&session=s&label=cost:a&label=cost:b:c&group=day,label:cost,key&limit=5&format=csv")
	if !q.Filter.From.Equal(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) || !q.Filter.To.Equal(time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v to %v", q.Filter.From, q.Filter.To)
	}
	if want := []billing.Condition{{Dimension: "label:cost", Values: []string{"a", "b:c"}}, {Dimension: billing.BySession, Values: []string{"s"}}, {Dimension: billing.ByTeam, Values: []string{"red", "blue"}}}; !reflect.DeepEqual(q.Filter.Where, want) {
		t.Errorf("got %v, want %v", q.Filter.Where, want)
	}
	if want := []billing.Dimension{billing.ByDay, "label:cost", billing.ByKey}; !reflect.DeepEqual(q.By, want) || q.Page.Limit != 5 || q.Format != billing.CSV {
		t.Errorf("got %+v", q)
	}
	if q := query(t, "group=row"); !q.IsRows {
		t.Errorf("got %+v, want rows", q)
	}
	if q := query(t, "group=total"); q.IsRows || len(q.By) != 0 {
		t.Errorf("got %+v, want one sum", q)
	}
}

func TestQueryMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"form=2026":                        `form: There is no parameter "form"`,
		"from=yesterday":                   "from: The value of from must be a time such as",
		"from=":                            "from: The value of from must be a time such as",
		"to=9999-12-31T23:59:59-01:00":     "to: The value of to must be a time such as",
		"from=0000-01-01T00:00:00%2B01:00": "from: The value of from must be a time such as",
		"from=2026-11-02&to=2026-11-01":    "to: The time of to is not after that of from.",
		"limit=0":                          "limit: The value of limit must be a number from 1 to 10000, not \"0\".",
		"limit=99999999999999999999":       "limit: The value of limit",
		"limit=1&limit=2":                  `limit: The parameter "limit" is there 2 times; keep one.`,
		"format=xml":                       "format: The value of format must be json, csv or jsonl, not \"xml\".",
		"group=day,colour":                 `group: Nothing is grouped by "colour"`,
		"group=day,day":                    "group: The dimension day is in group twice",
		"group=":                           `group: Nothing is grouped by ""`,
		"group=label:":                     `group: Nothing is grouped by "label:"`,
		"group=label:a,label:b,label:c,label:d,label:e,label:f,label:g,label:h,label:i": "group: There are too many dimensions",
		"label=a":                     "label: A label must be name:value",
		"cursor=!":                    "cursor: The cursor is none",
		"cursor=bnVsbA":               "cursor: The cursor is none",
		"hour=3":                      `hour: There is no parameter "hour"`,
		strings.Repeat("key=a&", 101): "key: The parameter key is there 101 times",
	} {
		v, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = billing.ParseQuery(v, now)
		var bad *billing.QueryError
		if !errors.As(err, &bad) || !strings.HasPrefix(bad.Param+": "+bad.Message, want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	l := billing.NewMemory(billing.MemoryLimits{})
	for _, text := range []string{"cursor=WyJhIl0&group=total", "cursor=WyJhIl0&group=row"} {
		var bad *billing.QueryError
		if _, err := billing.Ask(t.Context(), l, query(t, text)); !errors.As(err, &bad) || bad.Param != "cursor" {
			t.Errorf("%s: got %v, want that the cursor is another query's", text, err)
		}
	}
}

// exported asks for all pages of a query.
func exported(t testing.TB, l billing.Ledger, text string) string {
	t.Helper()
	var all bytes.Buffer
	for q := query(t, text); ; {
		a, err := billing.Ask(t.Context(), l, q)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Write(&all); err != nil {
			t.Fatal(err)
		}
		if a.Cursor == "" {
			return all.String()
		}
		q = query(t, text+"&cursor="+a.Cursor)
	}
}

// TestExport holds that all formats say the same, with costs to the nano-dollar, and that what has no price costs
// nothing that could be taken for 0.
func TestExport(t *testing.T) {
	t.Parallel()
	l := billing.NewMemory(billing.MemoryLimits{})
	rows := billingtest.Rows(1, 50)
	rows[0].Model, rows[0].Session = "=HYPERLINK(\"http://x\")", "-1+2"
	if _, err := l.Put(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	byID := map[string]billing.Row{}
	for _, r := range rows {
		byID[r.ID] = r
	}
	for _, format := range []string{"jsonl&limit=7", "jsonl", "json"} {
		text := exported(t, l, "from=2026-10&group=row&format="+format)
		var records []billing.Record
		if format == "json" {
			var page struct{ Entries []billing.Record }
			if err := json.Unmarshal([]byte(text), &page); err != nil {
				t.Fatal(err)
			}
			records = page.Entries
		} else {
			for line := range strings.Lines(text) {
				var r billing.Record
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				records = append(records, r)
			}
		}
		if len(records) != 50 {
			t.Errorf("%s: got %d rows, want 50", format, len(records))
		}
		for _, r := range records {
			want := byID[r.ID]
			if r.Input != want.Input || (r.Nano != nil) != want.Priced || want.Priced && (*r.Nano != want.Nano || *r.USD != billing.USD(want.Nano)) {
				t.Errorf("%s: got %+v, want %+v", format, r, want)
			}
		}
	}
	table, err := csv.NewReader(strings.NewReader(exported(t, l, "from=2026-10&group=row&format=csv"))).ReadAll()
	if err != nil || len(table) != 51 {
		t.Fatalf("got %d lines, error %v", len(table), err)
	}
	at := map[string]int{}
	for i, name := range table[0] {
		at[name] = i
	}
	for _, line := range table[1:] {
		want := byID[line[at["id"]]]
		usd := ""
		if want.Priced {
			usd = billing.USD(want.Nano)
		}
		if line[at["cost_usd"]] != usd || want.ID == rows[0].ID && (line[at["model"]] != "'"+want.Model || line[at["session"]] != "'-1+2") {
			t.Errorf("got %q, want %+v", line, want)
		}
	}
	sums, err := csv.NewReader(strings.NewReader(exported(t, l, "from=2026-10&group=label:cost.center,team&format=csv"))).ReadAll()
	if err != nil || len(sums) < 4 || strings.Join(sums[0][:4], ",") != "label:cost.center,team,answers,failed" {
		t.Errorf("got %q, error %v", sums, err)
	}
	unpriced := exported(t, l, "from=2026-10&group=price_version")
	if !strings.Contains(unpriced, `"cost_usd": null`) {
		t.Errorf("got %s, want that what has no price has no cost", unpriced)
	}
}

func TestUSD(t *testing.T) {
	t.Parallel()
	for nano, want := range map[int64]string{0: "0.000000000", 1: "0.000000001", 47_500: "0.000047500", 1_234_567_891: "1.234567891", -5: "-0.000000005", -1 << 63: "-9223372036.854775808"} {
		if got := billing.USD(nano); got != want {
			t.Errorf("%d: got %s, want %s", nano, got, want)
		}
	}
}

// TestFormulas holds that no text of a client is a formula where a spreadsheet reads the table, however it begins.
func TestFormulas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@sum(1)": "'@sum(1)", "\t=1": "'\t=1", "\r=1": "'\r'=1", "\n=1": "'\n'=1",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠sum(1)": "'＠sum(1)", "é=1": "é=1", "a-b": "a-b", "": "",
	} {
		a := billing.Answer{Query: billing.Query{By: []billing.Dimension{billing.BySession}, Format: billing.CSV}, Sums: []billing.Sum{{Group: []string{text}}}}
		var out strings.Builder
		if err := a.Write(&out); err != nil {
			t.Fatal(err)
		}
		table, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		if err != nil || len(table) != 2 || table[1][0] != want {
			t.Errorf("%q: got %q, error %v, want %q", text, out.String(), err, want)
		}
	}
}
