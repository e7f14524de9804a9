package trial

import (
	"context"
	"log/slog"
	"strings"

	"github.com/callgate/callgate/internal/plaintext"
)

// printed is a handler of the host's log that keeps what a plugin has printed.
type printed struct{ text string }

// Enabled implements slog.Handler.
func (*printed) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (p *printed) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "plugin printed" {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "text" {
				p.text = a.Value.String()
			}
			return true
		})
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (p *printed) WithAttrs([]slog.Attr) slog.Handler { return p }

// WithGroup implements slog.Handler.
func (p *printed) WithGroup(string) slog.Handler { return p }

func (p *printed) reset() { p.text = "" }

// maxPrinted is how much of what a plugin printed is shown.
const maxPrinted = 200

// firstLine is the beginning of what was printed.
func (p *printed) firstLine() string {
	s, _, _ := strings.Cut(p.text, "\n")
	return plaintext.Excerpt(s, maxPrinted)
}
