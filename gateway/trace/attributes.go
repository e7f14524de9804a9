package trace

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
	"github.com/callgate/callgate/gateway/observe"
)

// Attributes of our own. Those of the conventions are in telemetry.
const (
	routeKey         = "callgate.route"
	attemptsKey      = "callgate.attempts"
	fallbacksKey     = "callgate.fallbacks"
	retryDelayKey    = "callgate.retry_delay_ms"
	overheadKey      = "callgate.overhead_ms"
	parsersKey       = "callgate.parsers"
	nativeCallsKey   = "callgate.tool_calls.native"
	textCallsKey     = "callgate.tool_calls.text"
	warningsKey      = "callgate.warnings"
	changedKey       = "callgate.changed"
	attemptReasonKey = "callgate.attempt.reason"
	attemptWaitKey   = "callgate.attempt.wait_ms"
)

// leftCode is the code of a client that left. That is an end, but nobody's failure.
const leftCode = "client_closed_request"

// spanName is what the conventions ask for: the operation and the model.
func spanName(model string) string {
	if model == "" {
		return telemetry.Chat
	}
	return telemetry.Chat + " " + telemetry.Text(model, maxText)
}

// describe says on the span of a client's request how it went.
func describe(span trace.Span, r gateway.Record) {
	span.SetAttributes(attribute.Int(telemetry.HTTPStatus, r.Status))
	if r.Route != "" {
		span.SetAttributes(text(routeKey, r.Route))
	}
	if failure := telemetry.ErrorType(r); failure != "" {
		// The client's own mistakes are no failures of a server (the conventions for HTTP).
		fail(span, failure, r.Status >= 500 || r.Status < 400)
	}
	s := r.Summary
	if s == nil {
		return
	}
	span.SetName(spanName(s.Model))
	span.SetAttributes(
		attribute.String(telemetry.OperationName, telemetry.Chat),
		text(telemetry.ProviderName, s.Provider),
		text(telemetry.RequestModel, s.Model),
		attribute.Bool(telemetry.RequestStream, r.Stream),
		attribute.Int(attemptsKey, len(s.Attempts)),
		attribute.Int(fallbacksKey, s.Fallbacks()),
		attribute.Float64(retryDelayKey, milliseconds(s.RetryDelay())),
		attribute.Float64(overheadKey, milliseconds(s.Overhead)),
		attribute.Bool(changedKey, s.Changed),
	)
	if s.FirstToken > 0 {
		span.SetAttributes(attribute.Float64(telemetry.TimeToFirstChunk, s.FirstToken.Seconds()))
	}
	describeCalls(span, s)
	describeUsage(span, s.Usage)
}

func describeCalls(span trace.Span, s *gateway.Summary) {
	span.SetAttributes(attribute.Int(nativeCallsKey, s.Native), attribute.Int(textCallsKey, s.Calls))
	if len(s.Parsers) > 0 {
		span.SetAttributes(list(parsersKey, s.Parsers))
	}
	observe.TraceFields(s, func(name, value string) { span.SetAttributes(text(name, value)) })
	if len(s.Warnings) > 0 {
		span.SetAttributes(list(warningsKey, s.Warnings))
	}
}

// describeUsage leaves out what the upstream did not report.
func describeUsage(span trace.Span, u gateway.Usage) {
	for _, count := range []struct {
		key string
		n   int
	}{
		{telemetry.InputTokens, u.Input},
		{telemetry.OutputTokens, u.Output},
		{telemetry.CachedTokens, u.CacheRead},
	} {
		if count.n > 0 {
			span.SetAttributes(attribute.Int(count.key, count.n))
		}
	}
}

// attempt describes an upstream request when it begins.
func attempt(a gateway.Attempt) []attribute.KeyValue {
	return []attribute.KeyValue{
		text(telemetry.ProviderName, a.Provider),
		text(telemetry.RequestModel, a.Model),
		text(attemptReasonKey, string(a.Reason)),
		attribute.Float64(attemptWaitKey, milliseconds(a.Wait)),
	}
}

// fail says on a span what kind of failure it ended with, and whether it counts as one
// of what the span stands for.
func fail(span trace.Span, kind string, counts bool) {
	span.SetAttributes(text(telemetry.Error, kind))
	if counts {
		span.SetStatus(codes.Error, "")
	}
}

func text(key, value string) attribute.KeyValue {
	return attribute.String(key, telemetry.Text(value, maxText))
}

func list(key string, values []string) attribute.KeyValue {
	fit := make([]string, min(len(values), maxList))
	for i := range fit {
		fit[i] = telemetry.Text(values[i], maxText)
	}
	return attribute.StringSlice(key, fit)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
