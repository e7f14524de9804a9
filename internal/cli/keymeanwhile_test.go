package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// spokenStreams are the protocols' streams, by their paths.
var spokenStreams = map[string]string{ //nolint:gochecknoglobals // cases
	"/v1/chat/completions": `{"model":"fast","stream":true,"messages":[{"role":"user","content":"hi"}]}`,
	"/v1/messages":         `{"model":"fast","stream":true,"max_tokens":9999,"messages":[{"role":"user","content":"hi"}]}`,
	"/v1/responses":        `{"model":"fast","stream":true,"input":"hi"}`,
	"/v1/completions":      `{"model":"fast","stream":true,"prompt":"hi"}`,
}

// patch changes a key or a team by the admin API.
func (g *gate) patch(path, body string) result {
	g.t.Helper()
	r := g.request("PATCH", path, body)
	u, err := r.URL.Parse(operatorsOn.FindStringSubmatch(g.stdout.String())[1] + path)
	if err != nil {
		g.t.Fatal(err)
	}
	r.URL, r.Host = u, u.Host
	return g.do(r)
}

// meanwhile are answers of a key under way, over every protocol.
type meanwhile struct {
	t       *testing.T
	g       *gate
	streams map[string]*http.Response
	lines   map[string]*bufio.Reader
	ws      *webSocket
	later   string // the response in the background
}

