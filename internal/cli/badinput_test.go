package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const badInputConfig = `
providers: {up: {type: openai, base_url: %q, parser: auto}}
models: {qwen3: {targets: [{provider: up}]}, gpt-x: {targets: [{provider: up}]}}
limits: {body: 1MiB}
`

// TestBadInput sends what must not reach the upstream.
func TestBadInput(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	g := serve(t, fmt.Sprintf(badInputConfig, upstream(t, func(w http.ResponseWriter, r received) {
		if r.Method == "POST" { // names of models may be asked for
			reached.Add(1)
		}
		io.WriteString(w, `{"data":[]}`)
	})))
	post := func(body string, header ...string) func(t *testing.T) result {
		return func(t *testing.T) result {
			t.Helper()
			return g.chat(body, header...)
		}
	}
	call := func(method, path string) func(t *testing.T) result {
		return func(t *testing.T) result {
			t.Helper()
			return g.do(g.request(method, path, ""))
		}
	}
	const ok = `{"model":"qwen3","messages":[]}`
	invalid := func(param, says string) failure {
		return failure{status: 400, code: "invalid_request", param: param, says: says}
	}
	tests := []struct {
		name string
		send func(t *testing.T) result
		want failure
	}{
		{"no JSON", post(`{"model":"qwen3",}`), invalid("", "at byte 16: nothing follows the comma in front of \"}\"")},
		{"cut JSON", post(`{"model":"qwen3"`), invalid("", "JSON")},
		{"JSON wrong in the middle", post(`{"model":"qwen3","messages":[{"role":"user","content":nope}]}`), invalid("messages[0].content", "at byte 5")},
		{"empty", post(""), invalid("", "empty")},
		{"white space", post(" \n"), invalid("", "empty")},
		{"an array", post(`[]`), invalid("", "object")},
		{"a string", post(`"model"`), invalid("", "object")},
		{"two values", post(ok + ok), invalid("", "more than one JSON value")},
		{"two models", post(`{"model":"qwen3","model":"gpt-x"}`), invalid("model", "duplicate")},
		{"two models, one escaped", post(`{"model":"qwen3","\u006dodel":"gpt-x"}`), invalid("model", "duplicate")},
		{"two keys deep down", post(`{"model":"qwen3","messages":[{"a":{"b":1,"b":2}}]}`), invalid("messages[0].a.b", "duplicate")},
		{"invalid UTF-8", post("{\"model\":\"qwen3\",\"messages\":[{\"content\":\"\xff\"}]}"), invalid("messages[0].content", "UTF-8")},
		{"a lone surrogate", post(`{"model":"qwen3","messages":[{"content":"\ud83d"}]}`), invalid("messages[0].content", "")},
		{"a byte order mark", post("\ufeff" + ok), invalid("", "at byte 0")},
		{"arrays 10000 deep", post(`{"model":"qwen3","x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`), invalid("", "nests deeper than 128")},
		{"objects 10000 deep", post(`{"model":"qwen3","x":` + strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000) + `}`), invalid("", "nests deeper than 128")},
		{"open arrays without end", post(strings.Repeat("[", 900_000)), invalid("", "nests deeper than 128")},
		{"no model", post(`{"messages":[]}`), invalid("model", "missing")},
		{"model null", post(`{"model":null}`), invalid("model", "non-empty string")},
		{"model empty", post(`{"model":""}`), invalid("model", "non-empty string")},
		{"model a number", post(`{"model":7}`), invalid("model", "non-empty string")},
		{"stream a word", post(`{"model":"qwen3","stream":"yes"}`), invalid("stream", "true or false")},
		{"tools an object", post(`{"model":"qwen3","tools":{}}`), invalid("tools", "array")},
		{"gzip", post(zip(ok), "content-encoding", "gzip"), invalid("content-encoding", "gzip")},
		{"too large", post(`{"model":"qwen3","x":"` + strings.Repeat("a", 1<<20) + `"}`), failure{status: 413, code: "request_too_large", says: "1048576"}},
		{"unknown model", post(`{"model":"qwen-3"}`), failure{status: 404, code: "model_not_found", param: "model", says: "Similar names: qwen3"}},
		{"model in other letters", post(`{"model":"QWEN3"}`), failure{status: 404, code: "model_not_found", param: "model", says: "Similar names: qwen3"}},
		{"model like no other", post(`{"model":"zzzzzzzzzzzzzzzzzz"}`), failure{status: 404, code: "model_not_found", param: "model", says: "GET /v1/models"}},
		{"model of no provider", post(`{"model":"nobody/qwen3"}`), failure{status: 404, code: "model_not_found", param: "model"}},
		{"very long model", post(`{"model":"` + strings.Repeat("q", 10_000) + `"}`), failure{status: 400, code: "invalid_request", param: "model", says: "at most 256"}},
		{"GET of the chat", call("GET", "/v1/chat/completions"), failure{status: 405, code: "method_not_allowed", says: "does not support the HTTP method GET, but POST."}},
		{"PUT of the chat", call("PUT", "/v1/chat/completions"), failure{status: 405, code: "method_not_allowed"}},
		{"POST of the models", call("POST", "/v1/models"), failure{status: 405, code: "method_not_allowed", says: "POST, but GET"}},
		{"DELETE of ready", call("DELETE", "/readyz"), failure{status: 405, code: "method_not_allowed"}},
		{"wrong path", call("GET", "/v1/nope"), failure{status: 404, code: "not_found"}},
		{"responses without a body", call("POST", "/v1/responses"), failure{status: 400, code: "invalid_request", says: "The request body is empty"}},
		{"GET of the responses", call("GET", "/v1/responses"), failure{status: 405, code: "method_not_allowed"}},
		{"no version", call("POST", "/chat/completions"), failure{status: 404, code: "not_found"}},
		{"root", call("GET", "/"), failure{status: 404, code: "not_found"}},
		{"trailing slash", call("POST", "/v1/chat/completions/"), failure{status: 404, code: "not_found"}},
		{"two slashes", call("GET", "//v1/models"), failure{status: 404, code: "not_found"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.send(t)
			tt.want.check(t, r)
			if len(r.body) > 2000 {
				t.Errorf("got an error of %d bytes, want a short one", len(r.body))
			}
		})
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("got %d requests at the upstream, want none", n)
	}
}

