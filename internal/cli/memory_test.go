package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// list writes pieces, each with its number, until there are size bytes or most pieces.
func list(piece string, size, most int) string {
	var b strings.Builder
	for i := 0; b.Len() < size && i < most; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.Contains(piece, "%") {
			fmt.Fprintf(&b, piece, i)
		} else {
			b.WriteString(piece)
		}
	}
	return b.String()
}

// hostileBody is one of the hostileBodies.
func hostileBody(form, name string, size int, below bool) string {
	return hostileBodies(name, size, below)[form]()
}

// hostileBodies are requests for a model of up to so many bytes, by form, each of which costs much.
// Those that are below have as many parts as the default limits let through, where the others
// have more. Each is made when it is called for, since to make all takes longer than to send one.
func hostileBodies(name string, size int, below bool) map[string]func() string {
	// many are pieces of which the limits let most through.
	many := func(piece string, most int) string {
		if !below {
			most = size
		}
		return list(piece, size, most)
	}
	const values, parts = 90_000, 9_900 // each piece has at least two values
	head := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]`, name)
	messages := func(list string) string { return fmt.Sprintf(`{"model":%q,"messages":[%s]}`, name, list) }
	tool := func(schema string) string {
		return head + `,"tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}]}`
	}
	user := func(content string) string { return messages(`{"role":"user","content":` + content + `}`) }
	const call, result = `{"id":"c","type":"function","function":{"name":"f","arguments":%s}}`, `{"role":"tool","tool_call_id":"c","content":%s}`
	turn := func(arguments, content string) string {
		return messages(`{"role":"assistant","tool_calls":[` + fmt.Sprintf(call, arguments) + `]},` + fmt.Sprintf(result, content))
	}
	nested := func(times int, schema string) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, times) + schema + strings.Repeat(`}}`, times)
	}
	bad := size
	if below { // what is kept as a text
		bad = min(size, 4<<20)
	}
	return map[string]func() string{
		"text":       func() string { return user(`"` + strings.Repeat("The quick brown fox. ", size/21) + `"`) },
		"escapes":    func() string { return user(`"` + strings.Repeat(`\u0041`, size/6) + `"`) },
		"properties": func() string { return tool(`{"type":"object","properties":{` + many(`"p%d":{}`, parts) + `}}`) },
		"typed properties": func() string {
			return tool(`{"type":"object","properties":{` + many(`"p%d":{"type":"string","description":"a"}`, parts) + `}}`)
		},
		"definitions": func() string {
			return tool(`{"type":"object","properties":{"a":{"$ref":"#/$defs/p1"}},"$defs":{` + many(`"p%d":{}`, parts) + `}}`)
		},
		"nested schema": func() string { return tool(nested(25, `{"type":"object","properties":{`+many(`"p%d":{}`, parts)+`}}`)) },
		"references": func() string {
			return tool(`{"x-reference":"a","type":"object","properties":{` + many(`"p%d":{"type":"object","x-reference":"a.b"}`, parts) + `}}`)
		},
		"anyOf": func() string {
			return tool(`{"type":"object","properties":{"a":{"anyOf":[` + many(`{}`, values) + `]}}}`)
		},
		"enum": func() string {
			return tool(`{"type":"object","properties":{"a":{"enum":[` + many(`1`, values) + `]}}}`)
		},
		"required": func() string {
			return tool(`{"type":"object","properties":{},"required":[` + many(`"a"`, values) + `]}`)
		},
		"tools": func() string {
			return head + `,"tools":[` + many(`{"type":"function","function":{"name":"f%d"}}`, 1000) + `]}`
		},
		"bare tools":      func() string { return head + `,"tools":[` + many(`{"name":"f%d"}`, 1000) + `]}` },
		"empty tools":     func() string { return head + `,"tools":[` + many(`{}`, 1000) + `]}` },
		"messages":        func() string { return messages(many(`{}`, parts)) },
		"user messages":   func() string { return messages(many(`{"role":"user","content":"a"}`, parts)) },
		"parts":           func() string { return user(`[` + many(`{}`, values) + `]`) },
		"text parts":      func() string { return user(`[` + many(`{"type":"text","text":"a"}`, values/2) + `]`) },
		"numbers":         func() string { return user(`[` + many(`1`, values) + `]`) },
		"members":         func() string { return head + `,` + many(`"m%d":0`, values) + `}` },
		"members of one":  func() string { return head + `,"metadata":{` + many(`"m%d":0`, values) + `}}` },
		"escaped members": func() string { return head + `,"metadata":{` + many(`"\u006d%d":0`, values) + `}}` },
		"array":           func() string { return head + `,"x":[` + many(`0`, values) + `]}` },
		"arrays":          func() string { return head + `,"x":[` + many(`[]`, values) + `]}` },
		"deep": func() string {
			return head + `,"x":[` + many(strings.Repeat(`[`, 100)+strings.Repeat(`]`, 100), values/100) + `]}`
		},
		"stop": func() string { return head + `,"stop":[` + many(`"a"`, values) + `]}` },
		"calls": func() string {
			return messages(`{"role":"assistant","tool_calls":[` + many(`{"function":{}}`, parts) + `]}`)
		},
		"calls with ids": func() string {
			return messages(`{"role":"assistant","tool_calls":[` + many(`{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`, parts) + `]}`)
		},
		"calls and results": func() string {
			return messages(many(`{"role":"assistant","tool_calls":[{"id":"c%[1]d","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%[1]d","content":"x"}`, parts/2))
		},
		"results":   func() string { return messages(many(`{"role":"tool","tool_call_id":"c%d","content":"x"}`, parts)) },
		"result":    func() string { return turn(`"{}"`, `"`+strings.Repeat(`[{\"a\":1},`, size/10)+`"`) },
		"arguments": func() string { return turn(`"{\"a\":\"`+strings.Repeat(`b\\n`, size/4)+`\"}"`, `"x"`) },
		"bad arguments": func() string {
			return turn(`"`+strings.Repeat(`[{\"a\":1},`, bad/10)+`"`, `"`+strings.Repeat(`x`, size-bad)+`"`)
		},
		"white space": func() string { return head + strings.Repeat(" \n", size/2) + `}` },
	}
}

