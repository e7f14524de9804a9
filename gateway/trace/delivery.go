package trace

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// logEvery is how often the log is told of lost spans, at most.
const logEvery = time.Minute

// Why spans are lost, where no collector says it.
var (
	errFull    = errors.New("the queue is full: the collector is too slow, or gone")
	errAborted = errors.New("the gateway shut down before they were sent")
)

// delivery is the exporter that the queue sends to. It counts what is lost and tells
// our log, where the SDK would tell a handler that is global, or nobody.
type delivery struct {
	inner   sdk.SpanExporter
	log     *slog.Logger
	pending atomic.Int64 // spans that ended and are not sent yet
	aborted atomic.Bool

	mu   sync.Mutex
	lost int   // spans that the log was not told of
	last error // the reason for the latest of them
	told time.Time
}

var _ sdk.SpanExporter = (*delivery)(nil)

// ExportSpans implements sdk.SpanExporter. Failures are dealt with here.
func (d *delivery) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := errAborted
	if !d.aborted.Load() {
		err = d.inner.ExportSpans(ctx, spans)
	}
	d.pending.Add(-int64(len(spans)))
	if err != nil {
		d.lose(len(spans), err)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (d *delivery) Shutdown(ctx context.Context) error { return d.inner.Shutdown(ctx) }

// abort ends the upload under way and lets all others fail at once.
func (d *delivery) abort() {
	d.aborted.Store(true)
	_ = d.inner.Shutdown(context.Background()) // closes a channel that the upload looks at; it cannot fail
}

// lose notes lost spans, and tells the log unless it was told not long ago.
func (d *delivery) lose(spans int, err error) {
	d.mu.Lock()
	d.lost += spans
	d.last = err
	quiet := time.Since(d.told) < logEvery
	d.mu.Unlock()
	if !quiet {
		d.report()
	}
}

// report tells the log of lost spans that it does not know of. The lock is not held
// while the log is written: others that lose spans need not wait for it.
func (d *delivery) report() {
	d.mu.Lock()
	lost, err := d.lost, d.last
	if lost > 0 {
		d.lost, d.told = 0, time.Now()
	}
	d.mu.Unlock()
	if lost > 0 {
		// A collector that took part of a batch is an error, too; then it is fewer.
		d.log.Warn("traces were not delivered", "spans", lost, "error", telemetry.Text(err.Error(), maxText))
	}
}

// queue is the SDK's batch processor behind a gate that knows when it is full. The
// processor by itself drops spans without a word.
type queue struct {
	sdk.SpanProcessor
	delivery *delivery
}

func newQueue(d *delivery) queue {
	return queue{sdk.NewBatchSpanProcessor(d, sdk.WithMaxQueueSize(queueSize), sdk.WithMaxExportBatchSize(batchSize),
		sdk.WithBatchTimeout(batchDelay), sdk.WithExportTimeout(exportTimeout)), d}
}

// OnEnd implements sdk.SpanProcessor.
func (q queue) OnEnd(s sdk.ReadOnlySpan) {
	switch {
	case !s.SpanContext().IsSampled():
	case q.delivery.pending.Add(1) > queueSize:
		q.delivery.pending.Add(-1)
		q.delivery.lose(1, errFull)
	default:
		q.SpanProcessor.OnEnd(s)
	}
}
