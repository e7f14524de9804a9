package clients_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/internal/e2e/gate"
)

// door is a reverse proxy in front of a gateway, which notes what it was asked for: in the gateway's log a request over a
// WebSocket looks like one by POST.
type door struct {
	URL string

	mu   sync.Mutex
	seen map[string]int // requests by method, path and protocol
}

// openDoor opens one.
func openDoor(t *testing.T, g *gate.Gate) *door {
	t.Helper()
	to, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	d, proxy := &door{seen: map[string]int{}}, &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.seen[strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Upgrade"))]++
		d.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	d.URL = s.URL
	return d
}

// sawSockets checks that responses were asked for over WebSockets alone.
func (d *door) sawSockets(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen["GET /v1/responses websocket"] == 0 {
		t.Errorf("got %v, want a WebSocket", d.seen)
	}
	for asked, n := range d.seen {
		if strings.HasPrefix(asked, http.MethodPost) {
			t.Errorf("got %d requests %s, want none", n, asked)
		}
	}
}

// socketsKey is the key of who asks over WebSockets.
const socketsKey = "the-key-of-the-clients"

// step is what a client made of a step over WebSockets.
type step struct {
	Client  string
	Step    string
	Content string
	Calls   []call
	Error   *failure
	Noted   string // what the gateway says of the answer
	// Faults are what the SDK's types found in events, Kinds how many events there were of each type, and IDs those of
	// requests, of which each one's first event speaks.
	Faults []string
	Kinds  map[string]int
	IDs    []string
}

// TestWebSockets has OpenAI's SDKs ask over WebSockets. What each event is to have is held to the SDK's own types.
func TestWebSockets(t *testing.T) {
	t.Parallel()
	c := newConfig()
	c.Keys = []any{map[string]string{"name": "dev", "hash": fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(socketsKey)))}}
	c.Providers["demo"] = map[string]any{"type": "demo", "circuit_breaker": map[string]any{"failure_threshold": 1000}}
	for _, model := range []string{"hermes", "late_error"} {
		c.route(model, target{Provider: "demo", Model: model})
	}
	g := serve(t, c)
	for _, sdk := range []struct {
		name string
		run  func(t *testing.T, url string) []byte
		want map[string][]step // by client
	}{
		{"python", pythonSockets, map[string][]step{"plain": socketSteps(), "concurrent": socketSteps(),
			"agents": agentSteps(&failure{Code: "model_not_found"}, "whole", "chained", "streamed")}},
		{"go", goSockets, map[string][]step{"plain": socketSteps()}},
		{"node", nodeSockets, map[string][]step{"plain": socketSteps(),
			"agents": agentSteps(&failure{Type: "ModelBehaviorError"}, "whole", "streamed")}},
	} {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			d := openDoor(t, g)
			got := stepsOf(t, sdk.run(t, d.URL+"/v1"))
			for client, want := range sdk.want {
				t.Run(client, func(t *testing.T) { compareSteps(t, got[client], want) })
			}
			for _, last := range got[""] {
				if t.Logf("the SDK's types have read %v", last.Kinds); len(last.Kinds) < 20 || len(last.IDs) < 100 {
					t.Errorf("got events of %d types and %d requests, want more", len(last.Kinds), len(last.IDs))
				}
				awaitLog(t, g, last.IDs)
				for _, f := range last.Faults {
					t.Error(f)
				}
			}
			d.sawSockets(t)
			if t.Failed() {
				t.Logf("the gateway's log:\n%s", g.Log(t))
			}
		})
	}
}

// socketSteps are what the plain SDKs make of the steps.
func socketSteps() []step {
	const asks, noted = "Let me check.", "mode=repair parser=hermes calls=1"
	calls := []call{{Name: "get_weather", Arguments: map[string]any{"city": "Oslo"}}}
	return []step{
		{Step: "call", Content: asks, Calls: calls, Noted: noted},
		{Step: "output", Content: "Here is what I found: rain"},
		{Step: "unknown model", Error: &failure{Status: http.StatusNotFound, Code: "model_not_found"}},
		{Step: "unknown response", Error: &failure{Status: http.StatusBadRequest, Code: "previous_response_not_found"}},
		{Step: "prepared"},
		{Step: "on what was prepared", Content: asks, Calls: calls, Noted: noted},
		{Step: "broken stream", Error: &failure{Code: "server_error"}},
		{Step: "background", Error: &failure{Status: http.StatusBadRequest, Code: "invalid_request"}},
		{Step: "steered", Error: &failure{Code: "steering_not_supported"}},
		{Step: "lane one", Content: asks, Calls: calls, Noted: noted},
		{Step: "lane two", Content: "Hello! I am the demo model. How can I help you?"},
		{Step: "wrong key", Error: &failure{Status: http.StatusUnauthorized}},
	}
}

// agentSteps are what an Agents SDK makes of runs that end well, and of a model that is not there.
func agentSteps(unknown *failure, runs ...string) (steps []step) {
	for _, run := range runs {
		steps = append(steps, step{Step: run, Content: "Here is what I found: rain in Oslo"})
	}
	return append(steps, step{Step: "unknown model", Error: unknown})
}

// stepsOf are the steps of each client, "" what has none.
func stepsOf(t *testing.T, output []byte) map[string][]step {
	t.Helper()
	all := map[string][]step{}
	for d := json.NewDecoder(bytes.NewReader(output)); d.More(); {
		var one step
		if err := d.Decode(&one); err != nil {
			t.Fatalf("%v in %s", err, output)
		}
		client := one.Client
		if one.Client = ""; len(one.Calls) == 0 {
			one.Calls = nil
		}
		all[client] = append(all[client], one)
	}
	return all
}

func compareSteps(t *testing.T, got, want []step) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("got no step %s", want[i].Step)
		case i >= len(want) || !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("got  %s\nwant %s", show(got[i]), show(want[min(i, len(want)-1)]))
		}
	}
}

// pythonSockets runs the clients of Python.
func pythonSockets(t *testing.T, url string) []byte {
	t.Helper()
	interpreter, err := installDefaults()
	need(t, err)
	return sdk(t, "", interpreter, "-I", "-X", "utf8", "testdata/websockets.py", url, socketsKey)
}

// nodeSockets runs those of Node.
func nodeSockets(t *testing.T, url string) []byte {
	t.Helper()
	sdks, err := installNode(t.Context())
	need(t, err)
	text, err := os.ReadFile(filepath.Join("testdata", "websockets.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	// Node looks in the working directory for what a text that is evaluated imports.
	return sdk(t, sdks.dir, sdks.program, "--input-type=module", "--eval", string(text), url, socketsKey)
}
