package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// The keys that the rows of the security table use. None may come out anywhere.
const (
	securityKey = "cg-security-canary-of-the-client"
	operatorKey = "cg-security-canary-of-the-operator"
)

// plainBody is what $BODY stands for in a case.
const plainBody = `{"model":"m","messages":[]}`

// securityConfig is the configuration of a row whose directory has no gateway.yaml.
const securityConfig = `
log: {level: debug}
admin: {listen: "127.0.0.1:0", key_hash: "$OPERATORHASH"}
keys: [{name: k, hash: "$KEYHASH"}]
providers: {up: {type: openai, base_url: "$UP", api_key: sk-canary, headers: {X-Team-Token: sk-canary-of-the-team}}}
models: {m: {targets: [{provider: up}]}}
`

// A securityCase is bytes that somebody sends, and what may come of them. It is a txtar
// file of testdata/security/ROW, whose comment says what it shows:
//
//	client.http    the bytes, as quoted strings, one a line; "TEXT" * N is TEXT N times
//	request.raw    in place of it the body of a POST of a chat, likewise
//	at             "admin" if they go to the admin listener
//	want/status    what the first answer's status may be, or "closed"
//	want/requests  how many requests the upstream may have got
//	want/answer    a part of what comes back
//
// In the bytes $BODY is a request, $LENGTH and $HEX its length, $AUTH the line with the
// client's key, $KEY the key, $TRAP the address of a server that nobody may ask.
// gateway.yaml beside the cases is their configuration, with $UP, $KEYHASH and
// $OPERATORHASH.
type securityCase struct {
	name  string
	files map[string]string
}

var securityFile = regexp.MustCompile(`^(client\.http|request\.raw|at|want/(status|requests|answer))$`)

// securityCases reads the cases of a row.
func securityCases(t *testing.T, row string) (cases []securityCase) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "security", row, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("got no cases of %s: %v", row, err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := securityCase{strings.TrimSuffix(filepath.Base(path), ".txtar"), map[string]string{}}
		for _, f := range archive.Files {
			if !securityFile.MatchString(f.Name) {
				t.Errorf("%s: nothing reads the file %s", path, f.Name)
			}
			c.files[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
		}
		if c.files["want/status"] == "" || c.files["want/requests"] == "" || (c.files["client.http"] == "") == (c.files["request.raw"] == "") {
			t.Errorf("%s: it needs want/status, want/requests, and one of client.http and request.raw", path)
		}
		cases = append(cases, c)
	}
	return cases
}

// repeated is a line of bytes that stand there many times.
var repeated = regexp.MustCompile(`^(".*") \* (\d+)$`)

// unquoted joins quoted strings, one a line.
func unquoted(t *testing.T, lines string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.SplitSeq(lines, "\n") {
		times := 1
		if m := repeated.FindStringSubmatch(line); m != nil {
			line = m[1]
			times, _ = strconv.Atoi(m[2]) // the pattern has digits only
		}
		text, err := strconv.Unquote(line)
		if err != nil {
			t.Fatalf("got line %.80s, want a quoted string: %v", line, err)
		}
		b.WriteString(strings.Repeat(text, times))
	}
	return b.String()
}

// ward is a gateway that is attacked, with what stands behind it.
type ward struct {
	*gate
	operator *gate // its admin listener
	url      string
	trap     string
	trapped  atomic.Int64
	requests chan string
}

// newWard starts one for a row.
func newWard(t *testing.T, row string) *ward {
	t.Helper()
	w := &ward{}
	w.url, w.requests = heard(t)
	trap := raw(t, func(*net.TCPConn, []byte) { w.trapped.Add(1) })
	w.trap = strings.TrimSuffix(strings.TrimPrefix(trap, "http://"), "/v1")
	config := securityConfig
	if b, err := os.ReadFile(filepath.Join("testdata", "security", row, "gateway.yaml")); err == nil {
		config = string(b)
	}
	w.gate = serve(t, strings.NewReplacer("$UP", w.url, "$OPERATORHASH", hashed(operatorKey), "$KEYHASH", hashed(securityKey)).Replace(config))
	m := adminOn.FindStringSubmatch(w.stdout.String())
	if m == nil {
		t.Fatalf("got no admin listener in %q", w.stdout)
	}
	w.operator = &gate{t: t, addr: m[1]}
	return w
}

// securityRow plays the cases of a row one after the other, for the upstream's sake.
func securityRow(row string) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		w := newWard(t, row)
		for _, c := range securityCases(t, row) {
			t.Run(c.name, func(t *testing.T) { w.play(t, c) })
		}
		if n := w.trapped.Load(); n != 0 {
			t.Errorf("got %d connections to an address of a client's choice, want none", n)
		}
		metrics := w.adminDo("GET", "/metrics", "authorization", "Bearer "+operatorKey)
		if metrics.status != http.StatusOK {
			t.Errorf("got status %d from /metrics, want 200", metrics.status)
		}
		unseen(t, "the log", w.stdout.String()+w.stderr.String())
		unseen(t, "the metrics", metrics.body)
	}
}

