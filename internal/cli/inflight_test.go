package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// waiting is an upstream that answers when it is told to.
func waitingSite(t *testing.T) (up *site, release func()) {
	t.Helper()
	told := make(chan struct{})
	release = sync.OnceFunc(func() { close(told) })
	t.Cleanup(release)
	up = newSite(t, func(w http.ResponseWriter, r received) {
		select {
		case <-told:
		case <-r.Context().Done():
		}
		answerWith(w, r, healthyText)
	})
	return up, release
}

const mebi = 1 << 20

// TestBodiesInFlight fills the memory that there is for requests in progress.
func TestBodiesInFlight(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes several times the memory that is counted here")
	}
	t.Parallel()
	t.Run("schemas", attackWithSchemas)
	t.Run("large bodies", largeBodies)
	t.Run("a body that is not sent", bodyNotSent)
	t.Run("chunks", bodyInChunks)
	t.Run("one too large", oneTooLarge)
}

// attackWithSchemas sends eight bodies of 30 MB at once whose tool has very many properties.
func attackWithSchemas(t *testing.T) {
	t.Parallel()
	var s setup
	s.provider("up", discarding(t, completion("ok")), "parser: auto")
	g, process := spawn(t, s.String())
	g.chat(prompt("up/m", "hi", false))
	before := peak(t, process.Pid)
	body := hostileBody("properties", "up/m", 30_000_000, false)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			r := g.chat(body)
			refused := r.status == http.StatusBadRequest && strings.Contains(r.body, "limits.values") ||
				r.status == http.StatusServiceUnavailable && strings.Contains(r.body, "limits.memory")
			if !refused {
				t.Errorf("got %d %.300s, want a refusal", r.status, r.body)
			}
		})
	}
	group.Wait()
	after := peak(t, process.Pid)
	t.Logf("the gateway took %d MiB before, and %d MiB at most", before/mebi, after/mebi)
	if most := before + 8*4*30_000_000; after > most {
		t.Errorf("got a peak of %d MiB, want at most %d", after/mebi, most/mebi)
	}
	g.nothingClaimed(t)
}

// largeBodies has clients with 30 MB each wait for an upstream: as many as fit get through, all
// others are told to come again, and small requests are not in anybody's way.
func largeBodies(t *testing.T) {
	t.Parallel()
	up, release := waitingSite(t)
	var s setup
	s.head.WriteString("limits: {memory: 512MiB}\n")
	s.provider("up", up.url, "")
	s.provider("fast", well(t).url, "")
	g, _ := spawn(t, s.String())
	body := hostileBody("text", "up/m", 30_000_000, true)
	results := make(chan result, 8)
	ask := func() { results <- g.chat(body) }
	for range 3 {
		go ask()
	}
	await(t, "three are with the upstream", func() bool { return up.asked.Load() == 3 })
	if n := g.gauge("callgate_memory_claimed_bytes"); n < 3*4*30_000_000 || n > 384*mebi {
		t.Errorf("got %d bytes claimed, want those of three bodies", n)
	}
	for range 5 {
		r := g.chat(body)
		failure{status: http.StatusServiceUnavailable, code: "memory_spent", retry: "true", says: "limits.memory"}.check(t, r)
		hasHeader(t, r.header, map[string]string{"retry-after": "1"})
	}
	if n := g.gauge("callgate_memory_refused_total"); n != 5 {
		t.Errorf("got %d refused, want 5", n)
	}
	if n := g.gauge("callgate_memory_limit_bytes"); n != 512*mebi {
		t.Errorf("got a limit of %d, want 512 MiB", n)
	}
	for range 20 {
		if r := g.chat(prompt("fast/m", "hi", true)); r.status != http.StatusOK {
			t.Errorf("got %d %s for a small request, want 200", r.status, r.body)
		}
	}
	release()
	for range 3 {
		if r := <-results; r.status != http.StatusOK {
			t.Errorf("got %d %.300s for one that was let in, want 200", r.status, r.body)
		}
	}
	g.nothingClaimed(t)

	// A client that leaves takes nothing along.
	leaving, _ := waitingSite(t)
	var other setup
	other.head.WriteString("limits: {memory: 512MiB}\n")
	other.provider("up", leaving.url, "")
	g2 := serve(t, other.String())
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		await(t, "the upstream is asked", func() bool { return leaving.asked.Load() == 1 })
		leave()
	}()
	if resp, err := g2.open(ctx, body); err == nil {
		resp.Body.Close()
		t.Error("got an answer, want none for a client that left")
	}
	g2.nothingClaimed(t)
}

