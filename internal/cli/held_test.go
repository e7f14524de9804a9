package cli

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHeldTextHoldsNoOther has an upstream send text and, in the same packet, what
// may be the beginning of a call, and then think for a while. The text that is
// surely text must be with the client meanwhile.
func TestHeldTextHoldsNoOther(t *testing.T) {
	t.Parallel()
	here := make(chan struct{})
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, parser: auto}}", upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		send(w, delta("Hello")+delta(` <tool_`))
		pause(here, r)
		send(w, finish+done)
	})))
	resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !lines.Scan() || !strings.Contains(lines.Text(), "Hello") {
		t.Errorf("got %q and error %v while the upstream thinks, want the text", lines.Text(), lines.Err())
	}
	close(here)
	for lines.Scan() {
	}
}

// TestBlockBetweenHeldText has a block of another kind come while text is held:
// what was written must not come twice.
func TestBlockBetweenHeldText(t *testing.T) {
	t.Parallel()
	const ping = "data: {\"type\":\"ping\"}\n\n"
	for name, body := range map[string]string{
		"ping":    delta("Hi <too") + ping + delta("lbox>") + finish + done,
		"comment": delta("Hi <too") + ": ping\n\n" + delta("lbox>") + finish + done,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, parser: auto}}", static(t, 200, events, body)))
			equalBytes(t, "streams", g.chat(prompt("up/m", "hi", true)).body, body)
		})
	}
}

// TestLongModelName sends a name that is as long as a request may be. It must not
// take longer than another request of that size.
func TestLongModelName(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf("{providers: {up: {type: openai, base_url: %q}}, models: {m: {targets: [{provider: up}]}}}", down(t)))
	least := time.Hour
	for tries := 0; tries < 20 && least > 500*time.Millisecond; tries++ { // on a busy machine any request may take long
		began := time.Now()
		if r := g.chat(`{"model":"` + strings.Repeat("q", 100_000) + `"}`); r.status/100 != 4 {
			t.Fatalf("got status %d, want 4xx", r.status)
		}
		least = min(least, time.Since(began))
	}
	if least > 500*time.Millisecond {
		t.Errorf("got no answer in less than %v, want it at once", least)
	}
}

// TestUnknownModelDoesNotWait asks for a model that does not exist, before an
// upstream that is silent.
func TestUnknownModelDoesNotWait(t *testing.T) {
	t.Parallel()
	silent := newSite(t, hangs)
	g := serve(t, fmt.Sprintf("{providers: {up: {type: openai, base_url: %q}}, models: {qwen3: {targets: [{provider: up}]}}}", silent.url))
	if r := g.chat(`{"model":"qwen-3"}`); r.status != 404 || silent.asked.Load() != 0 {
		t.Errorf("got status %d and %d requests upstream, want 404 and none: the name is no upstream's business", r.status, silent.asked.Load())
	}
}
