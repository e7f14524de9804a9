package redis

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestQuoted holds that what old servers answer to a command that they do not know, with
// its words, does not reach the log, nor the password an error.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, quote := range []string{"'", "`", `"`} {
		refusal := "ERR unknown command " + quote + "HELLO" + quote + ", with args beginning with: " + quote + "2" + quote + " " + quote + "secret" + quote
		var b bytes.Buffer
		library{slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))}.Printf(t.Context(), "failed: %v", errors.New(refusal))
		if got := b.String(); !strings.Contains(got, "failed: ERR unknown command …") {
			t.Errorf("got %q, want the line up to what is quoted", got)
		}
		c := &Client{secret: "secret"}
		if got := c.clean(errors.New(refusal + "\r\n" + strings.Repeat("é", 1000))).Error(); strings.Contains(got, "secret") || strings.ContainsAny(got, "\r\n") || len(got) > 220 {
			t.Errorf("got %q, want a short line without the password", got)
		}
	}
}
