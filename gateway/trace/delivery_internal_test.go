package trace

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// broken is an exporter that always fails.
type broken struct{}

func (broken) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return errors.New("no route") }
func (broken) Shutdown(context.Context) error                        { return nil }

// TestLogRate lets a collector be away for 10 minutes with a failure every second.
func TestLogRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := &delivery{inner: broken{}, log: slog.New(slog.NewTextHandler(&log, nil))}
		spans := make([]sdk.ReadOnlySpan, 7)
		for range 600 {
			if err := d.ExportSpans(t.Context(), spans); err != nil {
				t.Fatalf("got %v: the SDK's own handler would be told", err)
			}
			time.Sleep(time.Second)
		}
		if got := strings.Count(log.String(), "\n"); got != 10 {
			t.Errorf("got %d lines, want one a minute:\n%s", got, log.String())
		}
		if got := strings.Count(log.String(), "spans=420 "); got != 9 {
			t.Errorf("got %d lines with the spans of a minute, want 9:\n%s", got, log.String())
		}
		d.report()
		d.report()
		if got := strings.Count(log.String(), "spans=413 "); got != 1 {
			t.Errorf("got %d lines with the rest, want 1:\n%s", got, log.String())
		}
	})
}

// taking is an exporter that never fails.
type taking struct{ broken }

func (taking) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }

// TestQueueEmpties ends four times what the queue holds, with time to send between.
func TestQueueEmpties(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		exporter sdk.SpanExporter
		want     string // part of the log
	}{
		{"collector takes all", taking{}, ""},
		{"collector fails", broken{}, "no route"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				d := &delivery{inner: row.exporter, log: slog.New(slog.NewTextHandler(&log, nil))}
				provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(newQueue(d)))
				for range 4 {
					for range queueSize {
						_, span := provider.Tracer("").Start(t.Context(), "chat")
						span.End()
					}
					time.Sleep(2 * batchDelay)
				}
				if err := provider.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if d.pending.Load() != 0 || strings.Contains(log.String(), errFull.Error()) {
					t.Errorf("got %d spans that wait, and the log %q", d.pending.Load(), log.String())
				}
				if row.want == "" && log.Len() > 0 || !strings.Contains(log.String(), row.want) {
					t.Errorf("got the log %q, want %q in it", log.String(), row.want)
				}
			})
		})
	}
}
