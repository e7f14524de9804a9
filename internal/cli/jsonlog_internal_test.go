package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"testing"
	"time"
)

// TestJSONLog holds that the short way writes every line as slog does.
func TestJSONLog(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 20, 0, 16, 452427919, time.UTC)
	for _, tt := range []struct {
		name  string
		short bool // the line goes the short way
		at    time.Time
		level slog.Level
		msg   string
		attrs []slog.Attr
	}{
		{"a request", true, at, slog.LevelInfo, "request", []slog.Attr{
			slog.String("id", "req_1"), slog.Int("status", 200), slog.Duration("took", 6904*time.Microsecond), slog.Int64("bytes", -3), slog.Uint64("n", 1<<63),
			slog.Bool("stream", true), slog.Any("route", "*"), slog.Any("overhead", 214*time.Microsecond),
		}},
		{"durations", true, at, slog.LevelWarn, "m", []slog.Attr{
			slog.Duration("none", 0), slog.Duration("tiny", 499), slog.Duration("one", time.Microsecond), slog.Duration("long", math.MaxInt64), slog.Duration("ms", time.Millisecond),
		}},
		{"floats", true, at, slog.LevelError + 2, "m", []slog.Attr{slog.Float64("a", 0.1), slog.Float64("b", 1e20), slog.Float64("c", 0), slog.Float64("d", 123456789.125), slog.Float64("e", 1e-6)}},
		{"a local time", true, at.In(time.FixedZone("X", 5400)), slog.LevelInfo, "m", nil},
		{"an empty name", true, at, slog.LevelInfo, "", []slog.Attr{slog.String("", "")}},
		{"a long duration back", false, at, slog.LevelInfo, "m", []slog.Attr{slog.Duration("d", -time.Hour)}},
		{"a small float", false, at, slog.LevelInfo, "m", []slog.Attr{slog.Float64("a", 1e-7)}},
		{"a large float", false, at, slog.LevelInfo, "m", []slog.Attr{slog.Float64("a", 1e21)}},
		{"no number", false, at, slog.LevelInfo, "m", []slog.Attr{slog.Float64("a", math.NaN())}},
		{"minus null", false, at, slog.LevelInfo, "m", []slog.Attr{slog.Float64("a", math.Copysign(0, -1))}},
		{"escapes", false, at, slog.LevelInfo, "m", []slog.Attr{slog.String("a", "b"), slog.String("c", "\"<\n\x01\x7fé\xff\u2028")}},
		{"a message with a quote", false, at, slog.LevelInfo, `a "b"`, []slog.Attr{slog.String("a", "b")}},
		{"a name with a quote", false, at, slog.LevelInfo, "m", []slog.Attr{slog.String(`a"`, "b")}},
		{"an error", false, at, slog.LevelInfo, "m", []slog.Attr{slog.Any("error", errors.New("e"))}},
		{"a group", false, at, slog.LevelInfo, "m", []slog.Attr{slog.Group("g", slog.Duration("d", 5))}},
		{"a time", false, at, slog.LevelInfo, "m", []slog.Attr{slog.Time("t", at)}},
		{"nothing", false, at, slog.LevelInfo, "m", []slog.Attr{{}}},
		{"no time", false, time.Time{}, slog.LevelInfo, "m", []slog.Attr{slog.Int("a", 1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := slog.NewRecord(tt.at, tt.level, tt.msg, 0)
			r.AddAttrs(tt.attrs...)
			var got, want bytes.Buffer
			if err := newJSONLog(&got, slog.LevelDebug).Handle(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if err := slog.NewJSONHandler(&want, &slog.HandlerOptions{ReplaceAttr: inMilliseconds}).Handle(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Errorf("got  %swant %s", &got, &want)
			}
			if _, ok := appendLine(nil, r); ok != tt.short {
				t.Errorf("the short way: %t, want %t", ok, tt.short)
			}
		})
	}
}

// TestJSONLogWith holds that members of a logger, and groups, are there.
func TestJSONLogWith(t *testing.T) {
	t.Parallel()
	var got, want bytes.Buffer
	for _, h := range []slog.Handler{newJSONLog(&got, slog.LevelInfo), slog.NewJSONHandler(&want, &slog.HandlerOptions{ReplaceAttr: inMilliseconds})} {
		r := slog.NewRecord(time.Unix(1, 0), slog.LevelInfo, "m", 0)
		r.AddAttrs(slog.Duration("b", time.Second))
		if err := h.WithAttrs([]slog.Attr{slog.Duration("a", time.Second)}).WithGroup("g").Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if h.Enabled(t.Context(), slog.LevelDebug) {
			t.Error("a line below the level is written")
		}
	}
	if got.String() != want.String() {
		t.Errorf("got  %swant %s", &got, &want)
	}
}

// TestJSONLogAllocations holds that the line of a request takes no memory.
func TestJSONLogAllocations(t *testing.T) { // not parallel: all allocations are counted
	h := newJSONLog(io.Discard, slog.LevelInfo)
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	r.AddAttrs(slog.String("id", "req_1"), slog.Duration("took", 6904*time.Microsecond), slog.Int("status", 200))
	if n := testing.AllocsPerRun(100, func() { _ = h.Handle(context.Background(), r) }); n >= 1 {
		t.Errorf("%.1f allocations a line", n)
	}
}

func BenchmarkJSONLog(b *testing.B) {
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	r.AddAttrs(slog.String("id", "req_6fdzpc6quek5ekrxouygbmu6"), slog.String("method", "POST"), slog.String("path", "/v1/chat/completions"), slog.Int("status", 200),
		slog.Duration("took", 6904*time.Microsecond), slog.Int64("bytes", 22968), slog.String("model", "clean"), slog.Bool("stream", true), slog.String("provider", "mock"),
		slog.String("upstream_model", "clean"), slog.Duration("overhead", 214*time.Microsecond), slog.Int("calls", 0), slog.Duration("first_token", 6576*time.Microsecond), slog.String("route", "*"))
	for name, h := range map[string]slog.Handler{"short": newJSONLog(io.Discard, slog.LevelInfo), "slog": newJSONLog(io.Discard, slog.LevelInfo).Handler} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = h.Handle(context.Background(), r)
			}
		})
	}
}
