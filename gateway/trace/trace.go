// Package trace sends OpenTelemetry traces: one span for each request of a client, and below it
// one for each request to an upstream and for each call of a tool. It is the only importer of
// OpenTelemetry, and off unless an endpoint is configured.
//
// Spans say which model and provider were asked, how it ended, how many tokens it took
// and what was repaired. They never hold prompts, answers, arguments, results or keys.
//
// Nothing here can hold up a request. Ended spans wait in a queue of 2048; a goroutine
// sends them. If the collector is slow or gone, spans are dropped, and the log says how
// many, at most once a minute.
package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
)

// Options are what a Tracer is made of.
type Options struct {
	// Endpoint is the OTLP/HTTP collector's base URL, such as http://127.0.0.1:4318.
	// "/v1/traces" is added to its path unless it ends so. Empty means no traces.
	Endpoint string
	// Headers go with each request to the collector, such as its key. Without any, those
	// of OTEL_EXPORTER_OTLP_HEADERS do.
	Headers map[string]string
	// Sample is the share, 0 to 1, of the requests without a traceparent that are traced.
	// Of those with one its own flag decides.
	Sample float64
	// Version is the gateway's.
	Version string
	// Log is told when spans are lost. It may be nil.
	Log *slog.Logger
}

// Bounds of the export.
const (
	queueSize     = 2048 // spans, with those being sent
	batchSize     = 512
	batchDelay    = 5 * time.Second
	exportTimeout = 10 * time.Second // for a batch, over all tries
	maxAnswer     = 64 << 10         // bytes of a collector's answer
)

// Bounds of one span.
const (
	maxText       = 256 // bytes of an attribute
	maxList       = 32  // values of an attribute
	maxAttributes = 64
	maxEvents     = 64
)

// Tracer makes spans. A nil *Tracer makes none, and costs nothing. It is safe for
// concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	delivery *delivery
	latest   bool // the conventions' latest names, as OTEL_SEMCONV_STABILITY_OPT_IN asks for
}

// New makes a tracer, or returns nil if no endpoint is given. It does not wait for the
// collector. The wiring calls Shutdown in the end. What OTEL_RESOURCE_ATTRIBUTES and
// OTEL_SERVICE_NAME say is added to each span, and OTEL_EXPORTER_OTLP_CERTIFICATE,
// _CLIENT_KEY, _CLIENT_CERTIFICATE and _COMPRESSION hold for the connection. With gen_ai_latest_experimental in
// OTEL_SEMCONV_STABILITY_OPT_IN spans are as the latest conventions for generative AI have them.
func New(ctx context.Context, o Options) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil //nolint:nilnil // a nil tracer is one that is off
	}
	endpoint, err := tracesURL(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if !(o.Sample >= 0 && o.Sample <= 1) { // also NaN
		return nil, fmt.Errorf("traces: the share of requests is %v, not from 0 to 1", o.Sample)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	exporter, err := newExporter(ctx, endpoint, o.Headers)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	d := &delivery{inner: exporter, log: o.Log}
	provider := sdk.NewTracerProvider(
		sdk.WithSpanProcessor(newQueue(d)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(o.Sample))),
		sdk.WithResource(newResource(ctx, o)),
		sdk.WithRawSpanLimits(spanLimits()),
	)
	scope := "github.com/callgate/callgate/gateway/trace"
	return &Tracer{provider, provider.Tracer(scope, trace.WithInstrumentationVersion(o.Version)), d, optedIn(os.Getenv("OTEL_SEMCONV_STABILITY_OPT_IN"))}, nil
}

// optedIn reads OTEL_SEMCONV_STABILITY_OPT_IN, a list of names with commas between them. Those that
// are not of generative AI are none of ours.
func optedIn(list string) bool {
	for name := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(name) == "gen_ai_latest_experimental" {
			return true
		}
	}
	return false
}

// tracesURL is the URL that spans are sent to. Its errors do not repeat the endpoint,
// which may hold a password.
func tracesURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("traces: the endpoint is not a URL such as http://127.0.0.1:4318")
	case u.User != nil:
		return "", errors.New("traces: the endpoint has a user name or password in it; send it as a header")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("traces: the endpoint has a query or a fragment, which the export leaves out")
	}
	const path = "/v1/traces"
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, path) {
		u.Path += path
	}
	u.RawPath = ""
	return u.String(), nil
}

func newExporter(ctx context.Context, endpoint string, headers map[string]string) (sdk.SpanExporter, error) {
	options := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(endpoint),
		otlptracehttp.WithTimeout(exportTimeout),
		otlptracehttp.WithMaxResponseSize(maxAnswer),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: 5 * time.Second, MaxElapsedTime: exportTimeout,
		}),
	}
	if len(headers) > 0 {
		options = append(options, otlptracehttp.WithHeaders(headers))
	}
	return otlptracehttp.New(ctx, options...)
}

