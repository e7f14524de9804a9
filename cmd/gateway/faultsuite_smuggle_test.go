package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// heard is an upstream that keeps the bytes of every POST.
func heard(t *testing.T) (url string, requests chan string) {
	t.Helper()
	requests = make(chan string, 100)
	url = raw(t, func(c *net.TCPConn, request []byte) {
		if bytes.HasPrefix(request, []byte("POST")) {
			requests <- string(request)
		}
		body := completion(healthyText)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	})
	return url, requests
}

// exchange sends bytes and returns the statuses of all that comes back, until the
// gateway closes the connection.
func (g *gate) exchange(t *testing.T, request string) (statuses []int) {
	t.Helper()
	c := g.dial(t)
	io.WriteString(c, request)
	r := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return statuses
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		statuses = append(statuses, resp.StatusCode)
	}
}

// TestFaultSuiteSmuggling sends requests about whose ends two servers could disagree
// (11). Each is refused, or reaches the upstream as one request that nobody can read in
// two ways; what was hidden in it is never taken for a request with somebody's key.
func TestFaultSuiteSmuggling(t *testing.T) {
	t.Parallel()
	const key = "cg-smuggle-canary"
	const body = `{"model":"m","messages":[]}`
	const hidden = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 34\r\n\r\n" + `{"model":"m","messages":["hidden"]}`
	post := "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n"
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(text), text) }
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	// What comes behind every row, and what it is answered with.
	const last, lastStatus = "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404
	refused := []int{400}
	rows := []struct {
		name, request string
		first         []int // statuses that the first answer may have
		asked         int   // requests that the upstream may get at most
	}{
		{"length and chunked", post + length + "Transfer-Encoding: chunked\r\n\r\n" + chunk(body), []int{200, 400}, 1},
		{"length and chunked, hidden", post + fmt.Sprintf("Content-Length: %d\r\n", 5+len(hidden)) + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, refused, 0},
		{"chunked and length, hidden", post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + chunk(body) + hidden, []int{200, 400}, 1},
		{"two equal lengths", post + length + length + "\r\n" + body, []int{200, 400}, 1},
		{"lengths in a list", post + fmt.Sprintf("Content-Length: %d, %[1]d\r\n\r\n", len(body)) + body, refused, 0},
		{"a length with a sign", post + fmt.Sprintf("Content-Length: +%d\r\n\r\n", len(body)) + body, refused, 0},
		{"a length in hexadecimal", post + fmt.Sprintf("Content-Length: 0x%x\r\n\r\n", len(body)) + body, refused, 0},
		{"a length on a folded line", post + fmt.Sprintf("Content-Length:\r\n %d\r\n\r\n", len(body)) + body, []int{200, 400}, 1},
		{"chunked on a folded line", post + "Transfer-Encoding:\r\n chunked\r\n\r\n" + chunk(body), []int{200, 400, 501}, 1},
		{"chunked with a tab", post + "Transfer-Encoding:\tchunked\r\n\r\n" + chunk(body), []int{200, 400, 501}, 1},
		{"chunked in large letters", post + "Transfer-Encoding: CHUNKED\r\n\r\n" + chunk(body), []int{200, 400, 501}, 1},
		{"chunked twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(body), []int{400, 501}, 0},
		{"chunked and identity", post + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunk(body), []int{400, 501}, 0},
		{"almost chunked", post + length + "Transfer-Encoding: xchunked\r\n\r\n" + body, []int{400, 501}, 0},
		{"chunked in HTTP/1.0", strings.Replace(post, "HTTP/1.1", "HTTP/1.0", 1) + length + "Transfer-Encoding: chunked\r\n\r\n" + body, []int{200, 400}, 1},
		{"bare line feeds", strings.ReplaceAll(post+length+"\r\n", "\r\n", "\n") + body, []int{200, 400}, 1},
		{"a bare carriage return", strings.Replace(post, "Host: x", "Host: x\rX-A: b", 1) + length + "\r\n" + body, refused, 0},
		{"NUL in a header", post + "X-A: a\x00b\r\n" + length + "\r\n" + body, refused, 0},
		{"a chunk that ends with LF", post + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\n%s\r\n0\r\n\r\n", len(body), body), refused, 0},
		{"a chunk of 2^64", post + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" + body, refused, 0},
		{"a chunk with an extension", post + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x;a=\"b\"\r\n%s\r\n0\r\n\r\n", len(body), body), []int{200, 400}, 1},
		{"a trailer with a length", post + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n" + strings.TrimSuffix(chunk(body), "\r\n") + "Content-Length: 1\r\n\r\n", []int{200, 400}, 1},
		{"another address", strings.Replace(post, "POST /", "POST http://elsewhere.example/", 1) + length + "\r\n" + body, []int{200, 400, 403}, 1},
		{"method in small letters", strings.Replace(post, "POST", "post", 1) + length + "\r\n" + body, []int{400, 405}, 0},
		{"GET with a body", strings.Replace(post, "POST /v1/chat/completions", "GET /v1/models", 1) + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden)) + hidden, []int{200}, 0},
		{"hidden in a body that is refused", strings.Replace(post, "chat/completions", "nope", 1) + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden)) + hidden, []int{404}, 0},
	}
	url, requests := heard(t)
	g := serve(t, fmt.Sprintf("{providers: {up: {type: openai, base_url: %q, api_key: %s}}, models: {m: {targets: [{provider: up}]}}, keys: [{name: k, hash: %q}], admin: {listen: \"off\"}}",
		url, canary, hashed(key)))
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { // one after the other, for the upstream's sake
			statuses := g.exchange(t, row.request+last)
			if len(statuses) == 0 || !slices.Contains(row.first, statuses[0]) {
				t.Errorf("got statuses %d, want first one of %d", statuses, row.first)
			}
			for _, status := range statuses[min(1, len(statuses)):] {
				if status != 400 && status != 401 && status != lastStatus { // what was hidden has no key
					t.Errorf("got statuses %d, want no success behind the first", statuses)
				}
			}
			for n := 0; len(requests) > 0; n++ {
				if n == row.asked {
					t.Errorf("got more than %d requests at the upstream", row.asked)
				}
				reframed(t, <-requests, url, body)
			}
		})
	}
}

