package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/formats"
)

// toolShop is an HTTP server with tools, and what was asked of it.
type toolShop struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	do    func(w http.ResponseWriter, r *http.Request, body string)
}

func newToolShop(t *testing.T) *toolShop {
	t.Helper()
	s := &toolShop{}
	s.do = func(w http.ResponseWriter, r *http.Request, body string) {
		fmt.Fprintf(w, `{"found":%q}`, r.URL.Path+" "+r.URL.Query().Get("q")+body)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.calls = append(s.calls, r.Method+" "+r.URL.String()+string(body))
		do := s.do
		s.mu.Unlock()
		do(w, r, string(body))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *toolShop) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.calls...)
}

// config is the configuration of a gateway with the server's tools, and a model.
func (s *toolShop) config(upstream, model, parser, more string) string {
	return fmt.Sprintf(`
providers:
  up: {type: openai, base_url: %q, parser: %s}
tool_servers:
  shop:
    type: http
    private_network: true
    requests:
      - {name: search, description: Searches., parameters: {type: object, properties: {q: {type: string}}, required: [q]}, url: "%s/search?q={q}"}
      - {name: order, description: Orders., parameters: {type: object, properties: {item: {type: string}, n: {type: integer}}, required: [item]}, method: POST, url: "%s/order"}
    reads: [search]
    idempotent: [search]
    untrusted: false
models:
  %s:
    targets: [{provider: up}]
%s
admin: {listen: "off"}
`, upstream, parser, s.URL, s.URL, model, more)
}

// modelCall is a call that a scripted model makes.
type modelCall struct{ id, name, args string }

