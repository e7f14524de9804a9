package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/keys/keystest"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/postgres"
	"github.com/callgate/callgate/gateway/store/storetest"
	"github.com/callgate/callgate/internal/postgrestest"
)

func TestMain(m *testing.M) {
	code := postgrestest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func open(t testing.TB, url string, o store.Options) store.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestContract holds the store in a Postgres to the contract.
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB, o store.Options) store.Store { return open(t, postgrestest.Database(t), o) })
}

// TestKeys holds the keys in a Postgres to theirs.
func TestKeys(t *testing.T) {
	t.Parallel()
	keeper := func(t testing.TB, url string) keys.Keeper {
		return open(t, url, storetest.Options()).(interface{ Keys() keys.Keeper }).Keys()
	}
	keystest.Run(t, func(t testing.TB) keys.Keeper { return keeper(t, postgrestest.Database(t)) })
	url := postgrestest.Database(t)
	keystest.Shared(t, keeper(t, url), keeper(t, url))
}

// TestShared has two gateways at one database, which make its tables at the same time.
func TestShared(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	stores := make([]store.Store, 4)
	var g errgroup.Group
	for i := range stores {
		g.Go(func() (err error) {
			stores[i], err = postgres.Open(context.Background(), url, storetest.Options())
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, s := range stores {
		defer s.Close()
	}
	storetest.Shared(t, stores[0], stores[1])
}

// TestOpenMistakes holds that what is wrong is said without the password.
func TestOpenMistakes(t *testing.T) {
	t.Parallel()
	there, err := url.Parse(postgrestest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	there.User, there.Path = url.UserPassword("nobody", "secret"), "/none"
	for url, want := range map[string]string{
		"postgres://x:secret@127.0.0.1:1/x":              "connect",
		"postgres://x:secret@127.0.0.1:port/x":           "the URL is not",
		"http://x:secret@127.0.0.1/x":                    "the URL is not",
		"postgres://x:secret@127.0.0.1/x?sslmode=secret": "the URL is not",
		there.String(): "does not exist",
	} {
		_, err := postgres.Open(t.Context(), url, storetest.Options())
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in one line, without the password", url, err, want)
		}
		if away := want == "connect"; errors.Is(err, store.ErrAway) != away || away && strings.Count(err.Error(), "refused") != 1 {
			t.Errorf("%s: got error %v, which is store.ErrAway: %t; want it said once, and that only of a server that is away", url, err, !away)
		}
	}
}

func BenchmarkTurn(b *testing.B) {
	storetest.Bench(b, open(b, postgrestest.Database(b), storetest.Options()))
}