// reframed checks that a request at the upstream is that of the body, said once and in
// the plainest way.
func reframed(t *testing.T, request, url, body string) {
	t.Helper()
	head, got, _ := strings.Cut(request, "\r\n\r\n")
	equalBytes(t, "bodies", got, body)
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1")
	for _, want := range []string{"POST /v1/chat/completions HTTP/1.1\r\n", "\r\nHost: " + host + "\r\n", fmt.Sprintf("\r\nContent-Length: %d\r\n", len(body)), "\r\nAuthorization: Bearer " + canary} {
		if strings.Count(head+"\r\n", want) != 1 {
			t.Errorf("got request %q, want %q once in it", head, want)
		}
	}
	for _, never := range []string{"transfer-encoding", "trailer", "elsewhere.example", "hidden", "cg-smuggle-canary"} {
		if strings.Contains(strings.ToLower(head), never) {
			t.Errorf("got request %q, want no %q in it", head, never)
		}
	}
}

// TestFaultSuitePaths writes paths in ways that lead somewhere else in some servers. On
// the operator's address none of them leads past its key.
func TestFaultSuitePaths(t *testing.T) {
	t.Parallel()
	const key = "cg-operator-canary"
	g := serve(t, "admin: {listen: \"127.0.0.1:0\", key_hash: \""+hashed(key)+"\"}\nproviders: {demo: {type: demo}}\n")
	admin := &gate{t: t, addr: adminOn.FindStringSubmatch(g.stdout.String())[1]}
	for _, path := range []string{
		"//admin", "//admin/breakers", "/v1/%2e%2e/admin", "/v1/../admin/breakers", "/v1/%2e%2e/admin/breakers", "/admin%2fbreakers", "/%61dmin/breakers",
		"/admin/breakers/", "/admin//breakers", "/admin/./breakers", "/ADMIN/breakers", "/admin/breakers;a=b", "/admin/breakers%00", "/admin/breakers%20",
		"/admin/breakers?x=/livez", "/livez/../admin/breakers", "/livez/%2e%2e/admin/breakers", "/livez%2f..%2fadmin%2fbreakers", "/admin\\breakers",
		"http://localhost/admin/breakers", "/metrics/../admin/breakers", "/metrics", "/admin/breakers/demo/reset",
	} {
		for _, method := range []string{"GET", "POST", "HEAD"} {
			request := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
			if got := g.exchange(t, request); len(got) != 1 || got[0] != 404 && got[0] != 400 {
				t.Errorf("%s %s: got statuses %d from the clients' address, want 404 or 400", method, path, got)
			}
			if got := admin.exchange(t, request); len(got) != 1 || got[0] != 401 && got[0] != 400 {
				t.Errorf("%s %s: got statuses %d from the operator's address, want 401 or 400", method, path, got)
			}
		}
	}
}