// begin has one answer begin in each way there is.
func begin(t *testing.T, g *gate, u *keptUpstream, key string) *meanwhile {
	t.Helper()
	r := &meanwhile{t: t, g: g, streams: map[string]*http.Response{}, lines: map[string]*bufio.Reader{}}
	for path, body := range spokenStreams {
		resp, err := g.client.Do(g.request("POST", path, body, bearer(key)...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		r.streams[path], r.lines[path] = resp, bufio.NewReader(resp.Body)
		for line := ""; !strings.Contains(line, "begin "); {
			if line, err = r.lines[path].ReadString('\n'); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
	}
	r.ws = g.webSocket(t, http.StatusSwitchingProtocols, bearer(key)...)
	r.ws.send(`{"model":"fast","input":"hi"}`)
	for text := ""; !strings.Contains(text, "begin "); {
		_, data, err := r.ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	r.later = text(g.call(http.StatusOK, "POST", "/v1/responses", `{"model":"fast","input":"hi","background":true}`, bearer(key)...), "id")
	await(t, "the upstream's requests", func() bool { return u.count() == len(spokenStreams)+2 })
	return r
}

// refused holds that the key is taken nowhere any more.
func (r *meanwhile) refused(key string) {
	r.t.Helper()
	for path, body := range spokenStreams {
		if got := r.g.do(r.g.request("POST", path, body, bearer(key)...)); got.status != http.StatusUnauthorized {
			r.t.Errorf("%s: got status %d for a new request, want 401: %.300s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/v1/models", "/v1/responses/" + r.later} {
		if got := r.g.get(path, bearer(key)...); got.status != http.StatusUnauthorized {
			r.t.Errorf("%s: got status %d, want 401", path, got.status)
		}
	}
	r.g.webSocket(r.t, http.StatusUnauthorized, bearer(key)...)
	if err := r.ws.Write(r.t.Context(), websocket.MessageText, []byte(`{"type":"response.create","stream_id":"new","model":"fast","input":"once more"}`)); err != nil {
		r.t.Fatal(err)
	}
	_, data, err := r.ws.Read(r.t.Context())
	if text := string(data); err != nil || !strings.Contains(text, `"status":401`) || !strings.Contains(text, `"stream_id":"new"`) || !strings.Contains(text, "invalid_api_key") {
		r.t.Errorf("got %s, %v for a new message, want 401", text, err)
	}
}

// finished holds that all of them come to their end.
func (r *meanwhile) finished() {
	r.t.Helper()
	for path, end := range map[string]string{"/v1/chat/completions": "data: [DONE]\n\n", "/v1/completions": "data: [DONE]\n\n", "/v1/messages": `{"type":"message_stop"}`, "/v1/responses": `"status":"completed"`} {
		rest, err := io.ReadAll(r.lines[path])
		if text := string(rest); err != nil || !strings.Contains(text, "end") || !strings.Contains(text, end) || strings.Contains(text, "budget_cut") {
			r.t.Errorf("%s: got %q, %v, want the rest of the stream", path, rest, err)
		}
	}
	var said strings.Builder
	for !strings.Contains(said.String(), `"type":"response.completed"`) {
		_, data, err := r.ws.Read(r.t.Context())
		if err != nil {
			r.t.Errorf("got %v behind %s over the WebSocket", err, &said)
			break
		}
		said.Write(data)
	}
	var rows struct {
		Entries []struct{ Key, Status string }
	}
	await(r.t, "the rows of all answers", func() bool {
		got := r.g.operator("GET", "/admin/usage?group=row")
		return json.Unmarshal([]byte(got.body), &rows) == nil && len(rows.Entries) == len(spokenStreams)+2
	})
	for _, row := range rows.Entries {
		if row.Key != "app" || row.Status != "ok" {
			r.t.Errorf("got the row %+v, want one of the key whose answer has come to its end", row)
		}
	}
}

// TestKeyEndsMeanwhile holds that what has begun with a key comes to its end, and nothing else begins, over every protocol,
// once the key is not taken any more: whatever the reason.
func TestKeyEndsMeanwhile(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(g *gate, file string){
		"blocked": func(g *gate, _ string) { g.ctl(0, "key", "block", "app") },
		"deleted": func(g *gate, _ string) { g.ctl(0, "key", "delete", "app") },
		"rotated": func(g *gate, _ string) { g.ctl(0, "key", "rotate", "app", "--overlap", "0s") },
		"expired": func(g *gate, _ string) {
			r := g.patch("/admin/keys/app", fmt.Sprintf(`{"expires":%q}`, time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)))
			if r.status != http.StatusOK {
				g.t.Fatalf("got %d %s", r.status, r.body)
			}
		},
		"team gone": func(g *gate, file string) {
			config, err := os.ReadFile(file)
			if err != nil {
				g.t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(config), "teams: {search: {}}\n", "", 1)), 0o600); err != nil {
				g.t.Fatal(err)
			}
			if r := g.operator("POST", "/admin/reload"); r.status != http.StatusOK {
				g.t.Fatalf("got %d %s", r.status, r.body)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newKeptUpstream(t)
			file := configFile(t, keyConfig(u, lasting(t)+"teams: {search: {}}\n"))
			g := serve(t, "", "-c", file)
			key := g.make("create", "app", "--team", "search")
			r := begin(t, g, u, key)
			end(g, file)
			await(t, "the end of the key", func() bool { return g.get("/v1/models", bearer(key)...).status == http.StatusUnauthorized })
			r.refused(key)
			close(u.middle)
			r.finished()
		})
	}
}

// TestBudgetLoweredMeanwhile holds that answers under way keep the budget that they began with, over every protocol, and that
// new requests have the lower one.
func TestBudgetLoweredMeanwhile(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"keys/app", "teams/search"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			u := newKeptUpstream(t)
			u.more = strings.Repeat("word ", 10_000) // more than what is held at first
			g := keyGate(t, u, lasting(t))
			limit := func(n int) string { return fmt.Sprintf("tokens=%d/day,on_exceed=cut", n) }
			team, app := []string{"team", "create", "search"}, []string{"create", "app", "--team", "search"}
			if of == "keys/app" {
				app = append(app, "--limit", limit(1_000_000))
			} else {
				team = append(team, "--limit", limit(1_000_000))
			}
			g.ctl(0, team...)
			key := g.make(app...)
			r := begin(t, g, u, key)
			if got := g.patch("/admin/"+of, `{"limits":[{"tokens":10,"per":"day","on_exceed":"cut"}]}`); got.status != http.StatusOK {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			for path, body := range spokenStreams {
				if got := g.do(g.request("POST", path, body, bearer(key)...)); got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "insufficient_quota") && path != "/v1/messages" {
					t.Errorf("%s: got %d %.300s for a new request, want that the budget is spent", path, got.status, got.body)
				}
			}
			close(u.middle)
			r.finished()
		})
	}
}
