package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// webSocket is one of the Responses API.
type webSocket struct {
	t *testing.T
	*websocket.Conn
}

// webSocket opens one; it fails the test unless the handshake's status is want.
func (g *gate) webSocket(t *testing.T, want int, header ...string) *webSocket {
	t.Helper()
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	ws, resp, err := websocket.Dial(t.Context(), "ws://"+g.addr+"/v1/responses", &websocket.DialOptions{HTTPHeader: h})
	if resp == nil || resp.StatusCode != want {
		t.Fatalf("the handshake failed: %v, want status %d", err, want)
	}
	if ws == nil {
		return nil
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(1 << 20)
	return &webSocket{t, ws}
}

// ask sends a request and returns its events.
func (s *webSocket) ask(body string) []responsestest.Object {
	s.t.Helper()
	s.send(body)
	return s.events()
}

func (s *webSocket) send(body string) {
	s.t.Helper()
	if err := s.Write(s.t.Context(), websocket.MessageText, []byte(`{"type":"response.create",`+body[1:])); err != nil {
		s.t.Fatal(err)
	}
}

// events are those of the next answer. They are checked as those of a stream are.
func (s *webSocket) events() (events []responsestest.Object) {
	s.t.Helper()
	var stream strings.Builder
	for {
		_, data, err := s.Read(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		var e responsestest.Object
		if err := json.Unmarshal(data, &e); err != nil {
			s.t.Fatal(err)
		}
		events = append(events, e)
		fmt.Fprintf(&stream, "event: %s\ndata: %s\n\n", e["type"], data)
		if kind := fmt.Sprint(e["type"]); kind == "error" {
			return events
		} else if slices.Contains([]string{"response.completed", "response.incomplete", "response.failed"}, kind) {
			if _, err := responsestest.CheckStream([]byte(stream.String() + "data: [DONE]\n\n")); err != nil {
				s.t.Errorf("%v in %s", err, stream.String())
			}
			return events
		}
	}
}

// final is the response that a request has in its last event.
func (s *webSocket) final(body string) responsestest.Object {
	s.t.Helper()
	events := s.ask(body)
	r, ok := events[len(events)-1]["response"].(map[string]any)
	if !ok || r["status"] != "completed" {
		s.t.Fatalf("%s: got %v", body, events[len(events)-1])
	}
	return r
}

// TestWebSocket goes on from responses that are stored, and from those that the connection alone remembers.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked string
	base := upstream(t, func(w http.ResponseWriter, r received) {
		mu.Lock()
		asked = r.body
		mu.Unlock()
		w.Header().Set("content-type", "text/event-stream")
		send(w, delta(`<tool_call>{"name": "get_weather", "arguments": {'city': "Oslo"}}</tool_call>`), finish, done)
	})
	g := serve(t, "providers: {up: {type: openai, base_url: "+base+", parser: hermes}}\n")
	const tools = `,"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}`
	result := func(from responsestest.Object) string {
		call := from["output"].([]any)[0].(map[string]any)
		if call["type"] != "function_call" || call["arguments"] != `{"city": "Oslo"}` {
			t.Fatalf("got the output %v, want a call", from["output"])
		}
		return fmt.Sprintf(`{"model":"up/m","previous_response_id":%q,"input":[{"type":"function_call_output","call_id":%q,"output":"12 C"}]`, from["id"], call["call_id"])
	}
	sent := func(parts ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		for _, part := range parts {
			if !strings.Contains(asked, part) {
				t.Errorf("the upstream got %s, want %s in it", asked, part)
			}
		}
	}
	ws := g.webSocket(t, http.StatusSwitchingProtocols)
	events := ws.ask(`{"model":"up/m","input":"Weather?","store":false` + tools)
	said, _ := events[0]["headers"].(map[string]any)
	if id := fmt.Sprint(said["x-request-id"]); !strings.HasPrefix(id, "req_") || said["x-callgate-provider"] != "up" {
		t.Errorf("got the headers %v", events[0]["headers"])
	}
	last := events[len(events)-1]
	if last["callgate"] != "mode=repair parser=hermes calls=1 repairs=args_json=1" {
		t.Errorf("got %q said in the last event", last["callgate"])
	}
	first := responsestest.Object(last["response"].(map[string]any))
	if first["store"] != false {
		t.Errorf("got store %v, want false", first["store"])
	}
	second := ws.final(result(first) + `,"store":false` + tools)
	sent("Weather?", `"arguments":"{\"city\": \"Oslo\"}"`, "12 C")
	third := ws.final(result(second) + tools) // stored, behind two that are not
	sent("Weather?", "12 C")

	other := g.webSocket(t, http.StatusSwitchingProtocols)
	other.final(result(third) + tools)
	sent("Weather?", "12 C")
	for _, gone := range []responsestest.Object{first, second} {
		e := other.ask(fmt.Sprintf(`{"model":"up/m","input":"x","previous_response_id":%q}`, gone["id"]))[0]
		if failure, _ := e["error"].(map[string]any); failure["code"] != "previous_response_not_found" || e["status"] != 400.0 {
			t.Errorf("got %v, want that another connection does not know it", e)
		}
		if r := g.do(g.request("GET", "/v1/responses/"+fmt.Sprint(gone["id"]), "")); r.status != http.StatusNotFound {
			t.Errorf("got status %d for a response that is not stored", r.status)
		}
	}

	mu.Lock()
	asked = ""
	mu.Unlock()
	prepared := ws.final(`{"model":"up/m","input":"Know this.","generate":false,"store":false` + tools)
	sent()
	if output := prepared["output"].([]any); len(output) != 0 || asked != "" {
		t.Errorf("got %v, and the upstream %q, want nothing", output, asked)
	}
	ws.final(fmt.Sprintf(`{"model":"up/m","input":"Now.","previous_response_id":%q`, prepared["id"]) + tools)
	sent("Know this.", "Now.")
}

// TestWebSocketHandshake holds who may open a WebSocket: who has a key, and without keys no page of another site.
func TestWebSocketHandshake(t *testing.T) {
	t.Parallel()
	base := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", "text/event-stream")
		send(w, delta("Hi"), finish, done)
	})
	provider := "providers: {up: {type: openai, base_url: " + base + "}}\n"
	open := serve(t, provider+"cors_origins: [https://app.example]\n")
	open.webSocket(t, http.StatusForbidden, "Origin", "https://evil.example")
	open.webSocket(t, http.StatusForbidden, "Sec-Fetch-Site", "cross-site")
	open.webSocket(t, http.StatusSwitchingProtocols, "Origin", "https://app.example").final(`{"model":"up/m","input":"x"}`)
	open.webSocket(t, http.StatusSwitchingProtocols, "Origin", "http://"+open.addr).final(`{"model":"up/m","input":"x"}`)
	if r := open.get("/v1/responses"); r.status != http.StatusMethodNotAllowed || r.header.Get("allow") != "POST" {
		t.Errorf("got status %d and allow %q without an upgrade", r.status, r.header.Get("allow"))
	}

	closed := serve(t, provider+fmt.Sprintf("keys: [{name: a, hash: %q, models: [up/m]}]\n", hashed("secret")))
	closed.webSocket(t, http.StatusUnauthorized)
	closed.webSocket(t, http.StatusUnauthorized, "Authorization", "Bearer other")
	ws := closed.webSocket(t, http.StatusSwitchingProtocols, "Authorization", "Bearer secret")
	ws.final(`{"model":"up/m","input":"x"}`)
	for _, text := range []string{`{"model":"up/other","input":"x"}`, `{"model":"up/other","input":"x","generate":false}`} {
		if e := ws.ask(text)[0]; e["status"] != 403.0 && e["status"] != 404.0 {
			t.Errorf("%s: got %v for a model that the key may not use", text, e)
		}
	}
	await(t, "the lines of the log", func() bool {
		log := closed.stderr.String()
		_, line, _ := strings.Cut(log, `"path":"/v1/responses","status":200`)
		line, _, _ = strings.Cut(line, "\n")
		return strings.Count(log, `"path":"/v1/responses","status":200`) == 1 && strings.Contains(log, `"status":101`) && strings.Contains(line, `"connection":"req_`)
	})
}

