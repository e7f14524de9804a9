package cli

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
	"github.com/callgate/callgate/internal/postgrestest"
)

// slow is a gateway whose upstream sends a piece, and the rest when it is told to.
func slow(t *testing.T, config string) (g *gate, began <-chan struct{}, goOn func()) {
	t.Helper()
	started, wait := make(chan struct{}, 100), make(chan struct{})
	url := upstream(t, func(w http.ResponseWriter, r received) {
		if strings.Contains(r.body, "refuse") {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"nope"}}`)
			return
		}
		all := completion("one two three four")
		w.Header().Set("content-type", "application/json")
		if r.wantsStream() {
			w.Header().Set("content-type", "text/event-stream")
			send(w, delta("one "))
			all = delta("two") + finish + done
		}
		started <- struct{}{}
		select {
		case <-wait:
		case <-r.Context().Done():
			return
		}
		send(w, all)
	})
	g = serve(t, "providers: {local: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: [{provider: local}]}}\nadmin: {listen: off}\n"+config)
	return g, started, func() { close(wait) }
}

// until polls a response until it has a status.
func (g *gate) until(id, status string) responsestest.Object {
	g.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		got := g.call(200, "GET", "/v1/responses/"+id, "")
		if text(got, "status") == status {
			return got
		}
		if s := text(got, "status"); s != "queued" && s != "in_progress" {
			g.t.Fatalf("got %v, want the status %s", got, status)
		}
	}
	g.t.Fatalf("%s is not %s after %v", id, status, patience)
	return nil
}

// TestBackground begins a response, comes back for it, and goes on from it.
func TestBackground(t *testing.T) {
	t.Parallel()
	for name, config := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, began, goOn := slow(t, config)
			first := g.call(200, "POST", "/v1/responses", `{"model":"m","input":"x","background":true}`)
			if _, err := responsestest.CheckResponse(marshal(t, first)); text(first, "status") != "queued" || text(first, "background") != "true" {
				t.Errorf("got %v (%v), want it queued", first, err)
			}
			<-began
			id := text(first, "id")
			g.until(id, "in_progress")
			goOn()
			got := g.until(id, "completed")
			if _, err := responsestest.CheckResponse(marshal(t, got)); err != nil || !strings.Contains(string(marshal(t, got)), "one two three four") {
				t.Errorf("got %v, error %v", got, err)
			}
			g.call(200, "POST", "/v1/responses", `{"model":"m","input":"y","previous_response_id":"`+id+`"}`)
			if got := g.call(200, "POST", "/v1/responses/"+id+"/cancel", ""); text(got, "status") != "completed" {
				t.Errorf("got %v, want that what is over stays so", got)
			}
			failed := g.call(200, "POST", "/v1/responses", `{"model":"m","input":"refuse","background":true}`)
			if got := g.until(text(failed, "id"), "failed"); text(got, "error", "code") != "invalid_prompt" || text(got, "error", "callgate", "code") != "nope" {
				t.Errorf("got %v, want the upstream's refusal", got)
			}
		})
	}
}

// TestBackgroundStream leaves a stream and comes back to it, from every event on.
func TestBackgroundStream(t *testing.T) {
	t.Parallel()
	g, began, goOn := slow(t, "")
	resp, err := g.client.Do(g.request("POST", "/v1/responses", `{"model":"m","input":"x","background":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	<-began
	head := make([]byte, 4000)
	n, err := io.ReadAtLeast(resp.Body, head, 100)
	if err != nil || !strings.HasPrefix(string(head[:n]), "event: response.created\n") {
		t.Fatalf("got %s, error %v", head[:n], err)
	}
	resp.Body.Close() // the client leaves
	_, id, _ := strings.Cut(string(head[:n]), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	goOn()
	g.until(id, "completed")
	all := g.events("GET", "/v1/responses/"+id+"?stream=true", "")
	var types []string
	for i, e := range all {
		types = append(types, strings.TrimPrefix(text(e, "type"), "response."))
		if text(e, "sequence_number") != fmt.Sprint(i) {
			t.Errorf("got the event %v in place %d", e, i)
		}
	}
	if got, want := strings.Join(types, " "), "created queued in_progress output_item.added content_part.added output_text.delta output_text.delta output_text.done content_part.done output_item.done completed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for i := range all {
		rest := g.events("GET", fmt.Sprintf("/v1/responses/%s?stream=true&starting_after=%d", id, i), "")
		if len(rest) != len(all)-i-1 || len(rest) > 0 && text(rest[0], "sequence_number") != fmt.Sprint(i+1) {
			t.Errorf("after %d: got %v", i, rest)
		}
	}
	for _, cursor := range []string{"-1", "x", fmt.Sprint(len(all)), "1e3", "99999999999999999999"} {
		if got := g.call(400, "GET", "/v1/responses/"+id+"?stream=true&starting_after="+cursor, ""); text(got, "error", "param") != "starting_after" {
			t.Errorf("%s: got %v", cursor, got)
		}
	}
	whole := text(g.call(200, "POST", "/v1/responses", `{"model":"m","input":"x","background":true}`), "id")
	g.call(400, "GET", "/v1/responses/"+whole+"?stream=true", "")
	// One that fails in the middle says so, and is stored as failed.
	events := g.events("POST", "/v1/responses", `{"model":"m","input":"refuse","background":true,"stream":true}`)
	last := events[len(events)-1]
	if text(last, "type") != "response.failed" || text(last, "response", "error", "code") != "invalid_prompt" || text(last, "response", "error", "callgate", "code") != "nope" || text(last, "sequence_number") != fmt.Sprint(len(events)-1) {
		t.Errorf("got %v, want that the response has failed", events)
	}
	g.until(text(last, "response", "id"), "failed")
}

// TestBackgroundEnds cancels, deletes, and ends the gateway.
func TestBackgroundEnds(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "store.db")
	config := "store: {kind: sqlite, path: \"" + file + "\"}\nshutdown_timeout: 5s\n"
	g, began, _ := slow(t, config)
	begin := func() string {
		t.Helper()
		id := text(g.call(200, "POST", "/v1/responses", `{"model":"m","input":"x","background":true}`), "id")
		<-began
		return id
	}
	id := begin()
	if got := g.call(200, "POST", "/v1/responses/"+id+"/cancel", ""); text(got, "status") != "cancelled" {
		t.Errorf("got %v", got)
	}
	g.until(id, "cancelled")
	id = begin()
	g.call(200, "DELETE", "/v1/responses/"+id, "")
	g.call(404, "GET", "/v1/responses/"+id, "")
	conv := text(g.call(200, "POST", "/v1/conversations", "{}"), "id")
	id = text(g.call(200, "POST", "/v1/responses", `{"model":"m","input":"x","background":true,"conversation":"`+conv+`"}`), "id")
	<-began
	// Another gateway sees it, and cancels it; and sees that it is over when this one is.
	other, _, _ := slow(t, config)
	other.until(id, "in_progress")
	second := begin()
	if got := other.call(200, "POST", "/v1/responses/"+second+"/cancel", ""); text(got, "status") != "cancelled" {
		t.Errorf("got %v", got)
	}
	g.cancel()
	g.wait()
	if got := other.until(id, "failed"); !strings.Contains(text(got, "error", "message"), "stopped") {
		t.Errorf("got %v", got)
	}
	other.until(second, "cancelled")
	if list := other.call(200, "GET", "/v1/conversations/"+conv+"/items", ""); len(list["data"].([]any)) != 0 {
		t.Errorf("got %v, want nothing of a response that has failed", list)
	}
}

// TestTwoGateways serves one conversation by two gateways at once: each turn sees all before
// it, and none is lost.
func TestTwoGateways(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"sqlite":   "store: {kind: sqlite, path: \"" + filepath.Join(t.TempDir(), "store.db") + "\"}\n",
		"postgres": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if config == "" {
				config = "store: {kind: postgres, url: \"" + postgrestest.Database(t) + "\"}\n"
			}
			gates := []*remembering{remember(t, config), remember(t, config)}
			id := text(gates[0].call(200, "POST", "/v1/conversations", "{}"), "id")
			const each = 6
			var g errgroup.Group
			for n, gate := range gates {
				for i := range each {
					g.Go(func() error {
						body := fmt.Sprintf(`{"model":"m","conversation":%q,"input":"turn %d.%d","stream":%v}`, id, n, i, i%2 == 0)
						got := gate.do(gate.request("POST", "/v1/responses", body))
						if got.status != 200 || !strings.Contains(got.body, "answer") {
							return fmt.Errorf("got %d %s", got.status, got.body)
						}
						return nil
					})
				}
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			list := gates[1].call(200, "GET", "/v1/conversations/"+id+"/items?limit=100&order=asc", "")
			data := list["data"].([]any)
			if len(data) != 2*2*each {
				t.Fatalf("got %d items, want %d", len(data), 2*2*each)
			}
			for i, item := range data {
				if role := text(item.(map[string]any), "role"); role != []string{"user", "assistant"}[i%2] {
					t.Errorf("item %d is of the %s", i, role)
				}
			}
			seen := map[int]bool{}
			for _, gate := range gates {
				for _, asked := range gate.asked {
					seen[strings.Count(asked, `"role"`)] = true
				}
			}
			for i := range 2 * each {
				if !seen[2*i+1] {
					t.Errorf("no turn has seen the %d before it: %v", i, seen)
				}
			}
			// What one stored, the other goes on from.
			first := text(gates[0].call(200, "POST", "/v1/responses", `{"model":"m","input":"one"}`), "id")
			gates[1].call(200, "POST", "/v1/responses", `{"model":"m","input":"two","previous_response_id":"`+first+`"}`)
			if got := gates[1].last(); !strings.HasPrefix(got, "user: one; assistant: answer") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestBackgroundMemory has responses run in the background whose clients have gone: their requests
// count as memory of requests in progress until they are over, and so many are refused for which
// there is none.
func TestBackgroundMemory(t *testing.T) {
	t.Parallel()
	up, release := waitingSite(t)
	var s setup
	s.head.WriteString("limits: {memory: 64MiB}\n")
	s.provider("up", up.url, "")
	g := serve(t, s.String())
	body := `{"model":"up/m","background":true,"input":"` + strings.Repeat("x", 2*mebi) + `"}`
	var begun []string
	for refused := 0; refused < 2; {
		r := g.do(g.request("POST", "/v1/responses", body))
		if r.status != http.StatusOK {
			failure{status: http.StatusServiceUnavailable, code: "memory_spent", retry: "true", says: "limits.memory"}.check(t, r)
			refused++
			continue
		}
		_, id, _ := strings.Cut(r.body, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		if begun = append(begun, id); len(begun) == 16 {
			t.Fatalf("got %d bodies of 2 MiB in the background, and %d bytes that are claimed, want no more than there is memory for", len(begun), g.gauge("callgate_memory_claimed_bytes"))
		}
	}
	if n, least := g.gauge("callgate_memory_claimed_bytes"), int64(len(begun)*4*2*mebi); n < least || len(begun) == 0 {
		t.Errorf("got %d bytes claimed for %d that run, want at least %d", n, len(begun), least)
	}
	release()
	for _, id := range begun {
		g.until(id, "completed")
	}
	g.nothingClaimed(t)
}

// TestBackgroundEvents has responses end in the background that have megabytes of events each: so
// many are kept as there is room for, and the oldest go first.
func TestBackgroundEvents(t *testing.T) {
	t.Parallel()
	up := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		send(w, delta(strings.Repeat("x", mebi))+finish+done)
	})
	var s setup
	s.provider("up", up.url, "")
	g := serve(t, s.String())
	const runs = 12
	kept := 0
	var ids []string
	for range runs {
		r := g.do(g.request("POST", "/v1/responses", `{"model":"up/m","background":true,"stream":true,"input":"x"}`))
		_, id, _ := strings.Cut(r.body, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		g.until(id, "completed")
		ids = append(ids, id)
	}
	for i, id := range ids {
		r := g.get("/v1/responses/" + id + "?stream=true")
		switch {
		case r.status == http.StatusOK && strings.HasSuffix(r.body, "[DONE]\n\n"):
			kept += len(r.body)
		case i == runs-1 || r.status != http.StatusBadRequest || !strings.Contains(r.body, "are not kept"):
			t.Errorf("response %d: got %d %.200s", i, r.status, r.body)
		}
	}
	if kept == 0 || kept > 40*mebi {
		t.Errorf("got %d MiB of events that are kept, want some and at most 40", kept/mebi)
	}
}