// bodyNotSent has clients announce large bodies and send next to nothing of them.
func bodyNotSent(t *testing.T) {
	t.Parallel()
	var s setup
	s.head.WriteString("limits: {memory: 64MiB}\n")
	s.provider("up", well(t).url, "")
	g := serve(t, s.String())
	for range 16 {
		c := g.dial(t)
		fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", 30_000_000)
		defer c.Close()
	}
	await(t, "all have begun", func() bool { return g.gauge("callgate_memory_claimed_bytes") >= 16*4*(64<<10) })
	if n := g.gauge("callgate_memory_claimed_bytes"); n > 8*mebi {
		t.Errorf("got %d bytes claimed for bodies of which one byte each has come, want little", n)
	}
	if r := g.chat(prompt("up/m", "hi", false)); r.status != http.StatusOK {
		t.Errorf("got %d %s, want 200", r.status, r.body)
	}
}

// bodyInChunks sends a body of which nobody knows how long it is going to be.
func bodyInChunks(t *testing.T) {
	t.Parallel()
	var s setup
	s.head.WriteString("limits: {memory: 64MiB}\n")
	s.provider("up", well(t).url, "")
	g := serve(t, s.String())
	for size, want := range map[int]int{1_000_000: http.StatusOK, 20_000_000: http.StatusRequestEntityTooLarge} {
		r := g.request("POST", "/v1/chat/completions", "")
		r.Header.Set("content-type", "application/json")
		r.Body = io.NopCloser(strings.NewReader(hostileBody("text", "up/m", size, true)))
		r.ContentLength = -1
		resp, err := g.client.Do(r)
		if err != nil {
			continue // the connection may be closed in the middle of a body that is refused
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("got %d %s for %d bytes, want %d", resp.StatusCode, text, size, want)
		}
	}
	g.nothingClaimed(t)
}

// oneTooLarge sends a body that alone takes more than one may.
func oneTooLarge(t *testing.T) {
	t.Parallel()
	var s setup
	s.head.WriteString("limits: {memory: 64MiB}\n")
	s.provider("up", well(t).url, "")
	g := serve(t, s.String())
	r := g.chat(hostileBody("text", "up/m", 12_000_000, true))
	failure{status: http.StatusRequestEntityTooLarge, code: "request_too_large", says: "limits.memory"}.check(t, r)
	if r := g.chat(hostileBody("text", "up/m", 4_000_000, true)); r.status != http.StatusOK {
		t.Errorf("got %d %s for a body that fits, want 200", r.status, r.body)
	}
	g.nothingClaimed(t)
}

// TestRepairedHistoryMemory sends a conversation that becomes half as long again when it is repaired
// for an upstream: what it grows by is claimed as well.
func TestRepairedHistoryMemory(t *testing.T) {
	t.Parallel()
	var s setup
	s.head.WriteString("limits: {memory: 40MiB}\n")
	up := well(t)
	fmt.Fprintf(&s.providers, "  up: {type: moonshot, base_url: %q, api_key: x}\n", up.url)
	g := serve(t, s.String())
	if r := g.chat(hostileBody("result", "up/m", 4_100_000, true)); r.status != http.StatusOK {
		t.Errorf("got %d %s for a conversation that needs no repair, want 200", r.status, r.body)
	}
	before := up.asked.Load()
	r := g.chat(hostileBody("bad arguments", "up/m", 4_100_000, true))
	failure{status: http.StatusRequestEntityTooLarge, code: "request_too_large", says: "limits.memory"}.check(t, r)
	if n := up.asked.Load() - before; n != 0 {
		t.Errorf("got %d requests at the upstream, want none", n)
	}
	g.nothingClaimed(t)
}