func zip(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

// endless is a body that counts what is read of it.
type endless struct {
	read atomic.Int64
	left int64
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), e.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	e.left -= n
	e.read.Add(n)
	return int(n), nil
}

// TestLargeBody sends 100 MB: the answer comes without them being read.
func TestLargeBody(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	g := serve(t, fmt.Sprintf(badInputConfig, down(t)))
	for name, length := range map[string]int64{"content-length": size, "chunked": -1} {
		t.Run(name, func(t *testing.T) {
			body := &endless{left: size}
			r := g.request("POST", "/v1/chat/completions", "")
			r.Body, r.ContentLength = io.NopCloser(body), length
			began := time.Now()
			failure{status: 413, code: "request_too_large", says: "limits.body"}.check(t, g.do(r))
			t.Logf("answered after %v and %d bytes", time.Since(began), body.read.Load())
			if n := body.read.Load(); n > size/4 {
				t.Errorf("got %d bytes taken, want a small part of %d", n, size)
			}
		})
	}
	t.Run("header alone", func(t *testing.T) {
		c := g.dial(t)
		fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", size)
		if got := statusOf(t, c); got != 413 {
			t.Errorf("got status %d, want 413", got)
		}
	})
	t.Run("expect", func(t *testing.T) {
		c := g.dial(t)
		fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", size)
		if got := statusOf(t, c); got != 413 {
			t.Errorf("got status %d, want 413", got)
		}
	})
}

// TestBrokenBody leaves in the middle of a request.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf(badInputConfig, down(t)))
	c := g.dial(t)
	io.WriteString(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"model\":\"qwen3\"")
	c.CloseWrite()
	if b, err := io.ReadAll(c); err != nil && !errors.Is(err, io.EOF) || bytes.Contains(b, []byte("200 OK")) {
		t.Errorf("got %q and error %v, want an error or nothing", b, err)
	}
}
