package cli

import (
	"context"
	"io"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"
)

// jsonLog writes what [slog.JSONHandler] does, and the lines of requests, which are nearly all, by a
// shorter way: with a function that replaces members that one takes several times as long. It leaves
// all lines to it that have more than plain text, numbers and durations.
type jsonLog struct {
	slog.Handler
	out *lockedWriter
}

// newJSONLog makes a handler whose durations are in milliseconds, and say so.
func newJSONLog(w io.Writer, level slog.Leveler) *jsonLog {
	out := &lockedWriter{w: w}
	return &jsonLog{slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: inMilliseconds}), out}
}

// lockedWriter is what both ways write to, a line at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// keptLine is how much memory is kept for the next line.
const keptLine = 16 << 10

var lineRoom = sync.Pool{New: func() any { return new([]byte) }}

// Handle implements slog.Handler.
func (j *jsonLog) Handle(ctx context.Context, r slog.Record) error {
	room := lineRoom.Get().(*[]byte)
	line, ok := appendLine((*room)[:0], r)
	var err error
	if ok {
		_, err = j.out.Write(line)
	}
	if *room = line; cap(line) <= keptLine {
		lineRoom.Put(room)
	}
	if !ok {
		return j.Handler.Handle(ctx, r)
	}
	return err
}

// appendLine appends a line, or reports false for one that it cannot write.
func appendLine(b []byte, r slog.Record) (_ []byte, ok bool) {
	level := r.Level.String()
	if y := r.Time.Year(); r.Time.IsZero() || y < 0 || y > 9999 || !plain(level) || !plain(r.Message) {
		return b, false
	}
	b = r.Time.Round(0).AppendFormat(append(b, `{"time":"`...), time.RFC3339Nano)
	b = append(append(b, `","level":"`...), level...)
	b = append(append(b, `","msg":"`...), r.Message...)
	b = append(b, '"')
	ok = true
	r.Attrs(func(a slog.Attr) bool {
		b, ok = appendMember(b, a)
		return ok
	})
	return append(b, "}\n"...), ok
}

func appendMember(b []byte, a slog.Attr) (_ []byte, ok bool) {
	if !plain(a.Key) {
		return b, false
	}
	b = append(append(b, `,"`...), a.Key...)
	v := a.Value
	if v.Kind() == slog.KindDuration {
		b, v = append(b, unitMilliseconds...), slog.Float64Value(milliseconds(v.Duration()))
	}
	b = append(b, `":`...)
	switch v.Kind() {
	case slog.KindString:
		text := v.String()
		b = append(append(append(b, '"'), text...), '"')
		return b, plain(text)
	case slog.KindInt64:
		return strconv.AppendInt(b, v.Int64(), 10), true
	case slog.KindUint64:
		return strconv.AppendUint(b, v.Uint64(), 10), true
	case slog.KindBool:
		return strconv.AppendBool(b, v.Bool()), true
	case slog.KindFloat64:
		f := v.Float64()
		return strconv.AppendFloat(b, f, 'f', -1, 64), f == 0 && !math.Signbit(f) || f >= 1e-6 && f < 1e21 // as encoding/json without an exponent
	}
	return b, false
}

// plain reports whether a text stands for itself in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
