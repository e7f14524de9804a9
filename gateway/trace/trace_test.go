package trace_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTracer(t *testing.T, o trace.Options) *trace.Tracer {
	t.Helper()
	tracer, err := trace.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tracer
}

const (
	incoming = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	traceID  = "0af7651916cd43dd8448eb211c80319c"
	parentID = "b7ad6b7169203331"
)

var (
	first    = gateway.Attempt{Provider: "local", Model: "qwen3", Reason: gateway.First}
	fallback = gateway.Attempt{Provider: "remote", Model: "qwen-max", Reason: gateway.Fallback, Wait: 250 * time.Millisecond}
)

// TestTrace sends a request that fell back through a whole trace.
func TestTrace(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	tracer := newTracer(t, trace.Options{Endpoint: s.URL + "/", Sample: 0, Version: "v1.2.3", Headers: map[string]string{"x-key": "secret"}})
	client := http.Header{}
	client.Set("traceparent", incoming)
	client.Add("tracestate", "a=1")
	client.Add("tracestate", "b=2")
	client.Set("baggage", "user id=%20x,  odd") // not quite W3C, and nobody's business
	ctx, end := tracer.Request(t.Context(), client, "POST /v1/chat/completions", "chat")
	if got := idOf(ctx); got != traceID {
		t.Errorf("got the id %q, want %q", got, traceID)
	}
	up1, up2 := http.Header{}, client.Clone()
	_, end1 := tracer.Attempt(ctx, first, up1)
	end1(gateway.AttemptEnd{Outcome: "upstream_timeout"})
	_, end2 := tracer.Attempt(ctx, fallback, up2)
	end2(gateway.AttemptEnd{Outcome: "ok"})
	end2(gateway.AttemptEnd{Outcome: "upstream_error"}) // too late
	end(gateway.Record{Route: "qwen3", Status: 200, Stream: true, Took: time.Second, Summary: &gateway.Summary{
		Origin: gateway.Origin{Provider: "remote", Model: "qwen-max"}, Attempts: []gateway.Attempt{first, fallback},
		Timing: gateway.Timing{FirstToken: 500 * time.Millisecond, Overhead: 2500 * time.Microsecond},
		Outcome: gateway.Outcome{Calling: gateway.Calling{Native: 1, Parsers: []string{"hermes"}, Calls: 2},
			Findings: gateway.Findings{Changed: true, Repairs: map[string]int{"index": 1, "args_json": 2},
				Warnings: []string{"truncated_call", "dropped:seed"}, Faults: map[string]int{"invalid_json": 2}}, Usage: gateway.Usage{Input: 100, Output: 20}},
	}})
	spans := s.flush(t, tracer)
	if len(spans) != 3 {
		t.Fatalf("got %d spans, want 3", len(spans))
	}
	if s.path != "/v1/traces" || s.header.Get("x-key") != "secret" {
		t.Errorf("got path %q and key %q", s.path, s.header.Get("x-key"))
	}
	if s.resource["service.name"] != "callgate" || s.resource["service.version"] != "v1.2.3" {
		t.Errorf("got the resource %v", s.resource)
	}
	t.Run("tree", func(t *testing.T) { tree(t, spans, up1, up2) })
	check(t, "request", attributes(spans[0].GetAttributes()), map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "remote", "gen_ai.request.model": "qwen-max",
		"gen_ai.request.stream": true, "gen_ai.response.time_to_first_chunk": 0.5,
		"gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.output_tokens": int64(20),
		"http.response.status_code": int64(200), "callgate.route": "qwen3", "callgate.attempts": int64(2),
		"callgate.fallbacks": int64(1), "callgate.retry_delay_ms": 250.0, "callgate.overhead_ms": 2.5,
		"callgate.changed": true, "callgate.parsers": "hermes", "callgate.tool_calls.native": int64(1),
		"callgate.tool_calls.text": int64(2), "callgate.faults": "invalid_json=2", "callgate.repairs": "args_json=2,index=1",
		"callgate.warnings": "truncated_call dropped:seed",
	})
	events := spans[0].GetEvents()
	if len(events) != 1 || events[0].GetName() != "callgate.fallback" {
		t.Fatalf("got events %v, want a fallback", events)
	}
	check(t, "event", attributes(events[0].GetAttributes()), map[string]any{"gen_ai.provider.name": "remote",
		"gen_ai.request.model": "qwen-max", "callgate.attempt.reason": "fallback", "callgate.attempt.wait_ms": 250.0})
	check(t, "first attempt", attributes(spans[1].GetAttributes()), map[string]any{"gen_ai.operation.name": "chat",
		"gen_ai.provider.name": "local", "gen_ai.request.model": "qwen3", "callgate.attempt.reason": "first",
		"callgate.attempt.wait_ms": 0.0, "error.type": "upstream_timeout"})
	check(t, "second attempt", attributes(spans[2].GetAttributes()), map[string]any{"gen_ai.operation.name": "chat",
		"gen_ai.provider.name": "remote", "gen_ai.request.model": "qwen-max", "callgate.attempt.reason": "fallback",
		"callgate.attempt.wait_ms": 250.0})
}

