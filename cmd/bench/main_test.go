package main

import (
	"io"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, args, message string }{
		{"no section", "-only nothing", "fits nothing"},
		{"bad regexp", "-only (", "missing closing"},
		{"short", "-time 1ms", "want 100ms to 1m"},
		{"unknown", "-nothing", "not defined"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), strings.Fields(tt.args), io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %v, want an error with %q", err, tt.message)
			}
		})
	}
}
