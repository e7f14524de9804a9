package redis

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"
)

// LogTo leads what the library says for itself, in the whole process, to a log. That is a
// line for each connection that fails, so they are for debugging: whoever calls knows of
// the failure, and says it once.
func LogTo(log *slog.Logger) { redis.SetLogger(library{log}) }

type library struct{ log *slog.Logger }

// Printf implements the library's interface. What a server quotes of a command, which may
// be the password, does not go on.
func (l library) Printf(ctx context.Context, format string, v ...any) {
	if !l.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	text := fmt.Sprintf(format, v...)
	if quote := strings.IndexAny(text, "\"'`"); quote >= 0 {
		text = text[:quote] + "…"
	}
	l.log.DebugContext(ctx, "redis library", "message", text)
}