// tree checks who is whose parent, and what the upstreams were told.
func tree(t *testing.T, spans []*otlp.Span, headers ...http.Header) {
	t.Helper()
	request := spans[0]
	if got := fmt.Sprintf("%x", request.GetParentSpanId()); got != parentID {
		t.Errorf("got parent %s, want %s", got, parentID)
	}
	if request.GetName() != "chat qwen-max" || request.GetKind() != otlp.Span_SPAN_KIND_SERVER {
		t.Errorf("got %s %s", request.GetKind(), request.GetName())
	}
	names, statuses := []string{"chat qwen3", "chat qwen-max"}, []otlp.Status_StatusCode{2, 0}
	for i, span := range spans[1:] {
		if string(span.GetParentSpanId()) != string(request.GetSpanId()) {
			t.Errorf("attempt %d has the parent %x, want %x", i, span.GetParentSpanId(), request.GetSpanId())
		}
		if span.GetName() != names[i] || span.GetKind() != otlp.Span_SPAN_KIND_CLIENT || span.GetStatus().GetCode() != statuses[i] {
			t.Errorf("attempt %d is %s %s with status %s", i, span.GetKind(), span.GetName(), span.GetStatus().GetCode())
		}
		want := fmt.Sprintf("00-%s-%x-01", traceID, span.GetSpanId())
		if got := headers[i].Values("traceparent"); !slices.Equal(got, []string{want}) {
			t.Errorf("attempt %d was sent %q, want %q", i, got, want)
		}
		if got := headers[i].Values("tracestate"); !slices.Equal(got, []string{"a=1,b=2"}) {
			t.Errorf("attempt %d was sent the state %q", i, got)
		}
		if got := headers[i].Get("baggage"); got != "user id=%20x,  odd" {
			t.Errorf("attempt %d was sent the baggage %q", i, got)
		}
	}
	for _, span := range spans {
		if got := fmt.Sprintf("%x", span.GetTraceId()); got != traceID {
			t.Errorf("%s is part of trace %s, want %s", span.GetName(), got, traceID)
		}
	}
}

// TestIncoming checks which traces are continued, and that nothing of a broken one is
// passed on.
func TestIncoming(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		parents   []string
		state     string
		sample    float64
		continued bool
		spans     int
		wantState string
	}{
		{name: "none", sample: 1, spans: 2},
		{name: "none, not sampled", sample: 0, spans: 0},
		{name: "sampled", parents: []string{incoming}, state: "a=1", continued: true, spans: 2, wantState: "a=1"},
		{name: "not sampled", parents: []string{strings.TrimSuffix(incoming, "01") + "00"}, state: "a=1", sample: 1, continued: true, wantState: "a=1"},
		{name: "broken state", parents: []string{incoming}, state: "a=1,a=1", continued: true, spans: 2},
		{name: "broken", parents: []string{"00-zz-1-01"}, state: "a=1", sample: 1, spans: 2},
		{name: "zeros", parents: []string{"00-00000000000000000000000000000000-0000000000000000-01"}, state: "a=1", sample: 1, spans: 2},
		{name: "two", parents: []string{incoming, incoming}, state: "a=1", sample: 1, spans: 2},
		{name: "megabyte", parents: []string{strings.Repeat("0", 1<<20)}, state: strings.Repeat("a=1,", 1<<18), sample: 1, spans: 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newSink(t)
			tracer := newTracer(t, trace.Options{Endpoint: s.URL, Sample: row.sample})
			client := http.Header{}
			for _, p := range row.parents {
				client.Add("traceparent", p)
			}
			if row.state != "" {
				client.Set("tracestate", row.state)
			}
			ctx, end := tracer.Request(t.Context(), client, "POST", "chat")
			up := client.Clone()
			_, endAttempt := tracer.Attempt(ctx, first, up)
			endAttempt(gateway.AttemptEnd{Outcome: "ok"})
			end(gateway.Record{Status: 200})
			if got := idOf(ctx) == traceID; got != row.continued {
				t.Errorf("got continued %v, want %v", got, row.continued)
			}
			if got := up.Values("traceparent"); len(got) != 1 || len(got[0]) != len(incoming) || slices.Contains(row.parents, got[0]) ||
				!strings.Contains(got[0], idOf(ctx)) {
				t.Errorf("got traceparent %.100q, want a new one of trace %s", got, idOf(ctx))
			}
			if got := up.Get("tracestate"); got != row.wantState {
				t.Errorf("got tracestate %.100q, want %q", got, row.wantState)
			}
			if got := len(s.flush(t, tracer)); got != row.spans {
				t.Errorf("got %d spans, want %d", got, row.spans)
			}
		})
	}
}

