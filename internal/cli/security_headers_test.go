package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// upstreamFiles reads the cases of a row that say what an upstream does: txtar files of
// testdata/security/ROW with a comment. What must be there is named.
func upstreamFiles(t *testing.T, row string, must ...string) map[string]map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "security", row, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("got no cases of %s: %v", row, err)
	}
	cases := map[string]map[string]string{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
		}
		for _, name := range must {
			if files[name] == "" {
				t.Fatalf("%s: it has no %s", path, name)
			}
		}
		cases[strings.TrimSuffix(filepath.Base(path), ".txtar")] = files
	}
	return cases
}

// refusal is the body of an upstream's 400.
const refusal = `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null}}`

// headerUpstream is an upstream that sends header lines with answers of three kinds, by the name of
// the model: whole, streamed and refused.
func headerUpstream(t *testing.T, lines func() string) string {
	t.Helper()
	return raw(t, func(c *net.TCPConn, request []byte) {
		status, kind, body := "200 OK", "application/json", completion(healthyText)
		switch _, asked, _ := strings.Cut(string(request), "\r\n\r\n"); {
		case strings.Contains(asked, `"refused"`):
			status, body = "400 Bad Request", refusal
		case strings.Contains(asked, `"streamed"`):
			kind, body = events, role+delta(healthyText)+finish+done
		}
		fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s", status, kind, len(body), lines(), body)
	})
}

// headerKinds are what a headerUpstream is asked for, and the status of each.
var headerKinds = map[string]int{"whole": 200, "streamed": 200, "refused": 400}

// forBrowsers checks what every answer to a client says.
func forBrowsers(t *testing.T, what string, r result, streamed bool) {
	t.Helper()
	want := "no-store"
	if streamed {
		want = "no-cache, no-store"
	}
	if got := r.header.Values("cache-control"); !slices.Equal(got, []string{want}) || r.header.Get("x-content-type-options") != "nosniff" {
		t.Errorf("%s: got cache-control %q and %q, want %q and nosniff", what, got, r.header.Get("x-content-type-options"), want)
	}
}

// securityResponseHeaders has an upstream send headers that clients, browsers or what stands
// in front of the gateway would obey. A case has
//
//	upstream.header  the lines, quoted; a value has "theirs" in it
//	want/passes      whether clients get it: always, errors or never
//	want/class       why not, in the metrics
func securityResponseHeaders(t *testing.T) {
	t.Parallel()
	var lines string // one request at a time
	url := headerUpstream(t, func() string { return lines })
	g := serve(t, fmt.Sprintf("admin: {listen: \"127.0.0.1:0\"}\nproviders: {up: {type: openai, base_url: %q, api_key: %s, pass_headers: [x-named], retry: {max_retries: 0}}}\nmodels: {m: {targets: [{provider: up}]}}", url, canary))
	before := g.withheld()
	ask := func(name string) map[string]result {
		got := map[string]result{}
		for kind, status := range headerKinds {
			r := g.chat(prompt("up/"+kind, "hi", kind == "streamed"))
			if r.status != status {
				t.Errorf("%s, %s: got status %d, %s, want %d", name, kind, r.status, r.body, status)
			}
			clean(t, r)
			forBrowsers(t, name+", "+kind, r, kind == "streamed")
			got[kind] = r
		}
		return got
	}
	ask("nothing")
	ordinary := map[string]float64{}
	await(t, "the metrics of three answers", func() bool {
		for class, n := range g.withheld() {
			ordinary[class] = n - before[class]
		}
		return ordinary["connection"] == 3 // Content-Length; net/http takes the other one out
	})
	for name, files := range upstreamFiles(t, "response_headers", "upstream.header", "want/passes") {
		lines = unquoted(t, files["upstream.header"]) + "\r\n"
		before := g.withheld()
		for kind, r := range ask(name) {
			want := files["want/passes"] == "always" || files["want/passes"] == "errors" && kind == "refused"
			passed := false
			for line := range strings.SplitSeq(strings.TrimSpace(lines), "\r\n") {
				field, value, _ := strings.Cut(line, ": ")
				passed = passed || slices.Contains(r.header.Values(field), value)
			}
			if passed != want || !want && strings.Contains(fmt.Sprint(r.header), "theirs") {
				t.Errorf("%s, %s: got header %v, want it there: %v", name, kind, r.header, want)
			}
		}
		class, n := files["want/class"], 3.
		switch class {
		case "":
			continue
		case "retry":
			n = 2
		}
		await(t, fmt.Sprintf("%s: %v more of the class %s than %v", name, n, class, ordinary[class]), func() bool {
			return g.withheld()[class]-before[class] == ordinary[class]+n
		})
	}
	if metrics := g.adminDo("GET", "/metrics").body; strings.Contains(metrics, "theirs") || strings.Contains(strings.ToLower(metrics), "tomorrow") {
		t.Error("got an upstream's words in the metrics")
	}
}

