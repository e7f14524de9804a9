package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlpcommon "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
)

// receiver is an OTLP/HTTP collector that keeps what it gets.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlp.Span
	raw   strings.Builder // all that it was sent
}

// all is what it was sent, with who the sender is, as bytes.
func (r *receiver) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raw.String()
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var m collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &m); err != nil {
			t.Errorf("not OTLP: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw.Write(body)
		for _, rs := range m.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				r.spans = append(r.spans, ss.GetSpans()...)
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// named finds the one span of a name.
func (r *receiver) named(t *testing.T, name string) *otlp.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.spans, func(s *otlp.Span) bool { return s.GetName() == name })
	if i < 0 {
		t.Fatalf("got no span %q", name)
	}
	return r.spans[i]
}

// tree writes the spans below a parent, in the order in which they began, without what differs from
// one run to the next.
func (r *receiver) tree(parent []byte, indent string) string {
	var out strings.Builder
	r.mu.Lock()
	spans := slices.Clone(r.spans)
	r.mu.Unlock()
	slices.SortStableFunc(spans, func(a, b *otlp.Span) int { return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) })
	for _, s := range spans {
		if string(s.GetParentSpanId()) != string(parent) {
			continue
		}
		kind := strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_")
		fmt.Fprintf(&out, "%s%s %s\n", indent, kind, s.GetName())
		var lines []string
		for _, a := range s.GetAttributes() {
			if key := a.GetKey(); !strings.HasSuffix(key, "_ms") && key != "gen_ai.response.time_to_first_chunk" && key != "callgate.tool_run" {
				lines = append(lines, fmt.Sprintf("%s  %s=%s\n", indent, key, spanValue(a.GetValue())))
			}
		}
		slices.Sort(lines)
		out.WriteString(strings.Join(lines, ""))
		out.WriteString(r.tree(s.GetSpanId(), indent+"    "))
	}
	return out.String()
}

func spanValue(v *otlpcommon.AnyValue) string {
	if list := v.GetArrayValue(); list != nil {
		var out []string
		for _, e := range list.GetValues() {
			out = append(out, spanValue(e))
		}
		return "[" + strings.Join(out, " ") + "]"
	}
	switch v := v.GetValue().(type) {
	case *otlpcommon.AnyValue_StringValue:
		return v.StringValue
	case *otlpcommon.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *otlpcommon.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	}
	return fmt.Sprint(v)
}

// What a client sends as its trace, in TestSpans.
const (
	spansTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	spansParent = "\x00\xf0\x67\xaa\x0b\xa9\x02\xb7"
)

// TestSpans holds what a request whose tools the gateway runs gives a collector, with and without
// OTEL_SEMCONV_STABILITY_OPT_IN (testdata/spans), and that the tools' servers are told of the trace. No argument
// and no result may be in a span.
func TestSpans(t *testing.T) { //nolint:paralleltest // it sets a variable of the environment
	for _, row := range []struct{ name, optIn, search, echo string }{
		{"default", "http", "execute_tool search", "execute_tool echo"},
		{"latest", "http, gen_ai_latest_experimental", "execute_tool search", "tools/call echo"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", row.optIn)
			collector := newReceiver(t)
			var mu sync.Mutex
			var told [2]string // the HTTP tool, and the echo
			shop := newToolShop(t)
			shop.do = func(w http.ResponseWriter, r *http.Request, _ string) {
				mu.Lock()
				defer mu.Unlock()
				told[0] = r.Header.Get("traceparent") + " " + r.Header.Get("tracestate") + r.Header.Get("baggage")
				fmt.Fprint(w, `{"found":"canary"}`)
			}
			remote := toolservertest.New(t)
			remote.Tools = append(remote.Tools, toolservertest.Definition("broken", "Fails."), toolservertest.Definition("sorry", "Cannot."))
			remote.On["tools/call"] = func(c *toolservertest.Call) {
				switch name, _ := c.Tool(); name {
				case "broken":
					c.Error(http.StatusOK, -32050, "canary")
				case "sorry":
					c.Result(`{"isError":true,"content":[{"type":"text","text":"canary"}]}`)
				default:
					var p struct {
						Meta struct{ Traceparent, Tracestate, Baggage string } `json:"_meta"`
					}
					_ = json.Unmarshal(c.Params, &p)
					mu.Lock()
					defer mu.Unlock()
					told[1] = p.Meta.Traceparent + " " + p.Meta.Tracestate + p.Meta.Baggage
					c.Text("canary")
				}
			}
			calls := []modelCall{{"c1", "shop__search", `{"q":"canary"}`}, {"c2", "remote__echo", `{"q":"canary"}`}, {"c3", "remote__broken", `{}`}, {"c4", "remote__sorry", `{}`}}
			url, _ := script(t, "native", func(results int, _ received) (string, []modelCall) {
				if results < len(calls) {
					return "", calls[results : results+1]
				}
				return "Done.", nil
			})
			config := strings.Replace(shop.config(url, "m", "none", "    tools: {servers: [shop, remote]}\n"), "tool_servers:\n",
				"tool_servers:\n  remote: {type: mcp, url: \""+remote.URL.String()+"\"}\n", 1)
			g := serve(t, config+"tracing: {endpoint: "+collector.URL+"}\n")
			r := g.chat(`{"model":"m","messages":[{"role":"user","content":"canary"}]}`, "traceparent", "00-"+spansTrace+"-00f067aa0ba902b7-01", "tracestate", "a=1", "baggage", "user=canary")
			if r.status != http.StatusOK || !strings.Contains(r.body, "Done.") {
				t.Fatalf("got %d: %s", r.status, r.body)
			}
			g.cancel()
			g.wait()
			got := collector.tree([]byte(spansParent), "")
			want, err := os.ReadFile(filepath.Join("testdata", "spans", row.name+".txt"))
			if err != nil || got != string(want) {
				t.Errorf("got the spans\n%s\nwant, %v,\n%s", got, err, want)
			}
			if strings.Contains(got, "canary") {
				t.Error("a span says what was said")
			}
			for i, name := range []string{row.search, row.echo} {
				if want := fmt.Sprintf("00-%s-%x-01 a=1", spansTrace, collector.named(t, name).GetSpanId()); told[i] != want {
					t.Errorf("%s: its server was told %q, want %q", name, told[i], want)
				}
			}
		})
	}
}

