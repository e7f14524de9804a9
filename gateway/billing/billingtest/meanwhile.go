package billingtest

import (
	"testing"

	"github.com/callgate/callgate/gateway/billing"
)

// testWrittenMeanwhile holds what an export can rely on whose pages are read while rows are written, of which some are older than the page: those
// are behind its cursor, and whoever asks once more from before them has them too, and no row twice in the pages of one export.
func testWrittenMeanwhile(t *testing.T, l billing.Ledger) {
	rows := sorted(Rows(1, 400))
	var first, later []billing.Row
	for i, r := range rows {
		if i%4 == 3 {
			later = append(later, r)
		} else {
			first = append(first, r)
		}
	}
	put(t, l, first)
	var got []billing.Row
	p := billing.Page{Limit: 50}
	for more := true; more; more = p.After != nil {
		page, err := l.Rows(t.Context(), billing.Filter{}, p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page.Rows...)
		if p.After = page.Next; len(got) == 150 {
			put(t, l, later)
		}
	}
	behind := first[149]
	var want []billing.Row
	for i, r := range rows {
		if i%4 != 3 || r.Time.After(behind.Time) {
			want = append(want, r)
		}
	}
	same(t, "rows of the export", got, want)
	same(t, "rows of the next one", all(t, l, billing.Filter{}, 50), rows)
}