var withheldLine = regexp.MustCompile(`(?m)^callgate_upstream_headers_withheld_total\{class="(\w+)",provider="up"\} (\S+)$`)

// withheld reads the metric of headers that were not passed on, by class.
func (g *gate) withheld() map[string]float64 {
	g.t.Helper()
	counts := map[string]float64{}
	for _, m := range withheldLine.FindAllStringSubmatch(g.adminDo("GET", "/metrics").body, -1) {
		counts[m[1]], _ = strconv.ParseFloat(m[2], 64) // the metrics' own numbers
	}
	return counts
}

// framed are headers that a test cannot send as it likes: they say how its own message is
// read, or answered.
var framed = []string{"content-length", "transfer-encoding", "content-encoding", "connection", "host", "expect", "authorization"}

// securityHeaderNames sends every name of testdata/headers.txt in both directions, and holds
// exactly which arrive.
func securityHeaderNames(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("testdata/headers.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	n := 0
	for name := range strings.Lines(string(list)) {
		if name = strings.TrimSpace(name); !strings.HasPrefix(name, "#") && !slices.Contains(framed, strings.ToLower(name)) {
			fmt.Fprintf(&all, "%s: theirs\r\n", name)
			n++
		}
	}
	if n < 250 {
		t.Fatalf("got %d names, want more", n)
	}
	var sent string
	url := headerUpstream(t, all.String)
	up := raw(t, func(c *net.TCPConn, request []byte) {
		sent, _, _ = strings.Cut(string(request), "\r\n\r\n")
		body := completion(healthyText)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	})
	g := serve(t, fmt.Sprintf("keys: [{name: k, hash: %q}]\nproviders: {up: {type: openai, base_url: %q}, in: {type: openai, base_url: %q}, named: {type: openai, base_url: %[3]q, forward_headers: [x-title, HTTP-REFERER]}}",
		hashed(securityKey), url, up))

	for provider, more := range map[string][]string{"in": nil, "named": {"Http-Referer", "X-Title"}} {
		body := strings.Replace(plainBody, `"m"`, fmt.Sprintf(`"%s/m"`, provider), 1)
		got := g.speak(t, fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n%s\r\n%s", securityKey, len(body), all.String(), body)+behind)
		if len(got) == 0 || got[0].status != http.StatusOK {
			t.Fatalf("got %v, want an answer", got)
		}
		want := append([]string{"Accept", "Anthropic-Beta", "Anthropic-Version", "Content-Type", "Idempotency-Key", "Openai-Beta", "Traceparent", "Tracestate", "User-Agent"}, more...)
		slices.Sort(want)
		if got := theirs(sent); !slices.Equal(got, want) {
			t.Errorf("the upstream %s got %q, want %q", provider, got, want)
		}
		if strings.Count(sent, "\r\nVia: 1.1 callgate\r\n")+strings.Count(sent, "Via:") != 2 {
			t.Errorf("got %q, want the gateway's own Via alone", sent)
		}
	}

	always := []string{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Tokens-Reset", "Apim-Request-Id", "Cf-Ray", "Mistral-Correlation-Id", "Msh-Request-Id",
		"Openai-Beta", "Openai-Model", "Openai-Organization", "Openai-Processing-Ms", "Openai-Project", "Openai-Version",
		"Ratelimit", "Ratelimit-Limit", "Ratelimit-Policy", "Ratelimit-Remaining", "Ratelimit-Reset", "Request-Id", "X-Amzn-Requestid",
		"X-Ds-Trace-Id", "X-Generation-Id", "X-Groq-Request-Id", "X-Ms-Request-Id", "X-Rate-Limit-Remaining",
		"X-Ratelimit-Limit-Requests", "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Over-Limit", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Remaining-Tokens",
		"X-Ratelimit-Reset-Requests", "X-Ratelimit-Reset-Tokens", "X-Ratelimitbysize-Limit-Minute"}
	for kind := range headerKinds {
		r := g.chat(prompt("up/"+kind, "hi", kind == "streamed"), "authorization", "Bearer "+securityKey)
		want := slices.Clone(always)
		if kind == "refused" {
			want = append(want, "Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms")
		} else {
			want = append(want, "X-Callgate-Upstream-Request-Id")
		}
		var got []string
		for _, name := range slices.Sorted(maps.Keys(r.header)) {
			if slices.Contains(r.header[name], "theirs") {
				got = append(got, name)
			}
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got the upstream's %q, want %q", kind, got, want)
		}
		forBrowsers(t, kind, r, kind == "streamed")
	}
	for path, status := range map[string]int{"/livez": 200, "/readyz": 200, "/v1/models": 401, "/nothing": 404, "/v1/responses": 405} {
		r := g.get(path)
		if r.status != status {
			t.Errorf("%s: got status %d, want %d", path, r.status, status)
		}
		forBrowsers(t, path, r, false)
	}
}

// theirs are the names of the headers of a message whose value is the test's, sorted.
func theirs(head string) (names []string) {
	for line := range strings.SplitSeq(head, "\r\n") {
		if name, value, _ := strings.Cut(line, ": "); value == "theirs" {
			names = append(names, http.CanonicalHeaderKey(name))
		}
	}
	slices.Sort(names)
	return names
}

// securityCutKeys has an upstream quote the key where a message of ours cuts what it quotes.
func securityCutKeys(t *testing.T) {
	var line string // one request at a time
	url := raw(t, func(c *net.TCPConn, _ []byte) {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx", line)
	})
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, api_key: sk-UPPERcanary-of-the-upstream, retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1000}}}", url))
	for _, name := range []string{"Content-Encoding: ", "Content-Type: text/"} {
		for n := 40; n < 80; n += 3 {
			line = name + strings.Repeat("x", n) + "sk-UPPERcanary-of-the-upstream"
			r := g.chat(prompt("up/m", "hi", false))
			if r.status != http.StatusBadGateway || strings.Contains(strings.ToLower(r.body), "sk-u") || !strings.Contains(r.body, "xxx") {
				t.Errorf("%s behind %d bytes: got status %d, %s, want nothing of the key", name, n, r.status, r.body)
			}
		}
	}
}

