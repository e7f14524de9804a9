package trace_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/trace"
)

// TestOff: without an endpoint there is no tracer, and a nil one costs nothing.
func TestOff(t *testing.T) {
	tracer := newTracer(t, trace.Options{})
	if tracer != nil {
		t.Fatalf("got a tracer without an endpoint")
	}
	ctx, header := t.Context(), http.Header{"Traceparent": {"as it is"}}
	allocs := testing.AllocsPerRun(100, func() {
		got, end := tracer.Request(ctx, header, "POST", "chat")
		_, endAttempt := tracer.Attempt(got, first, header)
		endAttempt(gateway.AttemptEnd{Outcome: "ok"})
		end(gateway.Record{})
		if got != ctx {
			t.Error("the context has changed")
		}
	})
	if allocs != 0 {
		t.Errorf("got %g allocations, want 0", allocs)
	}
	if got := header.Get("traceparent"); got != "as it is" {
		t.Errorf("got traceparent %q", got)
	}
	if err := tracer.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, endpoint string
		sample         float64
		want           string // part of the error
	}{
		{"no URL", "::", 1, "not a URL"},
		{"no scheme", "localhost:4318", 1, "not a URL"},
		{"gRPC", "grpc://localhost:4317", 1, "not a URL"},
		{"no host", "http:///v1/traces", 1, "not a URL"},
		{"password", "http://me:hunter2@localhost:4318", 1, "user name"},
		{"broken with password", "http://me:hunter2@local host", 1, "not a URL"},
		{"query", "http://localhost:4318?key=hunter2", 1, "query"},
		{"share over 1", "http://localhost:4318", 1.5, "from 0 to 1"},
		{"share under 0", "http://localhost:4318", -0.5, "from 0 to 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := trace.New(t.Context(), trace.Options{Endpoint: row.endpoint, Sample: row.sample})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got error %v, want %q", err, row.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error %q shows a secret", err)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"": "/v1/traces", "/": "/v1/traces", "/v1/traces": "/v1/traces", "/v1/traces/": "/v1/traces",
		"/api/public/otel": "/api/public/otel/v1/traces", "/a%20b": "/a b/v1/traces",
	} {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			s := newSink(t)
			tracer := newTracer(t, trace.Options{Endpoint: s.URL + endpoint, Sample: 1})
			_, end := tracer.Request(t.Context(), nil, "POST", "chat")
			end(gateway.Record{})
			s.flush(t, tracer)
			if s.path != want {
				t.Errorf("got path %q, want %q", s.path, want)
			}
		})
	}
}

func BenchmarkRequest(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	header := http.Header{"Traceparent": {incoming}}
	for _, row := range []struct {
		name, endpoint, parent string
	}{{"off", "", ""}, {"sampled", s.URL, incoming}, {"not sampled", s.URL, strings.TrimSuffix(incoming, "01") + "00"}} {
		b.Run(row.name, func(b *testing.B) {
			tracer, err := trace.New(b.Context(), trace.Options{Endpoint: row.endpoint, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = tracer.Shutdown(b.Context()) }()
			header.Set("traceparent", row.parent)
			record := gateway.Record{Status: 200, Summary: &gateway.Summary{Origin: gateway.Origin{Provider: "local", Model: "qwen3"}}}
			b.ReportAllocs()
			for b.Loop() {
				ctx, end := tracer.Request(b.Context(), header, "POST", "chat")
				_, endAttempt := tracer.Attempt(ctx, first, http.Header{})
				endAttempt(gateway.AttemptEnd{Outcome: "ok"})
				end(record)
			}
		})
	}
}