// TestHistoryTooLong sends arguments that are no JSON, more than are kept as a text: they are refused, and not made half
// as long again.
func TestHistoryTooLong(t *testing.T) {
	t.Parallel()
	var s setup
	up := well(t)
	fmt.Fprintf(&s.providers, "  up: {type: moonshot, base_url: %q, api_key: x}\n", up.url)
	g := serve(t, s.String())
	r := g.chat(hostileBody("bad arguments", "up/m", 6_500_000, false))
	failure{status: http.StatusBadRequest, code: "invalid_request", param: "messages", says: "no JSON objects"}.check(t, r)
	if n := up.asked.Load(); n != 0 {
		t.Errorf("got %d requests at the upstream, want none", n)
	}
	g.nothingClaimed(t)
}

// TestBlankLinesAhead has an upstream send very many blank lines before the first token, each a block
// of one byte: what is kept of them until the first token is bounded by their number too.
func TestBlankLinesAhead(t *testing.T) {
	t.Parallel()
	const lines = 250_000
	blank := strings.Repeat("\n", 1000)
	up := newSite(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", events)
		for range lines / len(blank) {
			send(w, blank)
		}
		send(w, role+delta("well")+finish+done)
	})
	var s setup
	s.provider("up", up.url, "parser: auto")
	g, _ := spawn(t, s.String())
	g.chat(prompt("up/m", "hi", true)) // what is made once
	var r result
	taken := g.allocates(func() { r = g.chat(prompt("up/m", "hi", true)) })
	t.Logf("%.1f MiB were allocated for %d blank lines", float64(taken)/mebi, lines)
	if most := int64(16 * mebi); taken > most {
		t.Errorf("got %d MiB allocated for %d bytes, want at most %d", taken/mebi, lines, most/mebi)
	}
	if r.status != http.StatusOK || !strings.Contains(r.body, "well") || !strings.Contains(r.body, "[DONE]") {
		t.Errorf("got %d and %d bytes, want the answer", r.status, len(r.body))
	}
	g.nothingClaimed(t)
}

// wholeAnswer is a completion with a content, as JSON has it.
func wholeAnswer(content string) string {
	return `{"id":"x","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		content + `"},"finish_reason":"stop"}]}`
}

