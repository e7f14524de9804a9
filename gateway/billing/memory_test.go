package billing_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/billing/billingtest"
)

// TestMemory holds the ledger in memory to the contract.
func TestMemory(t *testing.T) {
	t.Parallel()
	billingtest.Run(t, func(testing.TB) billing.Ledger { return billing.NewMemory(billing.MemoryLimits{}) })
}

// TestKilledAnywhere kills gateways whose ledger outlives them, as one in another process does.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	billingtest.Killed(t, billing.NewMemory(billing.MemoryLimits{Rows: 1 << 20}), 60)
}

// TestMemoryBounds holds that the oldest make room, and that it is said since when all is there.
func TestMemoryBounds(t *testing.T) {
	t.Parallel()
	l := billing.NewMemory(billing.MemoryLimits{Rows: 100, Hours: 20})
	rows := billingtest.Rows(1, 1000)
	for i := range rows {
		if _, err := l.Put(t.Context(), rows[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	page, err := l.Rows(t.Context(), billing.Filter{}, billing.Page{Limit: 1000})
	if err != nil || len(page.Rows) > 100 || len(page.Rows) == 0 || page.Since.IsZero() || page.Rows[0].Time.Before(page.Since) {
		t.Errorf("got %d rows since %v, error %v, want at most 100, none before", len(page.Rows), page.Since, err)
	}
	sums, err := l.Sums(t.Context(), billing.Filter{}, []billing.Dimension{billing.ByHour, billing.ByKey}, billing.Page{Limit: 1000})
	if err != nil || len(sums.Sums) > 20 || sums.Since.IsZero() {
		t.Errorf("got %d hours since %v, error %v, want at most 20", len(sums.Sums), sums.Since, err)
	}
}
