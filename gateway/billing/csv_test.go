package billing_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/billing"
)

// TestExportTexts holds that what clients write comes back from an export as it was, but for the ' in front of a formula,
// and that the largest amounts have all their digits.
func TestExportTexts(t *testing.T) {
	t.Parallel()
	texts := []string{`a,b`, `say "hi"`, "two\nlines", " blank", `\.`, "=cmd|' /C calc'!A0", "+1", "-1", "@x", "＝1", "\t=1", "日本", "", "'=1", "a;b"}
	for _, text := range texts {
		r := billing.Row{ID: "id", Time: time.Date(2026, 10, 31, 23, 59, 59, 999e6, time.UTC), Key: text, Model: text, Session: text, Labels: map[string]string{"n": text},
			Input: 1 << 40, Nano: math.MaxInt64, Priced: true, PriceVersion: "v", Status: "ok"}
		a := billing.Answer{Query: billing.Query{IsRows: true, Format: billing.CSV}, Rows: []billing.Row{r}}
		var out bytes.Buffer
		if err := a.Write(&out); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(lines) != 2 {
			t.Fatalf("%q: got %q, error %v", text, lines, err)
		}
		of := func(name string) string { return lines[1][slices.Index(lines[0], name)] }
		want := text
		if slices.Contains(texts[5:11], text) {
			want = "'" + text
		}
		var labels map[string]string
		if err := json.Unmarshal([]byte(of("labels")), &labels); err != nil || labels["n"] != text {
			t.Errorf("%q: got the labels %s, error %v", text, of("labels"), err)
		}
		if of("key") != want || of("model") != want || of("session") != want || of("cost_nano_usd") != strconv.Itoa(math.MaxInt64) || of("cost_usd") != "9223372036.854775807" || of("time") != "2026-10-31T23:59:59.999Z" {
			t.Errorf("got %q, want %q", lines[1], want)
		}
		a.Query.Format = billing.JSONL
		out.Reset()
		var record billing.Record
		if err := a.Write(&out); err != nil || json.Unmarshal(out.Bytes(), &record) != nil || record.Key != text || *record.Nano != math.MaxInt64 || record.Labels["n"] != text {
			t.Errorf("%q: got %s, error %v", text, &out, err)
		}
	}
}

// TestExportCells holds that no text of a client begins a cell with a formula, also where a spreadsheet has ; between the cells, as many do in
// Europe: it takes quotes within a cell for text, and a line's end within them for that of the line.
func TestExportCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x;=cmd|' /C calc'!A0":      "x;'=cmd|' /C calc'!A0",
		"x; =1+1":                   "x; '=1+1",
		"x;\"=1+1":                  "x;\"'=1+1",
		"x;;+1":                     "x;;'+1",
		"x\n=1+1;":                  "x\n'=1+1;",
		"x\r\n@SUM(A1)":             "x\r\n'@SUM(A1)",
		"\n=1":                      "'\n'=1",
		" =1":                       " '=1",
		"\"=1":                      "\"'=1",
		"a;b; c=1, d-2":             "a;b; c=1, d-2",
		"two\nlines; and a third":   "two\nlines; and a third",
		"\u65e5\u672c;\uff1d1":      "\u65e5\u672c;'\uff1d1",
		"gpt-4o;v=2":                "gpt-4o;v=2",
		"https://host/?a=1;b=2,-3;": "https://host/?a=1;b=2,-3;",
	} {
		r := billing.Row{ID: "id", Time: time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC), Model: text, Status: "ok"}
		rows := billing.Answer{Query: billing.Query{IsRows: true, Format: billing.CSV}, Rows: []billing.Row{r}}
		sums := billing.Answer{Query: billing.Query{By: []billing.Dimension{billing.ByModel}, Format: billing.CSV}, Sums: []billing.Sum{{Group: []string{text}}}}
		for _, a := range []billing.Answer{rows, sums} {
			var out bytes.Buffer
			if err := a.Write(&out); err != nil {
				t.Fatal(err)
			}
			lines, err := csv.NewReader(&out).ReadAll()
			if err != nil || len(lines) != 2 {
				t.Fatalf("%q: got %q, error %v", text, lines, err)
			}
			if got := lines[1][slices.Index(lines[0], "model")]; strings.ReplaceAll(got, "\n", "") != strings.NewReplacer("\r", "", "\n", "").Replace(want) {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
	}
}
