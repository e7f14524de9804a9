package catalogue_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

// TestWhy holds that a cause which the problem has said already is not said twice.
func TestWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ problem, cause, want string }{
		{"It does not answer.", "", "It does not answer."},
		{"It does not answer.", "connection refused", "It does not answer: connection refused"},
		{"It is refused: its name leads to this machine.", "its name leads to this machine", "It is refused: its name leads to this machine."},
	} {
		if got := (catalogue.Status{Problem: tt.problem, Cause: tt.cause}).Why(); got != tt.want {
			t.Errorf("%q, %q: got %q, want %q", tt.problem, tt.cause, got, tt.want)
		}
	}
}
