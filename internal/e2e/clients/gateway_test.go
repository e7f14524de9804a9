package clients_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/e2e/gate"
)

func TestMain(m *testing.M) {
	status := m.Run()
	gate.Clean()
	os.Exit(status)
}

// config is a configuration of the gateway. As JSON it is YAML too.
type config struct {
	Providers map[string]any            `json:"providers"`
	Models    map[string]map[string]any `json:"models"`
	Parsers   map[string]any            `json:"parsers"`
	// ToolServers are those whose tools the gateway runs.
	ToolServers map[string]any `json:"tool_servers,omitempty"`
	Keys        []any          `json:"keys,omitempty"` // without them everybody may ask
	Admin       any            `json:"admin"`
}

func newConfig() *config {
	return &config{Providers: map[string]any{}, Models: map[string]map[string]any{}, Parsers: map[string]any{}, ToolServers: map[string]any{}, Admin: map[string]string{"listen": "off"}}
}

// target is one of a model's.
type target struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Parser   string `json:"parser,omitempty"`
	Tools    string `json:"tools,omitempty"`
}

// route adds a model with its targets.
func (c *config) route(model string, targets ...target) {
	c.Models[model] = map[string]any{"targets": targets}
}

// serve starts the gateway.
func serve(t *testing.T, c *config) *gate.Gate {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return gate.Serve(t, text)
}

// awaitLog waits until the log has each of some request ids.
func awaitLog(t *testing.T, g *gate.Gate, ids []string) {
	t.Helper()
	lacks := ""
	gate.Await(t, "a request id of the SDK's in the gateway's log", func() bool {
		text := g.Log(t)
		lacks = ""
		for _, id := range ids {
			if !strings.Contains(text, fmt.Sprintf(`"id":%q`, id)) {
				lacks = id
			}
		}
		return lacks == ""
	}, &lacks)
}

// awaitRequests waits until the log has as many requests for each model as it should,
// and checks that it has no more. Whoever sends them must have ended.
func awaitRequests(t *testing.T, g *gate.Gate, want map[string]int) {
	t.Helper()
	lacks := ""
	gate.Await(t, "a request in the gateway's log", func() bool {
		got := g.Requests(t)
		lacks = ""
		for model, n := range want {
			if got[model] < n {
				lacks = fmt.Sprintf("%d for the model %s, want %d", got[model], model, n)
			}
		}
		return lacks == ""
	}, &lacks)
	got := g.Requests(t)
	for model, n := range want {
		if got[model] != n {
			t.Errorf("got %d requests for the model %s, want %d", got[model], model, n)
		}
	}
}
