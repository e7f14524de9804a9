package gateway_test

import (
	"testing"

	"github.com/callgate/callgate/gateway"
)

func TestDollars(t *testing.T) {
	for nano, want := range map[int64]string{
		0: "0", 1: "0.000000001", 10: "0.00000001", 47_500: "0.0000475", 999_999_999: "0.999999999",
		1_000_000_000: "1", 10_000_000_000: "10", 1_500_000_000: "1.5", 100_000_000_001: "100.000000001", 1<<57 - 1: "144115188.075855871",
	} {
		if got := gateway.Dollars(nano); got != want {
			t.Errorf("%d nano dollars are %s, not %s", nano, got, want)
		}
	}
}