// TestAnswerMemory counts the memory of whole answers of 32 MB that are full of what may begin a
// call or reasoning: nothing of them is kept track of beyond what a parser may be given
// (plugins.limits.input). The collector works as soon as the heap has some bytes for each of the
// answer's, so that what the heap grows by is what is needed at once, and how its memory is cut.
func TestAnswerMemory(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes several times the memory that is counted here")
	}
	t.Parallel()
	const (
		size = 32 << 20
		heap = "go_memstats_heap_sys_bytes" // all that there ever was
	)
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	texts := map[string]string{
		"text":         fill("The quick brown fox. "),
		"backticks":    fill("`"),
		"code fences":  fill("```\\n"),
		"json fences":  fill("```json\\n{\\\"a\\\":1}\\n```\\n"),
		"thoughts":     fill(`<think>a</think>`),
		"open thought": fill(`<think>`),
		"brackets":     fill(`[`),
		"angles":       fill(`<`),
		"objects":      fill(`{\"name\":`),
		"calls begun":  fill(`<tool_call>`),
		"escapes":      fill(`\u0060`),
		"white space":  fill(`\n `),
	}
	up := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "application/json")
		name := strings.TrimSpace(r.Header.Get("x-text"))
		io.WriteString(w, wholeAnswer(texts[name]))
	})
	var s setup
	s.head.WriteString("limits: {memory: 2GiB}\n")
	s.provider("up", up.url, "parser: auto, forward_headers: [x-text]")
	g, _ := spawn(t, s.String(), "GOGC=off", "GOMEMLIMIT=256MiB")
	g.chat(prompt("up/m", "hi", false))
	before := g.gauge(heap)
	for name, text := range texts {
		var r result
		taken := g.allocates(func() { r = g.chat(prompt("up/m", "hi", false), "x-text", name) })
		t.Logf("%-12s %5.2f times; status %d, %d bytes", name, float64(taken)/float64(len(text)), r.status, len(r.body))
		if most := int64(12 * size); taken > most { // with what is garbage at once
			t.Errorf("%s: %d bytes were allocated for an answer of %d, want at most %d", name, taken, len(text), most)
		}
		thinks := strings.Contains(name, "thought") // of which the markers go, and little is left
		if r.status != http.StatusOK || len(r.body) < len(text)/2 && !thinks {
			t.Errorf("%s: got %d and %d bytes, want the answer", name, r.status, len(r.body))
		}
	}
	grown := g.gauge(heap) - before
	t.Logf("the heap had %d MiB, and grew by %d MiB at most", before/mebi, grown/mebi)
	if most := int64(12 * size); grown > most { // 8 to 10 where nothing else is at work: the collector may be behind
		t.Errorf("the heap grew by %d MiB, want at most %d", grown/mebi, most/mebi)
	}
	g.nothingClaimed(t)
}

// TestAnswersInFlight sends answers that there is no memory for.
func TestAnswersInFlight(t *testing.T) {
	t.Parallel()
	large := wholeAnswer(strings.Repeat("a", 20*mebi))
	chunk := delta(strings.Repeat("a", 10*mebi))
	up := newSite(t, func(w http.ResponseWriter, r received) {
		if r.wantsStream() {
			w.Header().Set("content-type", events)
			send(w, chunk+finish+done)
			return
		}
		w.Header().Set("content-type", "application/json")
		if strings.Contains(r.Header.Get("x-size"), "declared") {
			w.Header().Set("content-length", fmt.Sprint(len(large)))
		}
		io.WriteString(w, large)
	})
	var s setup
	s.head.WriteString("limits: {memory: 32MiB}\n")
	s.provider("up", up.url, "parser: auto, retry: {max_retries: 0}")
	g := serve(t, s.String())
	for _, size := range []string{"declared", "in chunks"} {
		r := g.chat(prompt("up/m", "hi", false), "x-size", size)
		failure{status: http.StatusBadGateway, code: "upstream_error", retry: "true", says: "limits.memory"}.check(t, r)
		g.nothingClaimed(t)
	}
	r := g.chat(prompt("up/m", "hi", true))
	failure{status: http.StatusBadGateway, code: "upstream_error", retry: "true", says: "limits.memory"}.check(t, r)
	g.nothingClaimed(t)
}

