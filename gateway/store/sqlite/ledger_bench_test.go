package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/billing/billingtest"
	"github.com/callgate/callgate/gateway/store/sqlite"
)

// BenchmarkPut is a batch of rows into the ledger, as the journal's writer puts them.
func BenchmarkPut(b *testing.B) {
	l, err := sqlite.OpenLedger(b.Context(), filepath.Join(b.TempDir(), "usage.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	rows := billingtest.Rows(1, billing.PutMost)
	n := 0
	for b.Loop() {
		for i := range rows {
			n++
			rows[i].ID = fmt.Sprint(n)
		}
		if _, err := l.Put(b.Context(), rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/row")
}
