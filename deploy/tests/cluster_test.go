package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/postgrestest"
	"github.com/callgate/callgate/internal/redistest"
)

// counted is an upstream that counts what it is asked, and says how many messages it got.
func counted(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []json.RawMessage `json:"messages"`
		}
		text, _ := io.ReadAll(r.Body)
		if json.Unmarshal(text, &body) != nil || r.Header.Get("authorization") != "Bearer upstream-key" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		n := asked.Add(1)
		w.Header().Set("content-type", "application/json")
		fmt.Fprintf(w, `{"id":"c%d","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"answer %[1]d to %d messages"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, n, len(body.Messages))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", asked
}

// TestCluster runs what deploy/compose.yaml runs, with its configuration, as processes: two
// gateways, a Redis and a Postgres. What one has kept the other one gives, also after the first was
// killed, and metrics are read as deploy/compose/prometheus.yaml reads them.
func TestCluster(t *testing.T) {
	t.Parallel()
	const key, operator = "cg-client", "cg-operator"
	redis, database := redistest.Start(t), postgrestest.Database(t)
	url, asked := counted(t)
	environment := []string{
		"CALLGATE_KEY_HASH=" + hashOf(key), "CALLGATE_ADMIN_KEY_HASH=" + hashOf(operator), "CALLGATE_CACHE_SALT=" + t.Name() + redis.KeyPrefix(),
		"REDIS_URL=" + redis.URL(), "DATABASE_URL=" + database, "UPSTREAM_URL=" + url, "UPSTREAM_KEY=upstream-key",
	}
	a := serve(t, "../compose/callgate.yaml", append(environment, "CALLGATE_JOURNAL="+t.TempDir())...)
	b := serve(t, "../compose/callgate.yaml", append(environment, "CALLGATE_JOURNAL="+t.TempDir())...)

	// Without a key there is nothing.
	if status, _, _ := a.post("/v1/chat/completions", "wrong", `{}`); status != http.StatusUnauthorized {
		t.Errorf("a wrong key: got status %d", status)
	}

	// An answer that one has got, the other one gives.
	const question = `{"model":"m","temperature":0,"messages":[{"role":"user","content":"hi"}]}`
	status, _, first := a.post("/v1/chat/completions", key, question)
	if status != http.StatusOK {
		t.Fatalf("got status %d and %s", status, first)
	}
	var second string
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // on a busy machine Redis may take too long
		var header http.Header
		status, header, second = b.post("/v1/chat/completions", key, question)
		if header.Get("x-callgate-cache") == "hit" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no answer out of Redis: status %d, %s", status, second)
		}
	}
	if content(t, second) == "" {
		t.Errorf("got %s", second)
	}

	// A response that one has stored, the other one continues.
	status, _, stored := a.post("/v1/responses", key, `{"model":"m","input":"one","store":true}`)
	var response struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(stored), &response); err != nil || status != http.StatusOK || response.ID == "" {
		t.Fatalf("got status %d and %s", status, stored)
	}
	before := asked.Load()
	status, _, next := b.post("/v1/responses", key, fmt.Sprintf(`{"model":"m","input":"two","previous_response_id":%q}`, response.ID))
	if status != http.StatusOK || !strings.Contains(next, fmt.Sprintf("answer %d to 3 messages", before+1)) {
		t.Errorf("got status %d and %s, want the model to see three messages", status, next)
	}

	// Prometheus has the operator's key, and clients have not.
	scrape := func(key string) (int, string) {
		status, _, text := b.ask(http.MethodGet, b.admin+"/metrics", "", http.Header{"Authorization": {"Bearer " + key}})
		return status, text
	}
	if status, _ := scrape(key); status != http.StatusUnauthorized {
		t.Errorf("a client's key at the metrics: got status %d", status)
	}
	if status, text := scrape(operator); status != http.StatusOK || !strings.Contains(text, inFlight+" ") {
		t.Errorf("got status %d", status)
	}

	// One dies, and the other has all of it.
	a.kill()
	if status, header, text := b.post("/v1/chat/completions", key, question); status != http.StatusOK || header.Get("x-callgate-cache") != "hit" {
		t.Errorf("got status %d, cache %q and %s", status, header.Get("x-callgate-cache"), text)
	}
	status, _, text := b.ask(http.MethodGet, b.url+"/v1/responses/"+response.ID, "", http.Header{"Authorization": {"Bearer " + key}})
	if status != http.StatusOK {
		t.Errorf("got status %d and %s", status, text)
	}
	for _, g := range []*gateway{a, b} {
		for _, secret := range []string{key, operator, "upstream-key", database, redis.URL()} {
			if strings.Contains(g.said(), secret) {
				t.Errorf("the log says %s", secret)
			}
		}
	}
}

func content(t *testing.T, text string) string {
	t.Helper()
	var answer struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.NewDecoder(bytes.NewBufferString(text)).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		t.Errorf("got %v and %s", err, text)
		return ""
	}
	return answer.Choices[0].Message.Content
}

// TestClusterDown holds that a gateway which lost Redis still answers.
func TestClusterDown(t *testing.T) {
	t.Parallel()
	redis, database := redistest.Start(t, "--save", ""), postgrestest.Database(t)
	url, _ := counted(t)
	g := serve(t, "../compose/callgate.yaml", "CALLGATE_KEY_HASH="+hashOf("k"), "CALLGATE_ADMIN_KEY_HASH="+hashOf("o"), "CALLGATE_CACHE_SALT=pepper",
		"REDIS_URL="+redis.URL(), "DATABASE_URL="+database, "UPSTREAM_URL="+url, "UPSTREAM_KEY=upstream-key", "CALLGATE_JOURNAL="+t.TempDir())
	redis.Stop()
	if status, _, text := g.post("/v1/chat/completions", "k", `{"model":"m","temperature":0,"messages":[{"role":"user","content":"hi"}]}`); status != http.StatusOK {
		t.Errorf("got status %d and %s", status, text)
	}
	if status, _, _ := g.ask(http.MethodGet, g.url+"/readyz", "", nil); status != http.StatusOK {
		t.Errorf("got status %d: a cluster would take all gateways out at once", status)
	}
}
