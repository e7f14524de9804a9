package trace

import (
	"fmt"
	"strings"
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
func spanName(operation, model string) string {
	if model == "" {
		return operation
	}
	return operation + " " + telemetry.Text(model, maxText)
}

// describe says on the span of a client's request how it went. By the latest conventions what
// there is to say of generative AI is on the spans of the attempts: who adds up tokens or requests by
// gen_ai.operation.name would count them twice.
func (t *Tracer) describe(span trace.Span, r gateway.Record) {
	span.SetAttributes(attribute.Int(telemetry.HTTPStatus, r.Status))
	if r.Route != "" {
		span.SetAttributes(text("callgate.route", r.Route))
	}
	if failure := telemetry.ErrorType(&r); failure != "" {
		// The client's own mistakes are no failures of a server (the conventions for HTTP).
		fail(span, failure, r.Status >= 500 || r.Status < 400)
	}
	s := r.Summary
	if s == nil {
		return
	}
	if !t.latest {
		operation := telemetry.Operation(r.Protocol)
		span.SetName(spanName(operation, s.Model))
		span.SetAttributes(attribute.String(telemetry.OperationName, operation), attribute.Bool(telemetry.RequestStream, r.Stream))
	}
	observe.TraceFields(s, func(name string, value any) {
		if !t.latest || !strings.HasPrefix(name, "gen_ai.") {
			span.SetAttributes(attributeOf(name, value))
		}
	})
}

// answered describes an upstream request when it has ended, by the latest conventions.
func answered(e gateway.AttemptEnd) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.Bool(telemetry.RequestStream, e.Stream)}
	if e.Model != "" {
		list = append(list, text(telemetry.ResponseModel, e.Model))
	}
	if e.Finish != "" {
		list = append(list, attribute.StringSlice(telemetry.FinishReasons, []string{telemetry.Text(e.Finish, maxText)}))
	}
	if e.Stream && e.FirstToken > 0 {
		list = append(list, attribute.Float64(telemetry.TimeToFirstChunk, e.FirstToken.Seconds()))
	}
	if !e.Usage.Reported {
		return list
	}
	u := e.Usage
	for _, tokens := range []struct {
		key string
		n   int
	}{{telemetry.InputTokens, u.Input}, {telemetry.OutputTokens, u.Output}, {telemetry.CachedTokens, u.CacheRead}, {telemetry.WrittenTokens, u.WriteShort + u.WriteLong}} {
		if tokens.n > 0 {
			list = append(list, attribute.Int(tokens.key, tokens.n))
		}
	}
	return list
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
