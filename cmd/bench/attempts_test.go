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
		name     string
		passage  passage
		attempts int
		bytes    int
		want     string
	}{
		{"a call in text becomes one", passage{mode: gateway.Repair, read: true}, 1, 0, "was changed"},
		{"another number of attempts", passage{mode: gateway.Off, failed: true}, 1, 0, "2 attempts, want 1"},
		{"another length", passage{mode: gateway.Off}, 1, 7, "bytes, want 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, _, err := tt.passage.gateway(newInstant(modelText))
			if err != nil {
				t.Fatal(err)
			}
			err = asking(t.Context(), through(g, tt.attempts), body, tt.bytes)()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestOffering(t *testing.T) {
	t.Parallel()
	body := offering(request(modelNative, false, 1<<10), 32)
	tools, err := gateway.ReadTools(parsed(t, body).ToolsJSON())
	if err != nil || len(tools) != 33 || tools[31].Name != "tool_31" || len(tools[0].Params) != 4 || tools[32].Name != "write_file" {
		t.Errorf("%d tools, %v, want 33: %+v", len(tools), err, tools)
	}
	if n := (len(body) - 1<<10) / 32; n < 500 || n > 900 {
		t.Errorf("a tool has %d bytes, want some 700", n)
	}
}