// securityQuotedKeys has an upstream quote the gateway's keys for it, in every form in which
// servers write what they were sent: in a refusal, in an error in the place of an answer, in
// one in the middle of a stream, and where the failure becomes one of the gateway's own.
func securityQuotedKeys(t *testing.T) {
	t.Parallel()
	t.Run("cut", securityCutKeys)
	var quote string // one request at a time
	answer := func(w http.ResponseWriter, r received) {
		body := fmt.Sprintf(`{"error":{"message":"got \"%s\" from you","type":"invalid_request_error","param":null,"code":"bad"}}`, quote)
		w.Header().Set("content-type", "application/json")
		switch {
		case strings.Contains(r.body, `"refused"`):
			w.WriteHeader(http.StatusBadRequest)
		case strings.Contains(r.body, `"failed"`):
			w.WriteHeader(http.StatusInternalServerError)
		case strings.Contains(r.body, `"limited"`):
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.Contains(r.body, `"late"`):
			w.Header().Set("content-type", events)
			send(w, role, delta(healthyText), "data: "+body+"\n\n")
			return
		case strings.Contains(r.body, `"early"`):
			w.Header().Set("content-type", events)
			send(w, "data: "+body+"\n\n")
			return
		}
		io.WriteString(w, body)
	}
	url := newSite(t, answer).url
	g := serve(t, fmt.Sprintf("log: {level: debug}\nproviders: {up: {type: openai, base_url: %q, api_key: sk-U/9+canary-of-the-upstream, headers: {X-Team-Token: sk-of-the-team}, retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1000}}}", url))
	for name, files := range upstreamFiles(t, "quoted_keys", "upstream.quotes") {
		quote = files["upstream.quotes"]
		if !json.Valid([]byte(`"` + quote + `"`)) {
			t.Fatalf("%s: got %q, which no JSON holds", name, quote)
		}
		var spoken string
		_ = json.Unmarshal([]byte(`"`+quote+`"`), &spoken)
		for kind, status := range map[string]int{"refused": 400, "in_band": 400, "early": 400, "late": 200, "failed": 500, "limited": 429} {
			r := g.chat(prompt("up/"+kind, "hi", kind == "late" || kind == "early"))
			if r.status != status {
				t.Errorf("%s, %s: got status %d, %s, want %d", name, kind, r.status, r.body, status)
			}
			if strings.Contains(r.body, quote) || strings.Contains(r.body, spoken) || strings.Count(r.body, "[redacted]") == 0 || !strings.Contains(r.body, "from you") {
				t.Errorf("%s, %s: got %s, want the key out of it, and the rest there", name, kind, r.body)
			}
		}
		if log := g.stderr.String(); strings.Contains(log, quote) || strings.Contains(log, spoken) {
			t.Errorf("%s: got it in the log", name)
		}
	}
}
