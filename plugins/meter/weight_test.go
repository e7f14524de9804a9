package meter_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/plugins/pluginstest"
)

// TestCompileBombIsWeighed has modules that a compiler takes seconds to hours for: each is
// refused by its figures, with the figure and the limit in one line.
func TestCompileBombIsWeighed(t *testing.T) {
	t.Parallel()
	for _, tt := range pluginstest.CompileBombs() {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			_, err := meter.Rewrite(tt.Wasm, 1000)
			e, ok := errors.AsType[*meter.Error](err)
			if !ok || !e.Heavy || !strings.Contains(e.Msg, tt.Want) || strings.Contains(e.Msg, "\n") {
				t.Errorf("got %v, want %q", err, tt.Want)
			}
		})
	}
}
