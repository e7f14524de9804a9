package jsonlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"testing"
	"testing/slogtest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestRules holds our handler to the rules that the standard library has for handlers.
func TestRules(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return New(&out, slog.LevelInfo)
	}, func(t *testing.T) map[string]any {
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%q: %v", out.String(), err)
		}
		return line
	})
}

// TestLikeLibrary holds that our lines say what the library's say, of values of every kind.
func TestLikeLibrary(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		var attrs []slog.Attr
		for range rapid.IntRange(0, 9).Draw(t, "attrs") {
			attrs = append(attrs, attr(t, text))
		}
		level := slog.Level(rapid.IntRange(-10, 12).Draw(t, "level"))
		r := slog.NewRecord(time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanos")), level, text.Draw(t, "msg"), 0)
		r.AddAttrs(attrs...)
		var given []slog.Attr
		if rapid.Bool().Draw(t, "with") {
			given = append(given, attr(t, text))
		}
		var ours, theirs bytes.Buffer
		for _, h := range []slog.Handler{New(&ours, slog.LevelDebug), slog.NewJSONHandler(&theirs, &slog.HandlerOptions{ReplaceAttr: plainly})} {
			if err := h.WithAttrs(given).Handle(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		got, want := tokens(t, ours.Bytes()), tokens(t, theirs.Bytes())
		if !slices.Equal(got, want) {
			t.Fatalf("got  %s\nwant %s", ours.String(), theirs.String())
		}
	})
}

// logAttr is an attribute of any kind.
func attr(t *rapid.T, text *rapid.Generator[string]) slog.Attr {
	name := rapid.OneOf(rapid.SampledFrom([]string{"took", "n", "time"}), text).Draw(t, "name")
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		return slog.Int64(name, rapid.Int64().Draw(t, "int"))
	case 1:
		return slog.Uint64(name, rapid.Uint64().Draw(t, "uint"))
	case 2:
		return slog.Float64(name, rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Inf(1), math.NaN(), 1e-9, 1e30})).Draw(t, "float"))
	case 3:
		return slog.Duration(name, time.Duration(rapid.Int64().Draw(t, "duration")))
	case 4:
		return slog.Time(name, time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"), 1).UTC())
	case 5:
		return slog.Any(name, errors.New(text.Draw(t, "error")))
	case 6:
		return slog.Any(name, map[string]any{text.Draw(t, "key"): []string{text.Draw(t, "value"), "<&>"}})
	case 7:
		return slog.Any(name, rapid.SampledFrom([]any{nil, slog.LevelWarn, []byte("a"), 2.5, true, func() {}, struct{ A string }{"<"}}).Draw(t, "any"))
	case 8:
		return slog.Bool(name, rapid.Bool().Draw(t, "bool"))
	case 9:
		return slog.Attr{}
	case 10:
		return slog.GroupAttrs(name, attr(t, text), slog.Int("in", 1))
	}
	return slog.String(name, text.Draw(t, "text"))
}

// tokens are those of a line, which is one object.
func tokens(t *rapid.T, line []byte) (list []string) {
	if !utf8.Valid(line) || bytes.Count(line, []byte("\n")) != 1 || !bytes.HasSuffix(line, []byte("\n")) {
		t.Fatalf("%q is not one line of UTF-8", line)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, fmt.Sprintf("%T %v", token, token))
	}
}

// BenchmarkHandler writes the line of a request.
func BenchmarkHandler(b *testing.B) {
	attrs := []slog.Attr{
		slog.String("id", "req_bicv4szhp2ghhdt5aokyekzr"), slog.String("method", "POST"), slog.String("path", "/v1/chat/completions"),
		slog.Int("status", 200), slog.Duration("took", 8770*time.Microsecond), slog.Int64("bytes", 357), slog.String("model", "demo/native"),
		slog.Bool("stream", false), slog.String("provider", "demo"), slog.String("upstream_model", "native"),
		slog.Duration("overhead", 2649*time.Microsecond), slog.Int("calls", 0), slog.Duration("first_token", 8232*time.Microsecond), slog.String("route", "demo/*"),
	}
	for _, h := range []slog.Handler{New(io.Discard, slog.LevelInfo), slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{ReplaceAttr: plainly})} {
		log := slog.New(h)
		b.Run(fmt.Sprintf("%T", h), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				log.LogAttrs(b.Context(), slog.LevelInfo, "request", attrs...)
			}
		})
	}
}
