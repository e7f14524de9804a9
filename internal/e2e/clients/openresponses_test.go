package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/internal/e2e/gate"
)

// TestOpenResponses holds every response and every event that the gateway writes to types that nobody here has written:
// those that Mozilla makes of Open Responses' schema (openresponses-types on PyPI), read strictly. The conversations are
// those of the conformance suite, the demo's models in all their formats, and what a request may ask for beside.
func TestOpenResponses(t *testing.T) {
	t.Parallel()
	interpreter, err := installDefaults()
	need(t, err)
	seen := &recorder{}
	client := &http.Client{Transport: seen}
	t.Run("suite", func(t *testing.T) { playSuite(t, client) })
	t.Run("demo", func(t *testing.T) { playDemo(t, client) })
	file := filepath.Join(t.TempDir(), "seen.jsonl")
	if err := os.WriteFile(file, seen.lines(t), 0o600); err != nil {
		t.Fatal(err)
	}
	out := sdk(t, "", interpreter, "-I", "-X", "utf8", "testdata/open_responses.py", file)
	var got struct {
		Responses, Events, Compactions int
		Kinds                          map[string]int
		Faults                         []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	t.Logf("%d responses, %d compactions and %d events were read: %v", got.Responses, got.Compactions, got.Events, got.Kinds)
	if got.Responses < 100 || got.Events < 1000 || got.Compactions < 1 || len(got.Kinds) < 16 {
		t.Errorf("got %d responses, %d compactions and %d events of %d kinds, want far more", got.Responses, got.Compactions, got.Events, len(got.Kinds))
	}
	for _, f := range got.Faults {
		t.Error(f)
	}
}

// playSuite plays the conformance suite's conversations by Responses.
func playSuite(t *testing.T, client *http.Client) {
	t.Helper()
	up := conformance.NewUpstream()
	url, err := up.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	listen := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1")
	config, stderr, status := gate.Run(t, "conformance", "config", "callgate", "--upstream-listen", listen)
	if status != 0 {
		t.Fatalf("conformance config: exit status %d: %s", status, stderr)
	}
	g := gate.Serve(t, []byte(config))
	report, err := conformance.Run(t.Context(), conformance.Target{BaseURL: g.URL + "/v1", Client: client}, up, conformance.Options{
		Match: func(name string) bool {
			return strings.HasPrefix(name, "responses/") || strings.HasPrefix(name, "structured/")
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range report.Areas() {
		t.Logf("%s: %d passed, %d failed", a.Area, a.Passed, a.Failed)
	}
}

// demoTool is the tool that the demo's models call.
const demoTool = `{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}`

// playDemo asks each of the demo's models, and one of them for all that a request may ask for, whole, streamed and in the
// background.
func playDemo(t *testing.T, client *http.Client) {
	t.Helper()
	c := newConfig()
	c.Providers["demo"] = map[string]any{"type": "demo", "circuit_breaker": map[string]any{"failure_threshold": 1000}}
	c.Parsers["demo_custom"] = map[string]any{"start": "<<call ", "end": ">>", "body": "name_json"}
	a := asker{client, serve(t, c).URL + "/v1/"}
	list, _ := a.ask(t, "GET", "models", "")["data"].([]any)
	t.Run("models", func(t *testing.T) {
		for _, m := range list {
			model, _ := m.(map[string]any)["id"].(string)
			if model == "demo/hang" { // it never answers
				continue
			}
			t.Run(model, func(t *testing.T) {
				t.Parallel()
				for _, prompt := range []string{"Please think: what is the weather in Oslo?", "hello"} {
					for _, more := range []string{"}", `,"stream":true}`} {
						a.send(t, "POST", "responses", fmt.Sprintf(`{"model":%q,"input":%q,"tools":[%s]`, model, prompt, demoTool)+more) // some of them fail
					}
				}
			})
		}
	})
	begin := `{"model":"demo/hermes","input":"What is the weather in Oslo?","tools":[` + demoTool + `]`
	for _, more := range []string{
		`"tool_choice":"required"`, `"tool_choice":"none"`, `"tool_choice":{"type":"function","name":"get_weather"}`,
		`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"get_weather"}]}`,
		`"text":{"format":{"type":"json_object"}}`, `"text":{"verbosity":"low"}`, `"reasoning":{"effort":"low"}`, `"reasoning":{"summary":"auto"}`, `"reasoning":{}`,
		`"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}`,
		`"text":{"format":{"type":"json_schema","name":"n","description":"d","strict":false,"schema":{"type":"object"}}}`,
		`"temperature":0,"top_p":1,"presence_penalty":1,"frequency_penalty":0.5,"top_logprobs":2`, `"max_output_tokens":1000,"max_tool_calls":3`,
		`"metadata":{"a":"b"},"safety_identifier":"s","prompt_cache_key":"k","service_tier":"auto"`, `"store":false,"include":["reasoning.encrypted_content"]`,
		`"instructions":"Be brief.","truncation":"auto","parallel_tool_calls":false`,
	} {
		a.both(t, begin+","+more)
	}
	first := a.both(t, begin)
	id, _ := first["id"].(string)
	call := ""
	output, _ := first["output"].([]any)
	for _, item := range output {
		if it, _ := item.(map[string]any); it["type"] == "function_call" {
			call, _ = it["call_id"].(string)
		}
	}
	if call == "" {
		t.Fatalf("got no call in %v", first)
	}
	a.both(t, fmt.Sprintf(`{"model":"demo/hermes","previous_response_id":%q,"input":[{"type":"function_call_output","call_id":%q,"output":"rain"}]`, id, call))
	a.ask(t, "GET", "responses/"+id, "")
	a.ask(t, "POST", "responses/compact", `{"model":"demo/hermes","input":[{"role":"user","content":"hello"},{"role":"assistant","content":"Hello!"},{"role":"user","content":"What is the weather?"}]}`)
	back, _ := a.ask(t, "POST", "responses", begin+`,"background":true}`)["id"].(string)
	a.ask(t, "GET", "responses/"+back, "")
	a.ask(t, "POST", "responses", begin+`,"background":true,"stream":true}`)
}

// asker asks a gateway.
type asker struct {
	client *http.Client
	base   string
}

// send sends a request and reads its answer to the end.
func (a asker) send(t *testing.T, method, path, body string) (status int, text []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s %s: %v behind %s", method, path, body, err, text)
	}
	return resp.StatusCode, text
}

// ask sends a request that is answered, and returns the answer; a stream is none.
func (a asker) ask(t *testing.T, method, path, body string) (answer map[string]any) {
	t.Helper()
	status, text := a.send(t, method, path, body)
	if status != http.StatusOK {
		t.Fatalf("%s %s %s: got status %d, %s", method, path, body, status, text)
	}
	_ = json.Unmarshal(text, &answer)
	return answer
}

// both sends a request of responses that lacks its last bracket, streamed and whole.
func (a asker) both(t *testing.T, body string) (whole map[string]any) {
	t.Helper()
	a.ask(t, "POST", "responses", body+`,"stream":true}`)
	return a.ask(t, "POST", "responses", body+`}`)
}

// recorder keeps what comes back of requests for responses.
type recorder struct {
	mu   sync.Mutex
	kept []*exchange
}

// exchange is an answer; Body is whole once the client has read it to its end.
type exchange struct {
	Path   string `json:"path"`
	Status int    `json:"status"`
	Stream bool   `json:"stream"`
	body   bytes.Buffer
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || !strings.Contains(req.URL.Path, "/responses") || req.Method == http.MethodDelete {
		return resp, err
	}
	e := &exchange{Path: req.Method + " " + req.URL.Path, Status: resp.StatusCode, Stream: strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, &e.body), resp.Body}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, e)
	return resp, nil
}

// lines are the answers, one a line.
func (r *recorder) lines(t *testing.T) []byte {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var b bytes.Buffer
	for _, e := range r.kept {
		line, err := json.Marshal(struct {
			*exchange
			Body string `json:"body"`
		}{e, e.body.String()})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}