// discarding is an upstream that keeps nothing of what it is sent, and answers all alike.
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

// gauge is the value of a metric without labels.
func (g *gate) gauge(name string) int64 {
	g.t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(g.adminDo("GET", "/metrics").body))
	if err != nil || families[name] == nil {
		g.t.Fatalf("got no metric %s: %v", name, err)
	}
	m := families[name].GetMetric()[0]
	return int64(m.GetGauge().GetValue() + m.GetCounter().GetValue())
}

// allocates is how many bytes the gateway allocates meanwhile, a process of its own: all of
// them, also those that are garbage at once, so that there can never be more at a time.
func (g *gate) allocates(while func()) int64 {
	g.t.Helper()
	const allocated = "go_memstats_alloc_bytes_total"
	before := g.gauge(allocated)
	while()
	return g.gauge(allocated) - before
}

// nothingClaimed waits until no request has any memory.
func (g *gate) nothingClaimed(t *testing.T) {
	t.Helper()
	await(t, "all memory is free again", func() bool { return g.gauge("callgate_memory_claimed_bytes") == 0 })
}

const messageAnswer = `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`

// memoryGate is a gateway, a process of its own, whose upstreams keep nothing: "up", and "ant"
// that speaks the Messages API.
func memoryGate(t *testing.T) *gate {
	t.Helper()
	var s setup
	s.provider("up", discarding(t, completion("ok")), "parser: auto")
	fmt.Fprintf(&s.providers, "  ant: {type: anthropic, base_url: %q, api_key: x}\n", discarding(t, messageAnswer))
	g, _ := spawn(t, s.String())
	for _, m := range []string{"up/m", "ant/m"} {
		if r := g.chat(prompt(m, "hi", false)); r.status != http.StatusOK { // what is made once
			t.Fatalf("got %d %s", r.status, r.body)
		}
	}
	return g
}

// TestRequestMemory counts what is allocated for one request of every form that costs much. All
// of it together is at most four times the body's bytes, and some megabytes for those with as
// many parts as there may be. For the Messages API the body is written anew. What is needed at once
// is less: TestPeakMemory.
func TestRequestMemory(t *testing.T) {
	t.Parallel()
	g := memoryGate(t)
	for _, row := range []struct {
		model        string
		times, extra int64 // per byte, and besides
	}{
		{"up/m", 4, 12 << 20},
		{"ant/m", 6, 48 << 20},
	} {
		for _, below := range []bool{false, true} {
			for name, form := range hostileBodies(row.model, 8<<20, below) {
				body := form()
				var r result
				taken := g.allocates(func() { r = g.chat(body) })
				t.Logf("%-6s %-18s below=%-5v %8d bytes: %5.1f times, %5.1f MiB; status %d", row.model, name, below, len(body),
					float64(taken)/float64(len(body)), float64(taken)/(1<<20), r.status)
				if most := row.times*int64(len(body)) + row.extra; taken > most {
					t.Errorf("%s, %s, below=%v: %d bytes were allocated for a request of %d, want at most %d", row.model, name, below, taken, len(body), most)
				}
				if below && row.model == "up/m" && r.status != http.StatusOK {
					t.Errorf("%s: got %d %.300s for a body within the limits, want 200", name, r.status, r.body)
				}
			}
		}
	}
	g.nothingClaimed(t)
}

