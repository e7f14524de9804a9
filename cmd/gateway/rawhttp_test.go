package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// statusOf reads one response and returns its status, 0 if there is none.
func statusOf(t *testing.T, c net.Conn) int {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode
}

// TestRawHTTP sends bytes that no HTTP client would.
func TestRawHTTP(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf("{providers: {up: {type: openai, base_url: %q}}, models: {m: {targets: [{provider: up}]}}, keys: [{name: k, hash: %q}]}",
		static(t, 200, "application/json", completion("hi")), hashOf(rawKey)))
	const auth = "Authorization: Bearer " + rawKey + "\r\n"
	const body = `{"model":"m"}`
	tests := []struct {
		name, request string
		want          []int // any of these; 0 means a connection that is closed
	}{
		{"good", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 13\r\n\r\n" + body, []int{200}},
		{"absolute form", "GET http://elsewhere.example/v1/models HTTP/1.1\r\nHost: x\r\n\r\n", []int{401}},
		{"two lengths", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 13\r\nContent-Length: 5\r\n\r\n" + body, []int{400}},
		{"length and chunked", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n" + body, []int{400}},
		{"unknown transfer encoding", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", []int{501, 400}},
		{"negative length", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: -1\r\n\r\n" + body, []int{400}},
		{"bad chunk", "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + body + "\r\n0\r\n\r\n", []int{400}},
		{"large header", "GET /livez HTTP/1.1\r\nHost: x\r\nX-Large: " + strings.Repeat("a", 100<<10) + "\r\n\r\n", []int{431}},
		{"long path", "GET /" + strings.Repeat("a", 100<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{431, 414, 404}},
		{"dots in escapes", "GET /v1/%2e%2e/v1/models HTTP/1.1\r\nHost: x\r\n" + auth + "\r\n", []int{404}},
		{"dots", "GET /v1/../v1/models HTTP/1.1\r\nHost: x\r\n" + auth + "\r\n", []int{404}},
		{"dots without a key", "GET /readyz/../v1/models HTTP/1.1\r\nHost: x\r\n\r\n", []int{404}},
		{"escaped slash", "GET /v1%2fmodels HTTP/1.1\r\nHost: x\r\n\r\n", []int{404}},
		{"escaped letter without a key", "GET /%76%31/models HTTP/1.1\r\nHost: x\r\n\r\n", []int{401, 404}},
		{"other letters", "GET /V1/models HTTP/1.1\r\nHost: x\r\n\r\n", []int{404}},
		{"no host", "GET /livez HTTP/1.1\r\n\r\n", []int{400}},
		{"two hosts", "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", []int{400}},
		{"host with a slash", "GET /v1/models HTTP/1.1\r\nHost: x/v1/readyz?\r\n\r\n", []int{400, 401}},
		{"host of loopback without a key", "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 127.0.0.1\r\nX-Real-Ip: 127.0.0.1\r\nX-Original-Url: /livez\r\nX-Rewrite-Url: /livez\r\n\r\n", []int{401}},
		{"method by header", "GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Http-Method-Override: POST\r\n\r\n", []int{401}},
		{"space before the colon", "GET /livez HTTP/1.1\r\nHost: x\r\nX-A : b\r\n\r\n", []int{400}},
		{"folded header", "GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: b\r\n " + auth + "\r\n", []int{400, 401}},
		{"two keys", "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n" + auth + "\r\n", []int{401}},
		{"HTTP/0.9", "GET /v1/models\r\n\r\n", []int{400, 0}},
		{"not HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400, 0}},
		{"CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", []int{404, 405, 400}},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", []int{404, 405, 200}},
		{"TRACE", "TRACE /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", []int{405}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := g.dial(t)
			io.WriteString(c, tt.request)
			got := statusOf(t, c)
			for _, want := range tt.want {
				if got == want {
					return
				}
			}
			t.Errorf("got status %d, want one of %d", got, tt.want)
		})
	}
}

// TestPipelining sends two requests at once: the second is not lost, and a body
// that is refused is not taken for a request.
func TestPipelining(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf(badInputConfig, down(t)))
	c := g.dial(t)
	smuggled := "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
	fmt.Fprintf(c, "POST /v1/nope HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%sGET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", len(smuggled), smuggled)
	all, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(all), "HTTP/1.1 "); n != 2 || !strings.Contains(string(all), "HTTP/1.1 404") || !strings.Contains(string(all), "HTTP/1.1 200") {
		t.Errorf("got %q, want a 404 and a 200", all)
	}
}

const rawKey = "cg-raw-key-canary"
