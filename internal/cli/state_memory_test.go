package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestMemoryInBackground holds that a response in the background holds the memory of its request
// until it is over, although its client has been answered.
func TestMemoryInBackground(t *testing.T) {
	t.Parallel()
	up, release := waitingSite(t)
	var s setup
	s.head.WriteString("limits: {memory: 256MiB}\n")
	s.provider("up", up.url, "")
	g := serve(t, s.String())
	body := fmt.Sprintf(`{"model":"up/m","input":%q,"background":true}`, strings.Repeat("x", mebi))
	one := text(g.call(200, "POST", "/v1/responses", body), "id")
	two := text(g.call(200, "POST", "/v1/responses", body), "id")
	g.until(one, "in_progress")
	if got := g.gauge("callgate_memory_claimed_bytes"); got < 2*4*mebi {
		t.Errorf("got %d bytes claimed, want those of two bodies", got)
	}
	g.call(200, "POST", "/v1/responses/"+two+"/cancel", "")
	release()
	g.until(one, "completed")
	g.nothingClaimed(t)
}

// TestMemoryOfStoredItems refers from small requests to large items: what comes of them counts as
// if the client had sent it.
func TestMemoryOfStoredItems(t *testing.T) {
	t.Parallel()
	var s setup
	s.head.WriteString("limits: {memory: 64MiB}\n")
	s.provider("up", discarding(t, completion("ok")), "")
	g := serve(t, s.String())
	conversation := text(g.call(200, "POST", "/v1/conversations", `{}`), "id")
	path := "/v1/conversations/" + conversation
	for n := range 4 {
		g.call(200, "POST", path+"/items", fmt.Sprintf(`{"items":[{"id":"msg_%d","type":"message","role":"user","content":%q}]}`, n, strings.Repeat("x", 5*mebi/2)))
	}
	const refused = "limits.memory"
	few := g.call(200, "POST", "/v1/responses", `{"model":"up/m","input":[{"type":"item_reference","id":"msg_1"}]}`)
	if text(few, "status") != "completed" {
		t.Errorf("got %v, want one reference resolved", few)
	}
	bomb := strings.TrimSuffix(strings.Repeat(`{"type":"item_reference","id":"msg_1"},`, 10), ",")
	for name, body := range map[string]string{
		"references": `{"model":"up/m","input":[` + bomb + `]}`, "conversation": `{"model":"up/m","input":"x","conversation":"` + conversation + `"}`,
	} {
		if got := g.call(413, "POST", "/v1/responses", body); !strings.Contains(text(got, "error", "message"), refused) {
			t.Errorf("%s: got %v, want %s", name, got, refused)
		}
	}
	list := g.call(200, "GET", path+"/items?limit=100&order=asc", "")
	if data, _ := list["data"].([]any); len(data) != 3 || text(list, "has_more") != "true" || text(list, "last_id") != "msg_2" {
		t.Errorf("got %d items, has_more %s, last %s, want a page of three", len(data), text(list, "has_more"), text(list, "last_id"))
	}
	rest := g.call(200, "GET", path+"/items?limit=100&order=asc&after=msg_2", "")
	if data, _ := rest["data"].([]any); len(data) != 1 || text(rest, "has_more") != "false" {
		t.Errorf("got %d items, has_more %s, want the last one", len(data), text(rest, "has_more"))
	}
	g.nothingClaimed(t)
}
