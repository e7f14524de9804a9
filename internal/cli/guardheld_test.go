package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// claimConfig is a gateway whose guard enforces, and whose heart beats often.
func claimConfig(url string) string {
	return fmt.Sprintf("heartbeat: 50ms\nlog: {level: error}\ndefaults: {guard: enforce}\nproviders: {up: {type: openai, base_url: %q}}\n", url)
}

const (
	weatherQuestion = "Tell me about rain."
	weatherClaim    = "Done! I've looked up the weather in Oslo: it is 14 °C. "
	rainFact        = "Rain falls where air rises and cools, and the water in it gathers into drops. "
)

// pause waits until a test says so, or the client has left.
func pause(until chan struct{}, r received) {
	select {
	case <-until:
	case <-r.Context().Done():
	}
}

// TestGuardLetsTextGo has an upstream stop in the middle of a long text that claims
// nothing. The client has its beginning meanwhile, byte for byte.
func TestGuardLetsTextGo(t *testing.T) {
	t.Parallel()
	begun := delta(strings.Repeat(rainFact, 8))
	here := make(chan struct{})
	g := serve(t, claimConfig(upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		send(w, begun)
		pause(here, r)
		send(w, delta(rainFact)+finish+done)
	})))
	resp, err := g.open(t.Context(), prompt("up/m", weatherQuestion, true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := bufio.NewReader(resp.Body)
	equalBytes(t, "while the upstream waits", nextBlock(t, events), begun)
	close(here)
	rest, err := io.ReadAll(events)
	if err != nil {
		t.Error(err)
	}
	equalBytes(t, "the rest", withoutComments(string(rest)), delta(rainFact)+finish+done)
}

// TestGuardHoldsShortText has an upstream stop in the middle of a text of which it is
// not known yet what it claims. The client hears the heart beat, and nothing else; the
// text comes byte for byte when it is over.
func TestGuardHoldsShortText(t *testing.T) {
	t.Parallel()
	here := make(chan struct{})
	g := serve(t, claimConfig(upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		send(w, delta(rainFact))
		pause(here, r)
		send(w, delta(rainFact)+finish+done)
	})))
	resp, err := g.open(t.Context(), prompt("up/m", weatherQuestion, true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := bufio.NewReader(resp.Body)
	for range 3 {
		equalBytes(t, "while the upstream waits", readEvent(t, events), ping)
	}
	close(here)
	rest, err := io.ReadAll(events)
	if err != nil {
		t.Error(err)
	}
	equalBytes(t, "the text", withoutComments(string(rest)), delta(rainFact)+delta(rainFact)+finish+done)
}

// TestGuardShowsNoByteOfAClaim has an upstream claim, stop, go on for long and make the
// call when it is told to. What the client has before that are heartbeats.
func TestGuardShowsNoByteOfAClaim(t *testing.T) {
	t.Parallel()
	here, told := make(chan struct{}), make(chan struct{})
	call := `data: {"id":"c2","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n"
	g := serve(t, claimConfig(upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		if strings.Contains(r.body, "You MUST call") {
			pause(told, r)
			send(w, call+done)
			return
		}
		send(w, delta(weatherClaim))
		pause(here, r)
		send(w, delta(strings.Repeat(rainFact, 20))+finish+done)
	})))
	resp, err := g.open(t.Context(), prompt("up/m", "What is the weather in Oslo?", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := bufio.NewReader(resp.Body)
	for _, release := range []chan struct{}{here, told} {
		for range 3 {
			equalBytes(t, "before the call", readEvent(t, events), ping)
		}
		close(release)
	}
	rest, err := io.ReadAll(events)
	if err != nil {
		t.Error(err)
	}
	equalBytes(t, "the answer", withoutComments(string(rest)), call+done)
}

// TestGuardLeavesWithTheClient has a client leave while its answer is withheld. The
// upstream hears of it, and is not asked again.
func TestGuardLeavesWithTheClient(t *testing.T) {
	t.Parallel()
	asked, left := make(chan struct{}, 2), make(chan struct{}, 2)
	g := serve(t, claimConfig(upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		send(w, delta(weatherClaim))
		asked <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	})))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := g.open(ctx, prompt("up/m", "What is the weather in Oslo?", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	equalBytes(t, "before it leaves", readEvent(t, bufio.NewReader(resp.Body)), ping)
	<-asked
	leave()
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("got no end of the upstream's request")
	}
	g.cancel()
	g.wait() // all requests are over
	if len(asked) > 0 {
		t.Error("got another request upstream for a client that has left")
	}
}

// TestGuardGivesUp has an upstream write more than the guard withholds, where a rule wants
// a call and so no text is let go before the end. It goes through byte for byte, and it
// is said that nobody has held it.
func TestGuardGivesUp(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(delta(strings.Repeat(rainFact, 800)), 9<<20/(800*len(rainFact))) + finish
	url := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", events)
		send(w, text, done)
	})
	g := serve(t, strings.Replace(claimConfig(url), "enforce", "enforce, intents: [{match: [rain], expect: get_weather}]", 1))
	r := g.chat(prompt("up/m", weatherQuestion, true))
	equalBytes(t, "the text", withoutComments(r.body), text+done)
	comments := strings.Join(callgateComment.FindAllString(r.body, -1), "")
	if !strings.Contains(comments, "warnings=guard_gave_up") || !strings.Contains(comments, "guard=ghost;") {
		t.Errorf("got %q, want the warning guard_gave_up and the verdict", comments)
	}
}

// nextBlock reads the next block of a stream that is no comment.
func nextBlock(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		if block := readEvent(t, r); !strings.HasPrefix(block, ":") {
			return block
		}
	}
}

// withoutComments takes heartbeats and the gateway's other comments out of a stream.
func withoutComments(s string) string {
	return callgateComment.ReplaceAllString(strings.ReplaceAll(s, ping, ""), "")
}