// unseen looks for what must never come out.
func unseen(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range []string{securityKey, operatorKey, canary, "hidden", "goroutine ", "runtime error"} {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("got %q in %s: …%q", secret, where, cut(text, max(0, at-200), at+200))
		}
	}
}

// behind comes behind every case: it is answered in its own right or not at all.
const behind = "GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

func (w *ward) play(t *testing.T, c securityCase) {
	t.Helper()
	asked := w.trapped.Load()
	target := w.gate
	if c.files["at"] == "admin" {
		target = w.operator
	}
	got := target.speak(t, w.bytesOf(t, c)+behind)
	first := "closed"
	if len(got) > 0 {
		first = strconv.Itoa(got[0].status)
	}
	if want := strings.Fields(c.files["want/status"]); !slices.Contains(want, first) {
		t.Errorf("got first %s of %d answers, want one of %s", first, len(got), want)
	}
	for i, r := range got {
		if i > 0 && r.status < http.StatusBadRequest {
			t.Errorf("got status %d behind the first answer, want no success: what was hidden has no key", r.status)
		}
		unseen(t, "an answer", fmt.Sprint(r.header)+r.body)
		if r.header.Get("access-control-allow-origin") != "" {
			t.Errorf("got header %v, want none that lets other sites in", r.header)
		}
	}
	if want := c.files["want/answer"]; want != "" && (len(got) == 0 || !strings.Contains(got[0].body, want)) {
		t.Errorf("got %d answers %v, want %q in the first", len(got), got, want)
	}
	body := plainBody
	if own, ok := c.files["request.raw"]; ok {
		body = strings.ReplaceAll(unquoted(t, own), "$TRAP", w.trap)
	}
	n := 0
	for ; len(w.requests) > 0; n++ {
		reframed(t, <-w.requests, w.url, body)
	}
	if want := strings.Fields(c.files["want/requests"]); !slices.Contains(want, strconv.Itoa(n)) {
		t.Errorf("got %d requests at the upstream, want one of %s", n, want)
	}
	if w.trapped.Load() != asked {
		t.Error("got a connection to the address that the client chose")
	}
}

// bytesOf is what a case sends.
func (w *ward) bytesOf(t *testing.T, c securityCase) string {
	t.Helper()
	if body, ok := c.files["request.raw"]; ok {
		text := strings.ReplaceAll(unquoted(t, body), "$TRAP", w.trap)
		return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			securityKey, len(text), text)
	}
	length := len(plainBody)
	return strings.NewReplacer("$BODY", plainBody, "$LENGTH", strconv.Itoa(length), "$HEX", strconv.FormatInt(int64(length), 16),
		"$AUTH", "Authorization: Bearer "+securityKey+"\r\n", "$KEY", securityKey, "$OPERATORKEY", operatorKey, "$TRAP", w.trap).Replace(unquoted(t, c.files["client.http"]))
}

// speak sends bytes and returns all that comes back, until the gateway closes the
// connection.
func (g *gate) speak(t *testing.T, request string) (answers []result) {
	t.Helper()
	c := g.dial(t)
	go io.WriteString(c, request) // it ends with the connection, which dial closes
	r := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return answers
		}
		c.SetReadDeadline(time.Now().Add(patience))
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		answers = append(answers, result{resp.StatusCode, resp.Header, string(body), err})
	}
}

// notSentOn are parts of the names and values of headers that stay with the gateway.
var notSentOn = []string{"transfer-encoding", "\r\ntrailer", "elsewhere.example", "hidden", "cg-security", "x-callgate-", "x-forwarded-", "x_forwarded",
	"\r\nforwarded", "real-ip", "remote-user", "authenticated-user", "auth-request", "\r\ncookie", "-ip:", "email", "jwt", "api-key", "api_key", "team_token", "principal"}

// reframed checks that a request at the upstream is that of the body, said once and in
// the plainest way, with the gateway's key and nobody else's.
func reframed(t *testing.T, request, url, body string) {
	t.Helper()
	head, got, _ := strings.Cut(request, "\r\n\r\n")
	equalBytes(t, "bodies", got, body)
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1")
	for _, want := range []string{"POST /v1/chat/completions HTTP/1.1\r\n", "\r\nHost: " + host + "\r\n", fmt.Sprintf("\r\nContent-Length: %d\r\n", len(body)), "\r\nAuthorization: Bearer " + canary + "\r\n"} {
		if strings.Count(head+"\r\n", want) != 1 {
			t.Errorf("got request %q, want %q once in it", head, want)
		}
	}
	for _, never := range notSentOn {
		if strings.Contains(strings.ToLower(head), never) {
			t.Errorf("got request %q, want no %q in it", head, never)
		}
	}
}