// TestFaultSuiteManyHeaders sends as many tiny header lines as the limit on their bytes
// allows.
func TestFaultSuiteManyHeaders(t *testing.T) {
	t.Parallel()
	url, requests := heard(t)
	g := serve(t, fmt.Sprintf("{providers: {up: {type: openai, base_url: %q}}}", url))
	const body = `{"model":"up/m"}`
	for name, line := range map[string]func(i int) string{
		"one name":   func(int) string { return "a:\r\n" },
		"many names": func(i int) string { return fmt.Sprintf("a%x:\r\n", i) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			fmt.Fprintf(&b, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n", len(body))
			for i := range 10_000 {
				b.WriteString(line(i))
			}
			got := g.exchange(t, b.String()+"\r\n"+body)
			if len(got) != 1 || got[0] != 200 && got[0] != 400 && got[0] != 431 {
				t.Errorf("got statuses %d, want one of 200, 400, 431", got)
			}
			if len(requests) > 0 {
				if n := len(<-requests); n > 128<<10 {
					t.Errorf("got a request of %d bytes at the upstream, want no more than came", n)
				}
			}
		})
	}
	if r := g.get("/livez"); r.status != 200 {
		t.Errorf("got status %d from /livez behind them, want 200", r.status)
	}
}

// TestFaultSuiteJSONDifferentials sends bodies that parsers of JSON read differently (12).
// What leads to one model here must not lead to another at an upstream, so all of them
// are refused, and nothing is sent on.
func TestFaultSuiteJSONDifferentials(t *testing.T) {
	t.Parallel()
	up := well(t)
	g := serve(t, fmt.Sprintf("{providers: {up: {type: openai, base_url: %q}}, models: {cheap: {targets: [{provider: up}]}}}", up.url))
	const tools = `"tools":[{"type":"function","function":{"name":"a"}}]`
	for name, body := range map[string]string{
		"the model in other letters":        `{"model":"cheap","Model":"dear","messages":[]}`,
		"the model in large letters, first": `{"MODEL":"dear","model":"cheap","messages":[]}`,
		"messages with a long s":            `{"model":"cheap","meſſages":[],"messages":[]}`,
		"streams in two letters":            `{"model":"cheap","stream":false,"Stream":true,"messages":[]}`,
		"tools in two letters":              `{"model":"cheap",` + tools + `,"Tools":[],"messages":[]}`,
		"messages in two letters":           `{"model":"cheap","messages":[],"Messages":[{"role":"user","content":"x"}]}`,
		"a key twice, escaped":              `{"model":"cheap","mode\u006c":"dear","messages":[]}`,
		"a key twice, with a surrogate":     `{"model":"cheap","a\ud83d\ude00":1,"a😀":2,"messages":[]}`,
		"invalid UTF-8 in a key":            "{\"model\":\"cheap\",\"mod\xffel\":\"dear\",\"messages\":[]}",
		"an overlong letter":                "{\"model\":\"cheap\",\"a\":\"\xc0\xae\",\"messages\":[]}",
		"a lone surrogate in a key":         `{"model":"cheap","\udc00":1,"messages":[]}`,
		"NaN":                               `{"model":"cheap","temperature":NaN,"messages":[]}`,
		"Infinity":                          `{"model":"cheap","temperature":-Infinity,"messages":[]}`,
		"a number with a zero in front":     `{"model":"cheap","temperature":01,"messages":[]}`,
		"a number with a plus":              `{"model":"cheap","temperature":+1,"messages":[]}`,
		"a hexadecimal number":              `{"model":"cheap","seed":0x10,"messages":[]}`,
		"NUL in a string":                   "{\"model\":\"cheap\",\"a\":\"\x00\",\"messages\":[]}",
		"NUL behind the body":               "{\"model\":\"cheap\",\"messages\":[]}\x00",
		"a tab in a string":                 "{\"model\":\"cheap\",\"a\":\"\t\",\"messages\":[]}",
		"a comment":                         `{"model":"cheap",/*"model":"dear",*/"messages":[]}`,
		"single quotes":                     `{'model':'cheap','messages':[]}`,
		"a comma too many":                  `{"model":"cheap","messages":[],}`,
		"1,000,000 arrays":                  `{"model":"cheap","a":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `,"messages":[]}`,
		"1,000,000 objects":                 `{"model":"cheap","a":` + strings.Repeat(`{"a":`, 1_000_000) + "1" + strings.Repeat("}", 1_000_000) + `,"messages":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := g.chat(body)
			clean(t, r)
			if r.status != 400 || errorOf(t, r.body).code != "invalid_request" {
				t.Errorf("got status %d %q, want 400 invalid_request", r.status, cut(r.body, 0, 300))
			}
		})
	}
	t.Cleanup(func() {
		if n := up.asked.Load(); n != 0 {
			t.Errorf("got %d requests at the upstream, want none", n)
		}
	})
	// A number of 100 kB is a number, and NUL as an escape is a letter: neither is read
	// differently, and both pass.
	t.Run("odd but one", func(t *testing.T) {
		other := well(t)
		g := serve(t, fmt.Sprintf("{providers: {up: {type: openai, base_url: %q}}}", other.url))
		r := g.chat(`{"model":"up/m","a":"\u0000","seed":` + strings.Repeat("9", 100_000) + `,"messages":[]}`)
		healthyAnswer(t, r, false)
	})
}
