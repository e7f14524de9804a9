package cli

import (
	"io"
	"net/http"
	"testing"
)

// TestRequestCost bounds what the whole program allocates for a request that needs no change,
// with the text of its answer read: a list of all parsers for each one went unseen until a
// benchmark was run.
func TestRequestCost(t *testing.T) {
	t.Parallel()
	up := newSite(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, completion("Hello."))
	})
	var s setup
	s.provider("up", up.url, "parser: auto")
	g, _ := spawn(t, s.String())
	body := prompt("up/m", "hi", false)
	const n, most = 200, 40 << 10
	for range n {
		g.chat(body)
	}
	each := g.allocates(func() {
		for range n {
			g.chat(body)
		}
	}) / n
	t.Logf("%d bytes for a request", each)
	if each > most {
		t.Errorf("got %d bytes allocated for a request, want at most %d", each, most)
	}
}
