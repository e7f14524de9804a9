package cli

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestFaultSuiteDrain sends SIGTERM to the gateway while very many streams run, some in
// text and some in a call that is held. No new connection is taken, every stream comes
// to its end, and then the process is gone.
func TestFaultSuiteDrain(t *testing.T) {
	t.Parallel()
	const streams = 100
	more := make(chan struct{})
	up := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		all := pieces(longText, 6)
		send(w, role+delta("begin"))
		for i, p := range all {
			if i == len(all)*3/4 {
				select {
				case <-more:
				case <-r.Context().Done():
					return
				}
			}
			send(w, delta(p))
		}
		send(w, finish+done)
	})
	var s setup
	s.provider("none", up.url, "")
	s.provider("auto", up.url, "parser: auto")
	g, _ := spawn(t, s.String())
	bodies := make([]*bufio.Reader, streams)
	firsts := make([]string, streams)
	for i := range streams {
		resp, err := g.open(t.Context(), prompt([]string{"none/m", "auto/m"}[i%2], "hi", true))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		bodies[i] = bufio.NewReader(resp.Body)
		firsts[i] = readEvent(t, bodies[i])
	}
	g.cancel() // SIGTERM
	g.closed()
	select {
	case status := <-g.exited:
		t.Fatalf("got exit status %d while %d streams ran", status, streams)
	default:
	}
	close(more)
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			rest, err := io.ReadAll(bodies[i])
			body := firsts[i] + string(rest)
			if err != nil || !strings.HasSuffix(body, done) {
				t.Errorf("stream %d: got error %v and an end of %q, want it whole", i, err, body[max(0, len(body)-100):])
				return
			}
			if i%2 == 0 {
				if got := streamed(t, body); got.content != "begin"+longText {
					t.Errorf("stream %d: got text %q, want %q", i, got.content, "begin"+longText)
				}
			} else if got := streamed(t, body); len(got.calls) != 1 || got.finish != "tool_calls" {
				t.Errorf("stream %d: got %+v, want a call", i, got)
			}
		})
	}
	all.Wait()
	if status := g.wait(); status != 0 {
		t.Errorf("got exit status %d, want 0; stderr:\n%s", status, g.stderr)
	}
}
