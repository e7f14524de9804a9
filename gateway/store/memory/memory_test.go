package memory_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
	"github.com/callgate/callgate/gateway/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestContract holds the store in memory to the contract.
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB, o store.Options) store.Store {
		s, err := memory.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func BenchmarkTurn(b *testing.B) {
	s, err := memory.New(storetest.Options())
	if err != nil {
		b.Fatal(err)
	}
	storetest.Bench(b, s)
}
