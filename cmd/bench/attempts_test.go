package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

func TestPassages(t *testing.T) {
	t.Parallel()
	for _, w := range passages() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			direct, gated, err := w.askers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 12 { // more than a breaker or a bucket of retries takes
				if err := errors.Join(direct(), gated()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestWrongPassages checks that an answer which is not what it should be does not
// count as one.
func TestWrongPassages(t *testing.T) {
	t.Parallel()
	body := request(modelText, true, 1<<10)
	tests := []struct {
		name    string
		passage passage
		bytes   int
		want    string
	}{
		{"a call in text becomes one", passage{mode: gateway.Repair, read: true}, 0, "was changed"},
		{"another length", passage{mode: gateway.Off}, 7, "bytes, want 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := tt.passage.gateway(newInstant(modelText))
			if err != nil {
				t.Fatal(err)
			}
			err = asking(t.Context(), through(g), body, tt.bytes)()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
