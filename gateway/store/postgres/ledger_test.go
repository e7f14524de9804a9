package postgres_test

import (
	"context"
	"net/url"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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

// TestKilledAnywhere kills gateways whose ledger is a Postgres.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	l, err := postgres.OpenLedger(t.Context(), postgrestest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	billingtest.Killed(t, l, 15)
}

// TestLedgerAway cuts a Book off from its Postgres: all connections end, and new ones are refused, as of a server
// that starts. Meanwhile rows wait; when it is back all are there, once, and the hours' sums with them.
func TestLedgerAway(t *testing.T) {
	t.Parallel()
	database := postgrestest.Database(t)
	l, err := postgres.OpenLedger(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	b, err := billing.NewBook(billing.Options{Ledger: l, Journal: t.TempDir(), Interval: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name := path.Base(u.Path)
	u.Path = "/postgres"
	admin, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	do := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := admin.Exec(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows := billingtest.Rows(1, 1200)
	for i, r := range rows {
		if i%300 == 100 {
			for b.Stats().Away { // since the last time
				time.Sleep(time.Millisecond)
			}
			do("ALTER DATABASE "+name+" ALLOW_CONNECTIONS false", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'")
		}
		if i%300 == 299 {
			for !b.Stats().Away { // it has noticed
				time.Sleep(time.Millisecond)
			}
			do("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true")
		}
		b.Record(r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
	s := b.Stats()
	if s.Written != 1200 || s.Dropped != 0 || s.Queued != 0 || s.LedgerErrors == 0 {
		t.Errorf("got %+v, want 1200 rows that were written", s)
	}
	page, err := l.Rows(t.Context(), billing.Filter{}, billing.Page{Limit: 5000})
	if err != nil || len(page.Rows) != 1200 {
		t.Fatalf("got %d rows, error %v, want 1200", len(page.Rows), err)
	}
	var want, got int64
	for _, r := range rows {
		want += r.Nano
	}
	sums, err := l.Sums(t.Context(), billing.Filter{}, []billing.Dimension{billing.ByTeam}, billing.Page{Limit: 100})
	if err != nil || !sums.Hours {
		t.Fatalf("got %+v, error %v", sums, err)
	}
	for _, s := range sums.Sums {
		got += s.Nano
	}
	if got != want || !slices.IsSortedFunc(page.Rows, func(a, b billing.Row) int { return a.Time.Compare(b.Time) }) {
		t.Errorf("got %d, want %d", got, want)
	}
	t.Logf("the ledger was away 4 times and refused rows %d times; it has all 1200 rows, for %s USD", s.LedgerErrors, billing.USD(got))
}
