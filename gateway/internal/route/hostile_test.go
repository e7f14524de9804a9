package route_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/internal/steps"
)

// TestGlobLong holds that no pattern makes a long value slow.
func TestGlobLong(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		const small, factor = 1 << 12, 16
		g := route.NewGlob(strings.Repeat("a*", 100) + "b")
		work := func(n int) func() {
			text := strings.Repeat("a", n)
			return func() {
				if g.Match(text) {
					t.Error("got a match, want none")
				}
			}
		}
		steps.Linear(t, factor, work(small), work(small*factor))
	})
}