// newResource says who sends the spans. The environment has the last word, and what of
// it cannot be read is left out.
func newResource(ctx context.Context, o Options) *resource.Resource {
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "callgate"), attribute.String("service.version", o.Version)),
		resource.WithFromEnv())
	if err != nil {
		o.Log.WarnContext(ctx, "traces do not say all about their sender", "error", err)
	}
	return r
}

// spanLimits bound a span. Those of the environment are not asked.
func spanLimits() sdk.SpanLimits {
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	limits.AttributeCountLimit, limits.EventCountLimit = maxAttributes, maxEvents
	limits.AttributePerEventCountLimit = maxAttributes
	return limits
}

// Shutdown sends what is in the queue. When ctx ends it gives up, says in the log how
// many spans that cost, and returns the error of ctx. Nothing is left running; an idle
// connection to the collector closes after 90 seconds.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	// The provider gets no deadline: it would leave its goroutine at work. It ends soon
	// when the delivery is aborted.
	stop := context.AfterFunc(ctx, t.delivery.abort)
	err := t.provider.Shutdown(context.WithoutCancel(ctx))
	if !stop() {
		err = errors.Join(err, ctx.Err())
	}
	t.delivery.report()
	return err
}

// requestKey is the key of a request's *request in its context.
type requestKey struct{}

// request is what the spans of upstream requests need of the client's.
type request struct {
	span      trace.Span
	operation string
	baggage   []string // the header as it came
}

// Request begins the span of a client's request, as part of the trace that its header
// names, if any. The HTTP server calls it, hands the context on, and calls end once when
// the request is over. name is the span's until a model is known, such as
// "POST /v1/chat/completions"; it must not hold what a client sent. protocol is the one that its client speaks.
func (t *Tracer) Request(ctx context.Context, header http.Header, name, protocol string) (_ context.Context, end func(gateway.Record)) {
	if t == nil {
		return ctx, func(gateway.Record) {}
	}
	ctx = propagation.TraceContext{}.Extract(ctx, carrier(header))
	ctx, span := t.tracer.Start(ctx, telemetry.Text(name, maxText), trace.WithSpanKind(trace.SpanKindServer))
	ctx = context.WithValue(ctx, requestKey{}, &request{span, telemetry.Operation(protocol), header.Values("baggage")})
	return ctx, func(r gateway.Record) {
		if span.IsRecording() {
			t.describe(span, r)
		}
		span.End()
	}
}

// Attempt begins the span of a request to an upstream, and writes the trace into the
// header that goes with it. The gateway calls it with the context that Request gave, and
// calls end once, when its answer is over or given up. An attempt that is not the first is an event of the client's request, too.
func (t *Tracer) Attempt(ctx context.Context, a gateway.Attempt, header http.Header) (_ context.Context, end func(gateway.AttemptEnd)) {
	if t == nil {
		return ctx, func(gateway.AttemptEnd) {}
	}
	of, _ := ctx.Value(requestKey{}).(*request)
	if of != nil && a.Reason != gateway.First && of.span.IsRecording() {
		of.span.AddEvent("callgate."+telemetry.Text(string(a.Reason), maxText), trace.WithAttributes(attempt(a)...))
	}
	operation := telemetry.Chat // of what nobody has asked for, such as a mirror's copy
	if of != nil {
		operation = of.operation
	}
	ctx, span := t.tracer.Start(ctx, spanName(operation, a.Model), trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(attempt(a)...)
		span.SetAttributes(attribute.String(telemetry.OperationName, operation))
	}
	if header != nil {
		inject(ctx, header, of)
	}
	return ctx, func(e gateway.AttemptEnd) {
		if span.IsRecording() {
			if t.latest {
				span.SetAttributes(answered(e)...)
			}
			if e.Outcome != "ok" {
				fail(span, e.Outcome, e.Outcome != leftCode)
			}
		}
		span.End()
	}
}

// inject writes the trace into a header that may hold the client's own.
func inject(ctx context.Context, header http.Header, of *request) {
	// A state that could not be read belongs to a trace that goes on without it.
	header.Del("tracestate")
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
	if of != nil && len(of.baggage) > 0 && len(header.Values("baggage")) == 0 {
		header["Baggage"] = of.baggage
	}
}

// carrier reads a header that came from outside. One that was sent in several lines is
// one list (W3C Trace Context, 3.3.1.1); two traceparents are none.
type carrier http.Header

var _ propagation.TextMapCarrier = carrier{}

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string { return strings.Join(http.Header(c).Values(key), ",") }

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { http.Header(c).Set(key, value) }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string { return propagation.HeaderCarrier(c).Keys() }