// TestGzipBomb has an upstream send 256 MiB that come as one quarter of a megabyte: whole, as a stream and
// as an error. What is read of it is bounded by its size without the compression. A client may
// not compress anything.
func TestGzipBomb(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes several times the memory that is counted here")
	}
	t.Parallel()
	var whole, stream bytes.Buffer
	write := func(to *bytes.Buffer, head, fill, tail string, size int) {
		z := gzip.NewWriter(to)
		io.WriteString(z, head)
		block := strings.Repeat(fill, mebi/len(fill))
		for range size / mebi {
			io.WriteString(z, block)
		}
		io.WriteString(z, tail)
		z.Close()
	}
	const size = 256 << 20
	write(&whole, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"`, "a", `"},"finish_reason":"stop"}]}`, size)
	write(&stream, role, ": "+strings.Repeat("a", 1020)+"\n\n", finish+done, size)
	up := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-encoding", "gzip")
		what := r.Header.Get("x-what")
		bomb := whole.Bytes()
		if r.wantsStream() {
			w.Header().Set("content-type", events)
			if what != "block" {
				bomb = stream.Bytes()
			}
		} else {
			w.Header().Set("content-type", "application/json")
		}
		if what == "error" {
			w.WriteHeader(http.StatusBadRequest)
		}
		w.Write(bomb)
	})
	for _, row := range []struct {
		memory, says string
		most         int64 // allocated
	}{
		{"4GiB", "larger than", 3 * 64 * mebi},    // the limit on an answer
		{"64MiB", "limits.memory", 2 * 32 * mebi}, // the limit on all
	} {
		var s setup
		s.head.WriteString("limits: {memory: " + row.memory + "}\n")
		s.provider("up", up.url, "parser: auto, retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1000}")
		g, _ := spawn(t, s.String())
		g.chat(prompt("up/m", "hi", false), "x-what", "error")
		for _, what := range []string{"whole", "error", "block", "stream"} {
			var r result
			taken := g.allocates(func() { r = g.chat(prompt("up/m", "hi", what == "block" || what == "stream"), "x-what", what) })
			t.Logf("memory %s, %s: %.1f MiB allocated; status %d %.200s", row.memory, what, float64(taken)/mebi, r.status, r.body)
			if taken > row.most {
				t.Errorf("memory %s, %s: got %d MiB allocated, want at most %d", row.memory, what, taken/mebi, row.most/mebi)
			}
			if what == "whole" && (r.status != http.StatusBadGateway || !strings.Contains(r.body, row.says)) {
				t.Errorf("got %d %.300s, want 502 and %q", r.status, r.body, row.says)
			}
			if what == "stream" && strings.Contains(r.body, "[DONE]") {
				t.Error("got a stream with its end, want it broken off")
			}
			g.nothingClaimed(t)
		}
		var packed bytes.Buffer
		write(&packed, `{"model":"up/m","messages":[{"role":"user","content":"`, "a", `"}]}`, size/2)
		r := g.chat(packed.String(), "content-encoding", "gzip")
		failure{status: http.StatusBadRequest, code: "invalid_request", param: "content-encoding", says: "content encoding"}.check(t, r)
	}
}

// TestAnswersInFlightOfShortened has an upstream refuse a prompt that is too long, and answer the
// shorter one with more than there is memory for.
func TestAnswersInFlightOfShortened(t *testing.T) {
	t.Parallel()
	large := wholeAnswer(strings.Repeat("a", 20*mebi))
	var s setup
	s.head.WriteString("limits: {memory: 32MiB}\n")
	up := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "application/json")
		if !strings.Contains(r.body, "the last") {
			io.WriteString(w, completion("a summary"))
			return
		}
		if strings.Contains(r.body, "the first turn") {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`)
			return
		}
		io.WriteString(w, large)
	})
	s.provider("up", up.url, "retry: {max_retries: 0}")
	g := serve(t, s.String())
	id := ""
	for _, turn := range []string{"the first turn", "and then?", "and then?", "and then?"} {
		body := `{"model":"up/m","input":"` + turn + `"`
		if id != "" {
			body += `,"previous_response_id":"` + id + `"`
		}
		id = text(g.call(200, "POST", "/v1/responses", body+"}"), "id")
	}
	r := g.do(g.request("POST", "/v1/responses", `{"model":"up/m","input":"the last","truncation":"auto","previous_response_id":"`+id+`"}`))
	if up.asked.Load() < 6 {
		t.Fatalf("got %d requests and %d %.300s, want a second one that is shorter", up.asked.Load(), r.status, r.body)
	}
	if r.status == http.StatusOK || !strings.Contains(r.body, "limits.memory") {
		t.Errorf("got %d and %d bytes, %.300s, want a refusal", r.status, len(r.body), r.body)
	}
	g.nothingClaimed(t)
}
