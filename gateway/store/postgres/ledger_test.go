package postgres_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/billing/billingtest"
	"github.com/callgate/callgate/gateway/store/postgres"
	"github.com/callgate/callgate/internal/postgrestest"
)

// TestLedger holds the ledger in a Postgres to the contract.
func TestLedger(t *testing.T) {
	t.Parallel()
	billingtest.Run(t, func(t testing.TB) billing.Ledger {
		l, err := postgres.OpenLedger(t.Context(), postgrestest.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		return l
	})
}
