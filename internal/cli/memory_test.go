package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// hostileBodies are requests of about size bytes for a model, each of a form that costs much.
func hostileBodies(name string, size int) map[string]string {
	// numbered writes pieces, each with its number, until there are enough bytes.
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.Contains(format, "%") {
				fmt.Fprintf(&b, format, i)
			} else {
				b.WriteString(format)
			}
		}
		return b.String()
	}
	head := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]`, name)
	messages := func(list string) string { return fmt.Sprintf(`{"model":%q,"messages":[%s]}`, name, list) }
	tool := func(schema string) string {
		return head + `,"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}]}`
	}
	user := func(content string) string { return messages(`{"role":"user","content":` + content + `}`) }
	return map[string]string{
		"one text":          user(`"` + strings.Repeat("The quick brown fox. ", size/21) + `"`),
		"escapes":           user(`"` + strings.Repeat(`\u0041`, size/6) + `"`),
		"properties":        tool(`{"type":"object","properties":{` + numbered(`"p%d":{}`) + `}}`),
		"typed properties":  tool(`{"type":"object","properties":{` + numbered(`"p%d":{"type":"string","description":"a"}`) + `}}`),
		"definitions":       tool(`{"type":"object","properties":{},"$defs":{` + numbered(`"p%d":{}`) + `}}`),
		"anyOf":             tool(`{"type":"object","properties":{"a":{"anyOf":[` + numbered(`{}`) + `]}}}`),
		"enum":              tool(`{"type":"object","properties":{"a":{"enum":[` + numbered(`1`) + `]}}}`),
		"required":          tool(`{"type":"object","properties":{},"required":[` + numbered(`"a"`) + `]}`),
		"nested schema":     tool(strings.Repeat(`{"type":"object","properties":{"a":`, 55) + `{"type":"object","properties":{` + numbered(`"p%d":{}`) + `}}` + strings.Repeat(`}}`, 55)),
		"tools":             head + `,"tools":[` + numbered(`{"type":"function","function":{"name":"f%d"}}`) + `]}`,
		"bare tools":        head + `,"tools":[` + numbered(`{"name":"f%d"}`) + `]}`,
		"empty tools":       head + `,"tools":[` + numbered(`{}`) + `]}`,
		"messages":          messages(numbered(`{}`)),
		"user messages":     messages(numbered(`{"role":"user","content":"a"}`)),
		"parts":             user(`[` + numbered(`{}`) + `]`),
		"text parts":        user(`[` + numbered(`{"type":"text","text":"a"}`) + `]`),
		"numbers":           user(`[` + numbered(`1`) + `]`),
		"members":           head + `,` + numbered(`"m%d":0`) + `}`,
		"members of one":    head + `,"metadata":{` + numbered(`"m%d":0`) + `}}`,
		"array":             head + `,"x":[` + numbered(`0`) + `]}`,
		"arrays":            head + `,"x":[` + numbered(`[]`) + `]}`,
		"deep":              head + `,"x":[` + numbered(strings.Repeat(`[`, 100)+strings.Repeat(`]`, 100)) + `]}`,
		"stop":              head + `,"stop":[` + numbered(`"a"`) + `]}`,
		"calls":             messages(`{"role":"assistant","tool_calls":[` + numbered(`{"function":{}}`) + `]}`),
		"calls with ids":    messages(`{"role":"assistant","tool_calls":[` + numbered(`{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`) + `]}`),
		"calls and results": messages(numbered(`{"role":"assistant","tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%[1]d","content":"x"}`)),
		"results":           messages(numbered(`{"role":"tool","tool_call_id":"c%d","content":"x"}`)),
		"result":            messages(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"` + strings.Repeat(`[{\"a\":1},`, size/10) + `"}`),
		"arguments":         messages(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"` + strings.Repeat(`[{\"a\":1},`, size/10) + `"}}]},{"role":"tool","tool_call_id":"c","content":"x"}`),
		"white space":       head + strings.Repeat(" \n", size/2) + `}`,
	}
}

// discarding is an upstream that keeps nothing of what it is sent, and answers with text.
func discarding(t *testing.T, answer string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// gauge is a metric of the gateway's.
func (g *gate) gauge(name string) float64 {
	g.t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(g.adminDo("GET", "/metrics").body))
	if err != nil {
		g.t.Fatal(err)
	}
	f := families[name]
	if f == nil {
		g.t.Fatalf("got no metric %s", name)
	}
	m := f.GetMetric()[0]
	return m.GetGauge().GetValue() + m.GetCounter().GetValue()
}

func TestX(t *testing.T) {
	var s setup
	s.provider("up", discarding(t, completion("ok")), "parser: auto")
	s.providers.WriteString(fmt.Sprintf("  ant: {type: anthropic, base_url: %q, api_key: x}\n", discarding(t, `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)))
	s.head.WriteString("limits: {values: 100000000, messages: 10000000, calls: 10000000, tools: {count: 100000, size: 1GiB, depth: 128, properties: 1000000}}\n")
	g, _ := spawn(t, s.String(), "GOGC=100")
	for _, m := range []string{"up/m", "ant/m"} {
		g.chat(prompt(m, "hi", false))
		for name, body := range hostileBodies(m, 2<<20) {
			before := g.gauge("go_memstats_alloc_bytes_total")
			r := g.chat(body)
			after := g.gauge("go_memstats_alloc_bytes_total")
			fmt.Printf("%-10s %-20s %8.1f x   %d %.150s\n", m, name, (after-before)/float64(len(body)), r.status, r.body)
		}
	}
}
