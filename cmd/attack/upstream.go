package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// asks is what the client that behaves well wants: the weather, by a call, or to be greeted.
var asks = regexp.MustCompile(`(weather in|greet) (City\d+)`)

// goodUpstream answers with a call that is written as text, or with a greeting.
func goodUpstream(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	found := asks.FindAllStringSubmatch(string(body), -1)
	if err != nil || len(found) == 0 {
		http.Error(w, `{"error":{"message":"what?"}}`, http.StatusBadRequest)
		return
	}
	last := found[len(found)-1]
	text := "Hello, " + last[2] + "!"
	if last[1] != "greet" {
		text = `<tool_call>{"name":"get_weather","arguments":{"city":"` + last[2] + `"}}</tool_call>`
	}
	var asked struct{ Stream bool }
	if err := json.Unmarshal(body, &asked); err != nil || !asked.Stream {
		w.Header().Set("content-type", "application/json")
		_, _ = io.WriteString(w, completion(text))
		return
	}
	w.Header().Set("content-type", "text/event-stream")
	_, _ = io.WriteString(w, role)
	for len(text) > 0 {
		n := min(7, len(text))
		_, _ = io.WriteString(w, delta(text[:n]))
		text = text[n:]
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = io.WriteString(w, finish)
}

const (
	role   = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	finish = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

func delta(text string) string {
	b, _ := json.Marshal(text) // a string cannot fail
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":` + string(b) + `},"finish_reason":null}]}` + "\n\n"
}

func completion(text string) string {
	b, _ := json.Marshal(text) // a string cannot fail
	return `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":` + string(b) +
		`},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
}

// evilUpstream answers in a way that the name of the model says, or in all in turn.
type evilUpstream struct {
	size          int
	whole, stream []byte // compressed
	running       atomic.Int64
	asked         atomic.Int64
}

func newEvilUpstream(size int) *evilUpstream {
	squeeze := func(head, fill, tail string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		block := strings.Repeat(fill, 1<<20/len(fill))
		_, _ = io.WriteString(z, head)
		for range 8 * size >> 20 {
			_, _ = io.WriteString(z, block)
		}
		_, _ = io.WriteString(z, tail)
		_ = z.Close()
		return b.Bytes()
	}
	return &evilUpstream{size: size,
		whole:  squeeze(`{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"`, "a", `"},"finish_reason":"stop"}]}`),
		stream: squeeze(role, ": "+strings.Repeat("a", 1020)+"\n\n", finish)}
}

// ways are how the hostile upstream answers.
var ways = []string{"gzip", "comments", "switch", "headers", "backticks", "fences", "json-fences", "thoughts", "calls", "brackets", "cut", "close",
	"hang", "garbage", "frames", "trickle", "surplus", "status"}

var way = regexp.MustCompile(`way-([a-z-]+)`)

// ServeHTTP implements http.Handler.
func (u *evilUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.running.Add(1)
	defer u.running.Add(-1)
	n := int(u.asked.Add(1))
	head := make([]byte, 1<<20)
	got, _ := io.ReadFull(r.Body, head)
	head = head[:got]
	_, _ = io.Copy(io.Discard, r.Body)
	name := ways[n%len(ways)]
	if m := way.FindSubmatch(head); m != nil {
		name = string(m[1])
	}
	stream := bytes.Contains(head, []byte(`"stream":true`))
	w.Header().Set("content-type", "application/json")
	if stream {
		w.Header().Set("content-type", "text/event-stream")
	}
	if fill := fills[name]; fill != "" {
		u.flood(w, stream, fill)
		return
	}
	u.answer(w, r, name, stream)
}

// fills are what large answers consist of, as JSON has it in a string.
var fills = map[string]string{"backticks": "`", "fences": "```\\n", "json-fences": "```json\\n{\\\"a\\\":1}\\n```\\n", "thoughts": "<think>",
	"calls": "<tool_call>", "brackets": "["}

// flood writes one text that is very large.
func (u *evilUpstream) flood(w io.Writer, stream bool, fill string) {
	head, tail, _ := strings.Cut(completion("|"), "|")
	if stream {
		head, tail, _ = strings.Cut(delta("|"), "|")
	}
	block := strings.Repeat(fill, 64<<10/len(fill))
	if !stream {
		_, _ = io.WriteString(w, head)
	}
	for sent := 0; sent < u.size; sent += len(block) {
		piece := block
		if stream {
			piece = head + block + tail
		}
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
	if stream {
		tail = finish
	}
	_, _ = io.WriteString(w, tail)
}

// answer answers in one of the other ways.
func (u *evilUpstream) answer(w http.ResponseWriter, r *http.Request, name string, stream bool) {
	flush := func() { _ = http.NewResponseController(w).Flush() }
	switch name {
	case "gzip":
		w.Header().Set("content-encoding", "gzip")
		bomb := u.whole
		if stream {
			bomb = u.stream
		}
		_, _ = w.Write(bomb)
	case "comments":
		comment := ": " + strings.Repeat("c", 1000) + "\n\n"
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, comment); err != nil {
				return
			}
			flush()
			time.Sleep(time.Millisecond)
		}
	case "hang":
		flush()
		<-r.Context().Done()
	case "trickle":
		_, _ = io.WriteString(w, role)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, delta("x")); err != nil {
				return
			}
			flush()
			time.Sleep(10 * time.Millisecond)
		}
	case "frames": // many tiny ones, and one that is very large
		_, _ = io.WriteString(w, strings.Repeat(delta("`"), 20_000)+delta(strings.Repeat("a", u.size/2))+finish)
	case "garbage":
		_, _ = w.Write(bytes.Repeat([]byte("data: {\"choices\":[[[[\x00\xff\n\n"), 1000))
	case "status":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, strings.Repeat(`{"error":`, 100_000))
	default:
		raw(w, name)
	}
}

// raw answers in ways that are no HTTP.
func raw(w http.ResponseWriter, name string) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	switch name {
	case "switch":
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.Copy(io.Discard, c)
	case "headers":
		_, _ = io.WriteString(c, head+"X-A: "+strings.Repeat("a", 20<<20)+"\r\n\r\n{}")
	case "cut":
		_, _ = io.WriteString(c, head+"Content-Length: 100000\r\n\r\n"+completion("cut")[:60])
	case "surplus":
		body := completion("surplus")
		_, _ = fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s%s", head, len(body), body, strings.Repeat("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", 1000))
	case "close": // as if it were kept alive
		body := completion("close")
		_, _ = fmt.Fprintf(c, "%sConnection: keep-alive\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)
	}
}
