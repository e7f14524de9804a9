package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/billing/billingtest"
	"github.com/callgate/callgate/gateway/store/sqlite"
	"github.com/callgate/callgate/gateway/store/storetest"
)

// TestLedger holds the ledger in a file to the contract, beside a store in the same file.
func TestLedger(t *testing.T) {
	t.Parallel()
	billingtest.Run(t, func(t testing.TB) billing.Ledger {
		file := filepath.Join(t.TempDir(), "store.db")
		open(t, file, storetest.Options())
		l, err := sqlite.OpenLedger(t.Context(), file)
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

// TestKilledAnywhere kills gateways whose ledger is a file.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	l, err := sqlite.OpenLedger(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	billingtest.Killed(t, l, 30)
}