// format writes a turn of a model, streamed or whole: native, or as text in a format.
func turnOf(r received, name, text string, calls ...modelCall) string {
	if name != "native" {
		f, ok := formats.Find(name)
		if !ok {
			panic("no format " + name)
		}
		turn := formats.Turn{Content: text}
		for _, c := range calls {
			fc := formats.Call{ID: c.id, Name: c.name}
			d := json.NewDecoder(strings.NewReader(c.args))
			var args map[string]json.RawMessage
			_ = d.Decode(&args)
			for k, v := range args {
				fc.Args = append(fc.Args, formats.Arg{Key: k, Value: v})
			}
			turn.Calls = append(turn.Calls, fc)
		}
		text, calls = f.Write(turn), nil
	}
	finish := "stop"
	if len(calls) > 0 {
		finish = "tool_calls"
	}
	usage := `{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":50}}`
	if !r.wantsStream() {
		var list []string
		for _, c := range calls {
			list = append(list, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, c.id, c.name, jsonText(c.args)))
		}
		tools := ""
		if len(list) > 0 {
			tools = `,"tool_calls":[` + strings.Join(list, ",") + "]"
		}
		return fmt.Sprintf(`{"id":"up","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":%s%s},"finish_reason":%q}],"usage":%s}`, jsonText(text), tools, finish, usage)
	}
	var b strings.Builder
	chunk := func(delta, reason string) {
		fmt.Fprintf(&b, "data: {\"id\":\"up\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, reason)
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	for rest := []rune(text); len(rest) > 0; rest = rest[min(7, len(rest)):] {
		chunk(`{"content":`+jsonText(string(rest[:min(7, len(rest))]))+`}`, "null")
	}
	for i, c := range calls {
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`, i, c.id, c.name), "null")
		for _, p := range pieces(c.args, 5) {
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, jsonText(p)), "null")
		}
	}
	chunk(`{}`, jsonText(finish))
	fmt.Fprintf(&b, "data: {\"id\":\"up\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"up\",\"choices\":[],\"usage\":%s}\n\n%s", usage, done)
	return b.String()
}

func jsonText(s string) string { b, _ := json.Marshal(s); return string(b) }

// script is an upstream that answers the nth request of a conversation by its results so far.
func script(t *testing.T, format string, turn func(results int, r received) (text string, calls []modelCall)) (url string, bodies func() []string) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	url = upstream(t, func(w http.ResponseWriter, r received) {
		mu.Lock()
		got = append(got, r.body)
		mu.Unlock()
		text, calls := turn(strings.Count(r.body, `"role":"tool"`), r)
		w.Header().Set("content-type", map[bool]string{true: "text/event-stream", false: "application/json"}[r.wantsStream()])
		for _, block := range strings.SplitAfter(turnOf(r, format, text, calls...), "\n\n") {
			send(w, block)
		}
	})
	return url, func() []string { mu.Lock(); defer mu.Unlock(); return append([]string{}, got...) }
}

// oneAnswer is what a client makes of an answer.
type oneAnswer struct {
	text, finish string
	calls        []modelCall
	usage        string
	ids          map[string]bool
	roles        int
	finishes     int
	usages       int
	comments     []string
	vendor       int
}

func readAnswer(t *testing.T, r result) *oneAnswer {
	t.Helper()
	a := &oneAnswer{ids: map[string]bool{}}
	if !strings.HasPrefix(r.header.Get("content-type"), "text/event-stream") {
		a.add(t, r.body)
		return a
	}
	for block := range strings.SplitSeq(r.body, "\n\n") {
		switch {
		case strings.HasPrefix(block, ": "):
			a.comments = append(a.comments, block)
		case strings.HasPrefix(block, "data: {"):
			a.add(t, strings.TrimPrefix(block, "data: "))
		}
	}
	if n := strings.Count(r.body, done); n != 1 {
		t.Errorf("got %d ends, want one", n)
	}
	return a
}

func (a *oneAnswer) add(t *testing.T, data string) {
	t.Helper()
	var c struct {
		ID      string
		Choices []struct {
			Delta, Message *struct {
				Role, Content string
				Calls         []struct {
					Index    int
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage    json.RawMessage
		Callgate json.RawMessage
	}
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("got %s: %v", data, err)
	}
	a.ids[c.ID] = true
	if len(c.Usage) > 0 && string(c.Usage) != "null" {
		a.usage, a.usages = string(c.Usage), a.usages+1
	}
	if c.Callgate != nil {
		a.vendor++
	}
	for _, ch := range c.Choices {
		d := ch.Delta
		if d == nil {
			d = ch.Message
		}
		a.text += d.Content
		if d.Role != "" {
			a.roles++
		}
		for i, tc := range d.Calls {
			if ch.Message != nil {
				tc.Index = i
			}
			for len(a.calls) <= tc.Index {
				a.calls = append(a.calls, modelCall{})
			}
			own := &a.calls[tc.Index]
			own.id, own.name, own.args = own.id+tc.ID, own.name+tc.Function.Name, own.args+tc.Function.Arguments
		}
		if ch.Finish != "" {
			a.finish, a.finishes = ch.Finish, a.finishes+1
		}
	}
}

// one checks that it is one answer.
func (a *oneAnswer) one(t *testing.T, r result, finish string) {
	t.Helper()
	if r.status != 200 || r.err != nil {
		t.Fatalf("got status %d, %v: %s", r.status, r.err, r.body)
	}
	if len(a.ids) != 1 || a.roles != 1 || a.finishes != 1 || a.finish != finish || a.usages != 1 || a.vendor != 0 {
		t.Fatalf("got %+v, want one id, role, finish reason %s and usage, and no vendor member:\n%s", a, finish, r.body)
	}
}

// TestToolRunFiveRounds: five rounds with two calls each are one answer, streamed or not, whether
// the model's calls are native or text.
func TestToolRunFiveRounds(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"native", "hermes", "qwen3_coder", "harmony"} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v", format, stream), func(t *testing.T) {
				t.Parallel()
				shop := newToolShop(t)
				parser := format
				if format == "native" {
					parser = "none"
				}
				url, bodies := script(t, format, func(results int, _ received) (string, []modelCall) {
					if n := results / 2; n < 5 {
						return fmt.Sprintf("Step %d.", n+1), []modelCall{
							{fmt.Sprintf("call_a%d", n), "shop__search", fmt.Sprintf(`{"q":"x%d"}`, n)}, {fmt.Sprintf("call_b%d", n), "shop__order", fmt.Sprintf(`{"item":"y%d"}`, n)}}
					}
					return "All done.", nil
				})
				g := serve(t, shop.config(url, "m", parser, ""))
				r := g.chat(fmt.Sprintf(`{"model":"m","stream":%v,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"order them"}],"tools":[{"type":"mcp","server_label":"shop"}]}`, stream))
				a := readAnswer(t, r)
				a.one(t, r, "stop")
				if got := strings.Join(strings.Fields(a.text), " "); got != "Step 1. Step 2. Step 3. Step 4. Step 5. All done." || len(a.calls) != 0 {
					t.Errorf("got %q and the calls %v", a.text, a.calls)
				}
				if got := len(shop.made()); got != 10 || len(bodies()) != 6 {
					t.Errorf("got %d calls and %d rounds, want 10 and 6", got, len(bodies()))
				}
				if !strings.Contains(a.usage, `"total_tokens":660`) || !strings.Contains(a.usage, `"cached_tokens":300`) {
					t.Errorf("got the usage %s, want that of six rounds", a.usage)
				}
				said := "tool_run=rounds=6;calls=10;stop=answer"
				if !stream {
					said = r.header.Get("x-callgate-tool-run")
					if said != "rounds=6;calls=10;stop=answer" {
						t.Errorf("got the header %q", said)
					}
				} else if !strings.Contains(strings.Join(a.comments, "\n"), said) {
					t.Errorf("got the comments %q, want %s", a.comments, said)
				}
			})
		}
	}
}

// TestToolRunEvents: the member callgate is there for those who ask for it.
func TestToolRunEvents(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	url, _ := script(t, "native", func(results int, _ received) (string, []modelCall) {
		if results == 0 {
			return "Let me see.", []modelCall{{"call_1", "shop__search", `{"q":"x"}`}}
		}
		return "Done.", nil
	})
	g := serve(t, shop.config(url, "m", "none", "    execution_metadata: body"))
	for _, stream := range []bool{true, false} {
		r := g.chat(fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"mcp","server_label":"shop"}]}`, stream), "x-callgate-tool-events", "1")
		for _, want := range []string{`"event":"listed","server":"shop","tools":[{"name":"order","description":"Orders.","input_schema":{"type":"object"`,
			`"event":"finished","id":"call_1","server":"shop","name":"search","arguments":"{\"q\":\"x\"}","output":"{\"found\":\"/search x\"}","error":null`,
			`"tools":{"offered":2,"rounds":2,"stop":"answer","calls":[{"server":"shop","tool":"search","outcome":"ok","attempts":1,"took_ms":`} {
			if !strings.Contains(r.body, want) {
				t.Errorf("stream %v: got\n%s\nwant %s in it", stream, r.body, want)
			}
		}
		if strings.Contains(r.body, `"event":"started"`) != stream || strings.Contains(r.body, `"after":13}`) == stream {
			t.Errorf("stream %v: got\n%s\nwant the beginning in a stream alone, and places in a whole answer alone", stream, r.body)
		}
	}
}

// TestToolRunMisfit has a tool whose result is not what its schema says: the model gets an error that says so, and the
// client a warning.
func TestToolRunMisfit(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	url, bodies := script(t, "native", func(results int, _ received) (string, []modelCall) {
		if results == 0 {
			return "", []modelCall{{"call_1", "shop__search", `{"q":"x"}`}}
		}
		return "Done.", nil
	})
	g := serve(t, strings.Replace(shop.config(url, "m", "none", ""), "{name: search,", "{name: search, output: {type: object, required: [n]},", 1))
	r := g.chat(`{"model":"m","messages":[{"role":"user","content":"go"}],"tools":[{"type":"mcp","server_label":"shop"}]}`)
	all := bodies()
	if got := r.header.Get("X-Callgate-Warnings"); got != "tool_output_schema:shop__search" || !strings.Contains(all[len(all)-1], "not what it has promised") {
		t.Errorf("got the warnings %q and %s", got, all[len(all)-1])
	}
}