// TestSchemaLimits checks each limit on what a request is made of: as much as it says goes
// through, and one more is refused in a sentence that names the field, the value and the limit.
func TestSchemaLimits(t *testing.T) {
	t.Parallel()
	up := well(t)
	var s setup
	s.head.WriteString("limits: {values: 2000, messages: 5, calls: 3, tools: {count: 3, size: 2KiB, depth: 12, properties: 4}}\n")
	s.provider("up", up.url, "")
	g := serve(t, s.String())
	const head = `{"model":"up/m","messages":[{"role":"user","content":"hi"}]`
	tools := func(list string) string { return head + `,"tools":[` + list + `]}` }
	schema := func(s string) string {
		return tools(`{"type":"function","function":{"name":"f","parameters":` + s + `}}`)
	}
	messages := func(list string) string { return `{"model":"up/m","messages":[` + list + `]}` }
	size := func(n int) string { // of the list
		const rest = `[{"type":"function","function":{"name":"f","description":""}}]`
		return tools(`{"type":"function","function":{"name":"f","description":"` + strings.Repeat("x", n-len(rest)) + `"}}`)
	}
	const message, tool = `{"role":"user","content":"a"}`, `{"type":"function","function":{"name":"f%d"}}`
	calls := func(n int) string {
		return messages(`{"role":"assistant","tool_calls":[` + list(`{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`, 1<<20, n) + `]},` + message)
	}
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) } // within the tool and its function
	for _, tt := range []struct {
		limit      string
		good, bad  string
		status     int
		param, say string
	}{
		{"limits.values", head + `,"x":[` + list("0", 1<<20, 1900) + `]}`, head + `,"x":[` + list("0", 1<<20, 2100) + `]}`,
			400, "", "The request body has 2106 values (members, elements, objects and lists); at most 2000 are taken (limits.values)."},
		{"limits.messages", messages(list(message, 1<<20, 5)), messages(list(message, 1<<20, 6)),
			400, "messages", `The field "messages" has 6 messages; at most 5 are taken (limits.messages).`},
		{"limits.calls", calls(3), calls(4), 400, "messages", `The field "messages" has 4 calls of tools; at most 3 are taken (limits.calls).`},
		{"limits.tools.count", tools(list(tool, 1<<20, 3)), tools(list(tool, 1<<20, 4)),
			400, "tools", `The field "tools" has 4 tools; at most 3 are taken (limits.tools.count).`},
		{"limits.tools.size", size(2048), size(2049), 413, "tools", `The field "tools" has 2049 bytes; at most 2048 are taken (limits.tools.size).`},
		{"limits.tools.depth", schema(deep(10)), schema(deep(11)),
			400, "tools[0]", "The tool tools[0] nests deeper than 12 levels (limits.tools.depth)."},
		{"limits.tools.properties", schema(`{"properties":{"a":{},"b":{"anyOf":[{"properties":{"c":{}}}]}},"$defs":{"d":{}}}`),
			schema(`{"properties":{"a":{},"b":{"anyOf":[{"properties":{"c":{}}}]}},"$defs":{"d":{},"e":{}}}`),
			400, "tools", `The schemas in the field "tools" have 5 properties; at most 4 are taken (limits.tools.properties).`},
	} {
		t.Run(tt.limit, func(t *testing.T) {
			if r := g.chat(tt.good); r.status != http.StatusOK {
				t.Errorf("got %d %s for what is within the limit, want 200", r.status, r.body)
			}
			asked := up.asked.Load()
			r := g.chat(tt.bad)
			code := map[int]string{400: "invalid_request", 413: "request_too_large"}[tt.status]
			failure{status: tt.status, code: code, param: tt.param, says: tt.say}.check(t, r)
			if n := up.asked.Load(); n != asked {
				t.Errorf("got %d requests at the upstream, want none", n-asked)
			}
		})
	}
}

// peak is the most memory that the process has had at once, 0 where nobody says.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	return memoryOf(t, pid, "VmHWM")
}