// TestWebSocketShutdown holds that an answer over a WebSocket is finished when the gateway ends.
func TestWebSocketShutdown(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	base := upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "text/event-stream")
		send(w, delta("Hi"))
		close(begun)
		select {
		case <-goOn:
		case <-r.Context().Done():
			t.Error("the answer was cut")
		}
		io.WriteString(w, finish+done)
	})
	g := serve(t, "shutdown_delay: 0s\nproviders: {up: {type: openai, base_url: "+base+"}}\n")
	ws := g.webSocket(t, http.StatusSwitchingProtocols)
	idle := g.webSocket(t, http.StatusSwitchingProtocols)
	ws.send(`{"model":"up/m","input":"x"}`)
	<-begun
	g.cancel()
	if _, _, err := idle.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("got %v for a connection that rests, want its end", err)
	}
	close(goOn)
	if events := ws.events(); events[len(events)-1]["type"] != "response.completed" {
		t.Errorf("got %v", events[len(events)-1])
	}
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("got %v, want the end", err)
	}
}

// TestWebSocketShutdownCut holds that the client of an answer that is cut at the end of shutdown_timeout is told, and
// that the log does not say that the client has left.
func TestWebSocketShutdownCut(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	base := upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "text/event-stream")
		send(w, delta("Hi"))
		close(begun)
		<-r.Context().Done()
	})
	g := serve(t, "shutdown_delay: 0s\nshutdown_timeout: 100ms\nproviders: {up: {type: openai, base_url: "+base+"}}\n")
	ws := g.webSocket(t, http.StatusSwitchingProtocols)
	ws.send(`{"model":"up/m","input":"x"}`)
	<-begun
	g.cancel()
	events := ws.events()
	if last := fmt.Sprint(events[len(events)-1]); !strings.Contains(last, "response.failed") || !strings.Contains(last, "The gateway is being stopped.") {
		t.Errorf("got the last event %v", last)
	}
	if _, _, err := ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("got %v, want the end", err)
	}
	if status := g.wait(); status != 1 {
		t.Errorf("got exit status %d, want 1", status)
	}
	<-g.exited
	g.exited <- 0 // for the end of the test
	if log := g.stderr.String(); !strings.Contains(log, `"code":"overloaded"`) || strings.Contains(log, "client_closed_request") {
		t.Errorf("got this log: %s", log)
	}
}

