package cli

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins/pluginstest"
)

// The bounds of the hammer of tenants: how many clients leave in the middle.
const (
	tenantCancels      = 10_000
	tenantCancelsShort = 1_000
	tenantWorkers      = 24
)

// tenants is a gateway with two clients, upstreams that write the mark of a request into
// its answer, and what was seen.
type tenants struct {
	*gate
	t        *testing.T
	secret   []byte // of the marks, so that none can stand anywhere by chance
	active   atomic.Int64
	serials  atomic.Int64
	owners   sync.Map // serial number of an answer to the tenant that got it first
	canceled atomic.Int64
	whole    atomic.Int64
	parsed   atomic.Int64 // whole answers that the plugin has read
	hits     atomic.Int64 // answers that were kept
	multi    atomic.Int64 // requests that came over HTTP/2
	expected atomic.Int64 // second askings whose prompt was expected in a cache
}

// tenantKey is a tenant's key.
func tenantKey(tenant string) string { return "cg-canary-key-of-" + tenant }

// mark is what stands in a request and in its answer: who asks, and which request.
func (s *tenants) mark(tenant string, number int64) string {
	mac := hmac.New(sha256.New, s.secret)
	fmt.Fprint(mac, tenant, number)
	return fmt.Sprintf("mk-%s-%d-%x", tenant, number, mac.Sum(nil)[:8])
}

var (
	markStart = regexp.MustCompile(`mk-([a-z]*)`)
	markWhole = regexp.MustCompile(`mk-[a-z]+-\d+-[0-9a-f]{16}`)
	serialRE  = regexp.MustCompile(`sn-\d+-end`)
)

// own checks that every mark in a text is the one that belongs there, or the beginning of
// it, and that no key is in it.
func (s *tenants) own(where, text, tenant, mark string) {
	for _, m := range markStart.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(tenant, m[1]) {
			s.t.Errorf("%s of %s: got a mark of %q: %q", where, mark, m[1], cut(text, 0, 2000))
		}
	}
	for _, m := range markWhole.FindAllString(text, -1) {
		if m != mark {
			s.t.Errorf("%s of %s: got the mark %s: %q", where, mark, m, cut(text, 0, 2000))
		}
	}
	for _, key := range []string{tenantKey("alice"), tenantKey("bob"), canary} {
		if strings.Contains(text, key) {
			s.t.Errorf("%s of %s: got the key %s", where, mark, key)
		}
	}
}