// TestSpanOperations holds what spans and metrics call a request that is no chat, and that what a client writes into a path
// is in no span.
func TestSpanOperations(t *testing.T) { //nolint:paralleltest // it sets a variable of the environment
	const embeddings, texts, passed, moderations = "embeddings m embeddings", "text_completion m text_completion", "passthrough passthrough", "moderations m moderations"
	for optIn, server := range map[string][]string{
		"":                           {embeddings, texts, passed, moderations},
		"gen_ai_latest_experimental": {"POST /v1/completions ", "POST /v1/embeddings ", "POST /v1/files/* ", "POST /v1/moderations "},
	} {
		t.Run(optIn, func(t *testing.T) {
			t.Setenv("OTEL_SEMCONV_STABILITY_OPT_IN", optIn)
			collector := newReceiver(t)
			url := upstream(t, func(w http.ResponseWriter, _ received) {
				w.Header().Set("content-type", "application/json")
				fmt.Fprint(w, `{"object":"list","data":[],"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0,"total_tokens":7}}`)
			})
			g := serve(t, "admin: {listen: \"127.0.0.1:0\"}\nproviders: {up: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: [{provider: up}]}}\npassthrough: {/v1/files: up}\ntracing: {endpoint: "+collector.URL+"}\n")
			for path, body := range map[string]string{"embeddings": `{"model":"m","input":"x"}`, "completions": `{"model":"m","prompt":"x","max_tokens":1}`, "moderations": `{"model":"m","input":"x"}`, "files/canary": `{}`} {
				if r := g.do(g.request("POST", "/v1/"+path, body)); r.status != http.StatusOK {
					t.Errorf("%s: got %d %s", path, r.status, r.body)
				}
			}
			metrics := g.operator("GET", "/metrics").body
			for _, want := range []string{"embeddings", "text_completion", "passthrough", "moderations"} {
				if !strings.Contains(metrics, `gen_ai_server_request_duration_seconds_count{error_type="",gen_ai_operation_name="`+want+`"`) {
					t.Errorf("got no %s in the metrics", want)
				}
			}
			g.cancel()
			g.wait()
			got := map[string][]string{}
			for _, s := range collector.spans {
				operation := ""
				for _, a := range s.GetAttributes() {
					if a.GetKey() == "gen_ai.operation.name" {
						operation = spanValue(a.GetValue())
					}
				}
				kind := s.GetKind().String()
				got[kind] = append(got[kind], s.GetName()+" "+operation)
			}
			for kind, want := range map[string][]string{"SPAN_KIND_SERVER": server, "SPAN_KIND_CLIENT": {embeddings, texts, passed, moderations}} {
				slices.Sort(got[kind])
				slices.Sort(want)
				if !slices.Equal(got[kind], want) {
					t.Errorf("%s: got %q, want %q", kind, got[kind], want)
				}
			}
			if strings.Contains(collector.all(), "canary") {
				t.Error("a span has what the client wrote into the path")
			}
		})
	}
}
