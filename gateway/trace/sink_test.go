package trace_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/callgate/callgate/gateway/trace"
)

// sink is a collector: an OTLP/HTTP server that keeps what it gets.
type sink struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*otlp.Span
	resource map[string]any
	header   http.Header
	path     string
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var req collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			t.Errorf("not OTLP: %v", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.header, s.path = r.Header, r.URL.Path
		for _, rs := range req.GetResourceSpans() {
			s.resource = attributes(rs.GetResource().GetAttributes())
			for _, ss := range rs.GetScopeSpans() {
				s.spans = append(s.spans, ss.GetSpans()...)
			}
		}
		w.Header().Set("content-type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s
}

// flush ends the tracer and returns the spans in the order in which they began.
func (s *sink) flush(t *testing.T, tracer *trace.Tracer) []*otlp.Span {
	t.Helper()
	if err := tracer.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.spans, func(a, b *otlp.Span) int { return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) })
	return s.spans
}

func attributes(list []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			out[kv.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			out[kv.GetKey()] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			out[kv.GetKey()] = v.BoolValue
		case *common.AnyValue_ArrayValue:
			var values []string
			for _, e := range v.ArrayValue.GetValues() {
				values = append(values, e.GetStringValue())
			}
			out[kv.GetKey()] = strings.Join(values, " ")
		}
	}
	return out
}

// check compares attributes; all that are there must be wanted.
func check(t *testing.T, what string, got, want map[string]any) {
	t.Helper()
	for key, w := range want {
		if got[key] != w {
			t.Errorf("%s: got %s %v (%[3]T), want %v (%[4]T)", what, key, got[key], w)
		}
	}
	for key, g := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("%s: got %s %v, want none", what, key, g)
		}
	}
}
