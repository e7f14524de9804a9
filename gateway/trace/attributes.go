package trace

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/telemetry"
	"github.com/callgate/callgate/gateway/observe"
)

// Attributes of an attempt. Those of a request are in package observe, and the conventions'
// are in telemetry.
const (
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
		span.SetAttributes(text("callgate.route", r.Route))
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
	span.SetAttributes(attribute.String(telemetry.OperationName, telemetry.Chat), attribute.Bool(telemetry.RequestStream, r.Stream))
	observe.TraceFields(s, func(name string, value any) { span.SetAttributes(attributeOf(name, value)) })
}

// attributeOf is a value as an attribute, within bounds.
func attributeOf(key string, value any) attribute.KeyValue {
	switch v := value.(type) {
	case int:
		return attribute.Int(key, v)
	case bool:
		return attribute.Bool(key, v)
	case float64:
		return attribute.Float64(key, v)
	case time.Duration:
		return attribute.Float64(key, milliseconds(v))
	case []string:
		return list(key, v)
	}
	return text(key, fmt.Sprint(value))
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