// TestWebSocketKeys holds that a connection has the rights of its key and no others: they change with a reload in the
// middle of it, as limits.body does, and what one key has stored another does not read.
func TestWebSocketKeys(t *testing.T) {
	t.Parallel()
	base := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", "text/event-stream")
		send(w, delta("Hi"), finish, done)
	})
	config := func(keys, more string) string {
		return "providers: {up: {type: openai, base_url: " + base + "}}\n" + more + "keys:\n" + keys
	}
	key := func(name, more string) string {
		return fmt.Sprintf("  - {name: %s, hash: %q%s}\n", name, hashed("secret-"+name), more)
	}
	g := serveChanging(t, config(key("a", "")+key("b", "")+key("c", ""), ""))
	open := func(name string) *webSocket {
		return g.webSocket(t, http.StatusSwitchingProtocols, "Authorization", "Bearer secret-"+name)
	}
	a, b, c := open("a"), open("b"), open("c")
	first := a.final(`{"model":"up/m","input":"x"}`)
	unstored := a.final(`{"model":"up/m","input":"x","store":false}`)
	b.final(`{"model":"up/m","input":"x"}`)
	c.final(`{"model":"up/m","input":"x"}`)
	for _, r := range []responsestest.Object{first, unstored} {
		from := fmt.Sprintf(`{"model":"up/m","input":"y","previous_response_id":%q}`, r["id"])
		a.final(from)
		if e := b.ask(from)[0]; e["status"] != 400.0 || !strings.Contains(fmt.Sprint(e), "previous_response_not_found") {
			t.Errorf("another key got %v for %s", e, from)
		}
	}
	if out, status := g.reload(config(key("b", ", blocked: true")+key("c", ", models: [up/other]"), "limits: {body: 1KiB}\n")); status != http.StatusOK {
		t.Fatalf("got %d %v", status, out)
	}
	for name, ws := range map[string]*webSocket{"a": a, "b": b, "c": c} {
		for _, body := range []string{`{"model":"up/m","input":"x"}`, `{"model":"up/m","input":"x","generate":false}`} {
			overHTTP := g.do(g.request(http.MethodPost, "/v1/responses", `{"model":"up/m","input":"x"}`, "Authorization", "Bearer secret-"+name))
			var want struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal([]byte(overHTTP.body), &want); err != nil {
				t.Fatal(err)
			}
			e := ws.ask(body)[0]
			got, _ := e["error"].(map[string]any)
			if e["status"] != float64(overHTTP.status) || overHTTP.status < 400 || got["code"] != want.Error.Code || got["message"] != want.Error.Message {
				t.Errorf("%s: got %v, and over HTTP %d %s", name, e, overHTTP.status, overHTTP.body)
			}
		}
	}
	if e := c.ask(`{"model":"up/other","input":"` + strings.Repeat("x", 2000) + `"}`)[0]; e["status"] != 413.0 {
		t.Errorf("got %v for more than limits.body, which the reload has lowered", e)
	}
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("got %v, want the end", err)
	}
}