// serve answers as the model's name says, with the mark of the request's header.
func (s *tenants) serve(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Add(-1)
	if r.ProtoMajor == 2 {
		s.multi.Add(1)
	}
	b, _ := io.ReadAll(r.Body)
	req := received{r, string(b)}
	mark, kind := r.Header.Get("x-mark"), r.Header.Get("x-kind")
	if r.Method == "POST" {
		tenant, _, _ := strings.Cut(strings.TrimPrefix(mark, "mk-"), "-")
		header := r.Header.Clone()
		header.Del("Authorization") // the gateway's own
		s.own("upstream request", req.body+fmt.Sprint(header), tenant, mark)
		if r.Header.Get("Authorization") != "Bearer "+canary {
			s.t.Errorf("%s: got key %q at the upstream, want the gateway's", mark, r.Header.Get("Authorization"))
		}
	}
	text := mark
	switch kind {
	case "textual":
		text = fmt.Sprintf(`<tool_call>{"name":"get_weather","arguments":{"city":%q}}</tool_call>`, mark)
	case "plugin":
		text = "<hoard> " + mark
	case "kept":
		text = fmt.Sprintf("sn-%d-end", s.serials.Add(1))
	}
	call := fmt.Sprintf(`[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"%s\"}"}}]`, mark)
	if !req.wantsStream() {
		w.Header().Set("content-type", "application/json")
		answer := completion(text)
		if kind == "native" {
			answer = strings.Replace(strings.Replace(answer, `"content":`, `"tool_calls":`+call+`,"content":`, 1), `"stop"`, `"tool_calls"`, 1)
		}
		io.WriteString(w, answer)
		return
	}
	w.Header().Set("content-type", events)
	send(w, role)
	for range 8 {
		if kind == "kept" && r.Context().Err() == nil {
			break
		}
		if kind == "textual" || kind == "native" {
			send(w, delta(mark+" "))
		} else {
			send(w, delta(text+" "))
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
	switch kind {
	case "native":
		send(w, `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{"tool_calls":`+call+`},"finish_reason":null}]}`+"\n\n")
		send(w, strings.Replace(finish, `"stop"`, `"tool_calls"`, 1)+done)
	default:
		send(w, delta(text)+finish+done)
	}
}

// newTenants starts the gateway as a process of its own, for the certificate of the
// upstream that speaks HTTP/2.
func newTenants(t *testing.T) *tenants {
	t.Helper()
	s := &tenants{t: t, secret: []byte(rand.Text())}
	certificate, roots := certified(t)
	plain, secure := httptest.NewServer(http.HandlerFunc(s.serve)), httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	secure.EnableHTTP2, secure.TLS = true, &tls.Config{Certificates: []tls.Certificate{certificate}}
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hoarder.wasm"), pluginstest.Build(t, "testdata/hoarder"), 0o600); err != nil {
		t.Fatal(err)
	}
	var c strings.Builder
	fmt.Fprintf(&c, "log: {level: debug}\nadmin: {listen: \"127.0.0.1:0\"}\nplugins: {dir: %q}\n"+fleetKeys, dir, hashed(tenantKey("alice")), hashed(tenantKey("bob")))
	fmt.Fprintf(&c, "defaults: {routing: prefix}\nproviders:\n")
	for i, url := range []string{plain.URL, secure.URL} {
		fmt.Fprintf(&c, "  up%d: {type: openai, base_url: %q, api_key: %s, forward_headers: [x-mark, x-kind], circuit_breaker: {failure_threshold: 1}}\n", i, url+"/v1", canary)
	}
	c.WriteString("models:\n")
	for kind, keys := range map[string]string{"text": "", "native": "", "textual": ", parser: hermes", "plugin": ", parser: hoarder", "kept": ""} {
		fmt.Fprintf(&c, "  %s: {targets: [{provider: up0%s}, {provider: up1%[2]s}]", kind, keys)
		if kind == "kept" {
			c.WriteString(", answer_cache: memory")
		}
		c.WriteString("}\n")
	}
	s.gate, _ = spawn(t, c.String(), "SSL_CERT_FILE="+roots)
	s.client.Transport.(*http.Transport).MaxIdleConnsPerHost = tenantWorkers
	return s
}

// ask sends a request of a tenant and leaves at a place drawn at random, or stays. It
// returns the header, nil if none came.
func (s *tenants) ask(random *mathrand.Rand, tenant, kind, mark, content string, stay bool) http.Header {
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	place, stream := 1<<20, random.IntN(3) > 0
	switch n := random.IntN(10); {
	case stay || n < 1:
	case n < 4: // before the answer, or soon
		stop := time.AfterFunc(time.Duration(random.IntN(6000))*time.Microsecond, cancel)
		defer stop.Stop()
	case stream:
		place = random.IntN(2200)
	default:
		place = random.IntN(250)
	}
	body := fmt.Sprintf(`{"model":%q,"stream":%v,"temperature":0,"tools":%s,"messages":[{"role":"user","content":%q}]}`, kind, stream, twoTools, content)
	r := s.request("POST", "/v1/chat/completions", body, "authorization", "Bearer "+tenantKey(tenant), "x-kind", kind)
	if kind != "kept" { // there the requests of both have to be alike
		r.Header.Set("x-mark", mark)
	}
	resp, err := s.client.Do(r.WithContext(ctx))
	if err != nil {
		s.left(mark, err)
		return nil
	}
	defer resp.Body.Close()
	head, _ := httputil.DumpResponse(resp, false) // without its body nothing can fail
	got, err := io.ReadAll(io.LimitReader(resp.Body, int64(place)))
	s.own("answer", string(head)+string(got), tenant, mark)
	for _, serial := range serialRE.FindAllString(string(got), -1) {
		if owner, there := s.owners.LoadOrStore(serial, tenant); owner != tenant {
			s.t.Errorf("%s: got the answer %s, which %s had got before", mark, serial, owner)
		} else if there {
			s.hits.Add(1)
		}
	}
	switch {
	case resp.StatusCode != http.StatusOK:
		s.t.Errorf("%s: got status %d, %s", mark, resp.StatusCode, got)
	case err != nil || len(got) == place:
		s.left(mark, err)
	default:
		s.whole.Add(1)
		if !strings.Contains(string(got), mark) && kind != "kept" {
			s.t.Errorf("%s: got the whole answer %q, want the mark in it", mark, got)
		}
		if kind == "plugin" && strings.Count(string(got), mark) > 10 { // the upstream says it at most nine times
			s.parsed.Add(1)
		}
	}
	return resp.Header
}

// left counts a client that has left.
func (s *tenants) left(mark string, err error) {
	var timeout net.Error
	if err != nil && !errors.Is(err, context.Canceled) || errors.As(err, &timeout) && timeout.Timeout() {
		s.t.Errorf("%s: got error %v, want none but that of the client itself", mark, err)
	}
	s.canceled.Add(1)
}

// visit makes one request of either tenant, or has both send one prompt.
func (s *tenants) visit(random *mathrand.Rand, number int64) {
	tenant := []string{"alice", "bob"}[random.IntN(2)]
	kind := []string{"text", "native", "textual", "plugin", "kept"}[random.IntN(5)]
	mark := s.mark(tenant, number)
	switch {
	case number%100 == 0:
		s.twins(random, number)
	case kind == "kept":
		s.ask(random, tenant, kind, mark, fmt.Sprint("the same for both ", random.IntN(20)), false)
	default:
		s.ask(random, tenant, kind, mark, strings.Repeat(mark+" asks. ", 1+random.IntN(100)), false)
	}
}

// twins has one tenant send a prompt twice, and the other one then: of that nothing may be
// expected in a cache.
func (s *tenants) twins(random *mathrand.Rand, number int64) {
	first, second := "alice", "bob"
	if random.IntN(2) == 0 {
		first, second = second, first
	}
	prompt := fmt.Sprintf("%d %s", number, strings.Repeat("What only one has sent. ", 200))
	for i, tenant := range []string{first, first, second} {
		h := s.ask(random, tenant, "text", s.mark(tenant, number), prompt, true)
		if h == nil {
			continue // it has failed, and said so
		}
		_, expected, _ := cacheHeader(s.t, result{header: h})
		switch {
		case i == 1 && expected > 0:
			s.expected.Add(1)
		case i != 1 && expected != 0:
			s.t.Errorf("prompt %d: got %d blocks expected for %s, who never sent it, want none (%s sent it)", number, expected, tenant, first)
		}
	}
}

// securityTenants has two clients of one gateway leave at random, thousands of times, and
// looks for what is one's with the other, and for what is anybody's in the log, in the
// metrics and at the admin listener.
func securityTenants(t *testing.T) {
	t.Parallel()
	s := newTenants(t)
	want := int64(tenantCancels)
	if testing.Short() {
		want = tenantCancelsShort
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	began := time.Now()
	var all sync.WaitGroup
	var number atomic.Int64
	for worker := range uint64(tenantWorkers) {
		all.Go(func() {
			random := mathrand.New(mathrand.NewPCG(seed, worker))
			for s.canceled.Load() < want && !t.Failed() {
				s.visit(random, number.Add(1))
			}
		})
	}
	all.Wait()
	t.Logf("%d requests in %v: %d left by their clients, %d whole, %d of them read by the plugin, %d kept answers, %d prompts expected again, %d over HTTP/2",
		number.Load(), time.Since(began).Round(time.Millisecond), s.canceled.Load(), s.whole.Load(), s.parsed.Load(), s.hits.Load(), s.expected.Load(), s.multi.Load())
	if n := s.canceled.Load(); n < want || s.whole.Load() == 0 || s.parsed.Load() == 0 || s.hits.Load() == 0 || s.expected.Load() == 0 || s.multi.Load() == 0 {
		t.Errorf("got %d clients that left, want %d, and some of all else", n, want)
	}
	await(t, "the end of all requests upstream", func() bool { return s.active.Load() == 0 })
	for _, path := range []string{"/metrics", "/admin/breakers", "/admin/targets", "/admin/prefix", "/admin/plugins", "/admin/tools", "/admin/usage"} {
		r := s.adminDo("GET", path)
		if r.status != http.StatusOK {
			t.Errorf("got status %d from %s, want 200", r.status, path)
		}
		s.own(path, r.body, "-", "nobody")
	}
	for _, provider := range []string{"up0", "up1"} {
		if b := s.breaker(provider); b.Totals.Failures != 0 || b.Totals.Requests == 0 {
			t.Errorf("got breaker %+v, want requests and no failure", b)
		}
	}
	s.own("the log", s.stdout.String()+s.stderr.String(), "-", "nobody")
}