// TestStatus checks which ends are failures of the gateway.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		record gateway.Record
		kind   any
		failed bool
	}{
		{"answered", gateway.Record{Status: 200}, nil, false},
		{"client's mistake", gateway.Record{Status: 400, Code: "invalid_request"}, "invalid_request", false},
		{"client left", gateway.Record{Status: 499, Code: "client_closed_request"}, "client_closed_request", false},
		{"upstream fails", gateway.Record{Status: 502, Code: "upstream_error"}, "upstream_error", true},
		{"stream breaks", gateway.Record{Status: 200, Code: "upstream_timeout"}, "upstream_timeout", true},
		{"stream ends with an error", gateway.Record{Status: 200, Summary: &gateway.Summary{Outcome: gateway.Outcome{UpstreamError: true}}}, "upstream_error", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newSink(t)
			tracer := newTracer(t, trace.Options{Endpoint: s.URL, Sample: 1})
			_, end := tracer.Request(t.Context(), http.Header{}, "POST /v1/chat/completions", "chat")
			end(row.record)
			spans := s.flush(t, tracer)
			if len(spans) != 1 {
				t.Fatalf("got %d spans, want 1", len(spans))
			}
			if got := attributes(spans[0].GetAttributes())["error.type"]; got != row.kind {
				t.Errorf("got error.type %v, want %v", got, row.kind)
			}
			if got := spans[0].GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR; got != row.failed {
				t.Errorf("got failed %v, want %v", got, row.failed)
			}
			if row.record.Summary == nil && spans[0].GetName() != "POST /v1/chat/completions" {
				t.Errorf("got the name %q", spans[0].GetName())
			}
		})
	}
}

// TestHostile sends text that OTLP refuses, and far too much of everything. The spans
// that are sent with it must not be lost, and none may grow without bound.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := newSink(t)
	var log logged
	tracer := newTracer(t, trace.Options{Endpoint: s.URL, Sample: 1, Log: log.logger()})
	bad := strings.Repeat("é\xff", 10_000)
	ctx, end := tracer.Request(t.Context(), http.Header{"Baggage": {bad}}, bad, "chat")
	counts, warnings := map[string]int{}, []string{}
	for i := range 1000 {
		counts[fmt.Sprint(i, bad)] = i
		warnings = append(warnings, fmt.Sprint(i, bad))
	}
	for range 1000 {
		_, endAttempt := tracer.Attempt(ctx, gateway.Attempt{Provider: bad, Model: bad, Reason: gateway.Reason(bad)}, nil)
		endAttempt(gateway.AttemptEnd{Outcome: bad})
	}
	end(gateway.Record{Route: bad, Status: -1, Code: bad, Summary: &gateway.Summary{
		Origin: gateway.Origin{Provider: bad, Model: bad}, Timing: gateway.Timing{Overhead: -1},
		Outcome: gateway.Outcome{Findings: gateway.Findings{Faults: counts, Repairs: counts, Warnings: warnings}, Calling: gateway.Calling{Parsers: warnings}, Usage: gateway.Usage{Input: -5}},
	}})
	spans := s.flush(t, tracer)
	if len(spans) != 1001 || len(log.spans()) != 0 {
		t.Fatalf("got %d spans and the log %v, want 1001 and nothing", len(spans), log.spans())
	}
	for _, span := range spans {
		if size := proto.Size(span); size > 96<<10 {
			t.Errorf("got a span of %d bytes", size)
		}
	}
}

// idOf is the id of the trace that ctx is part of.
func idOf(ctx context.Context) string {
	return oteltrace.SpanContextFromContext(ctx).TraceID().String()
}
