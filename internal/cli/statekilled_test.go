package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/postgrestest"
)

// killable is "callgate serve" as a process of its own.
type killable struct {
	cmd  *exec.Cmd
	addr string
}

// startKillable starts one and waits until it listens.
func startKillable(t *testing.T, file string) *killable {
	t.Helper()
	p := &killable{cmd: exec.Command("callgate", "serve", "--listen", "127.0.0.1:0", "-c", file)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := listensOn.FindStringSubmatch(lines.Text() + "\n"); m != nil {
			p.addr = m[1]
			go io.Copy(io.Discard, out) // until it ends
			return p
		}
	}
	t.Fatal("the gateway does not listen")
	return nil
}

func (p *killable) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// ask posts to the gateway; ok is false if it was killed meanwhile.
func (p *killable) ask(ctx context.Context, client *http.Client, method, path, body string) (status int, text string, ok bool) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+p.addr+path, readerOf(body))
	if err != nil {
		return 0, err.Error(), false
	}
	r.Header.Set("content-type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return 0, err.Error(), false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err == nil
}

// TestStateKilled kills the gateway with SIGKILL while clients talk to it, several times, over each store
// that outlives it. Every response that a client was told of as completed is there afterwards, goes on,
// and is in its conversation once.
func TestStateKilled(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) string{
		"sqlite": func(t *testing.T) string {
			return fmt.Sprintf("{kind: sqlite, path: %q}", filepath.Join(t.TempDir(), "store.db"))
		},
		"postgres": func(t *testing.T) string { return fmt.Sprintf("{kind: postgres, url: %q}", postgrestest.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stateKilled(t, store(t))
		})
	}
}

func stateKilled(t *testing.T, store string) {
	url := upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "text/event-stream")
		send(w, stream("answer"))
	})
	file := configFile(t, fmt.Sprintf("store: %s\nproviders: {local: {type: openai, base_url: %q}}\nmodels: {m: {targets: [{provider: local}]}}\nadmin: {listen: off}\n",
		store, url))
	client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	conversation := ""
	var mu sync.Mutex
	last := map[int]string{} // the last response of each client's chain
	completed := map[string]bool{}
	for round := range 4 {
		p := startKillable(t, file)
		if conversation == "" {
			_, body, _ := p.ask(t.Context(), client, "POST", "/v1/conversations", "{}")
			conversation = between(body, `"id":"`, `"`)
		}
		enough := 3 + rand.IntN(20)
		var clients sync.WaitGroup
		for who := range 3 {
			clients.Go(func() {
				for {
					mu.Lock()
					link := `"previous_response_id":"` + last[who] + `"`
					if last[who] == "" {
						link = `"store":true`
					}
					if who == 0 {
						link = `"conversation":"` + conversation + `"`
					}
					mu.Unlock()
					status, body, ok := p.ask(t.Context(), client, "POST", "/v1/responses", `{"model":"m","stream":true,"input":"x",`+link+`}`)
					if !strings.Contains(body, "event: response.completed\n") {
						if ok {
							t.Errorf("round %d: got %d %s", round, status, body)
						}
						return // it was killed
					}
					mu.Lock()
					last[who] = between(body, `"id":"`, `"`)
					completed[last[who]] = true
					enough--
					if enough == 0 {
						time.AfterFunc(time.Duration(rand.IntN(int(5*time.Millisecond))), func() { _ = p.cmd.Process.Kill() })
					}
					mu.Unlock()
				}
			})
		}
		clients.Wait()
		p.kill()
	}
	p := startKillable(t, file)
	inConversation := 0
	for id := range completed {
		status, body, _ := p.ask(t.Context(), client, "GET", "/v1/responses/"+id, "")
		if status != http.StatusOK || !strings.Contains(body, `"status":"completed"`) || !strings.Contains(body, `"answer"`) {
			t.Errorf("%s: got %d %s, want what its client was told of", id, status, body)
		}
		if strings.Contains(body, conversation) {
			inConversation++
		}
	}
	for who, id := range last {
		if who == 0 {
			continue
		}
		if status, body, _ := p.ask(t.Context(), client, "POST", "/v1/responses", `{"model":"m","stream":true,"input":"x","previous_response_id":"`+id+`"}`); status != http.StatusOK {
			t.Errorf("got %d %s, want that the chain goes on", status, body)
		}
	}
	items, after := 0, ""
	for more := true; more; {
		_, body, _ := p.ask(t.Context(), client, "GET", "/v1/conversations/"+conversation+"/items?limit=100&order=asc"+after, "")
		items += strings.Count(body, `"role":`)
		more, after = strings.Contains(body, `"has_more":true`), "&after="+between(body, `"last_id":"`, `"`)
	}
	// At most one response a round was stored whose client did not hear of it.
	if extra := items/2 - inConversation; items%2 != 0 || extra < 0 || extra > 4 {
		t.Errorf("got %d items in the conversation, want two of each of its %d responses", items, inConversation)
	}
	t.Logf("%d responses were completed before their gateways were killed", len(completed))
}

// between is the text between two others, the first time.
func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}
