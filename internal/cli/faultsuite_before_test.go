package cli

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lost is an attempt that fails before the client has seen anything of its answer.
type lost struct {
	name, how string
	up        *site
	keys      string   // of the provider
	modes     []bool   // streamed; nil: both
	whole     failure  // what a client gets that has no other target
	stream    *failure // the same for a stream, where it differs
}

// in is what a client gets in a mode.
func (l lost) in(stream bool) failure {
	if stream && l.stream != nil {
		return *l.stream
	}
	return l.whole
}

// The failures that most faults lead to.
func bad(words string) failure {
	return failure{status: 502, code: "upstream_error", retry: "true", says: words}
}

// fails is a failure with a status of the upstream's own.
func fails(status int, words string) failure {
	f := bad(words)
	f.status = status
	if status == 529 {
		f.code = "upstream_overloaded"
	}
	return f
}

func late(timer string) failure {
	return failure{status: 504, code: "upstream_timeout", retry: "true", says: "timeouts." + timer}
}

func short(words string) *failure {
	return &failure{status: 502, code: "upstream_cut", retry: "true", says: words}
}

var (
	onlyStream = []bool{true}
	onlyWhole  = []bool{false}
	// hasty is for faults that only a timer ends.
	hasty = "timeouts: {connect: 300ms, first_token: 300ms, idle: 300ms, total: 300ms}"
)

// head is the beginning of an answer of raw bytes.
func head(mime string, header ...string) string {
	h := "HTTP/1.1 200 OK\r\nContent-Type: " + mime + "\r\n"
	for _, line := range header {
		h += line + "\r\n"
	}
	return h + "\r\n"
}

const mimeJSON = "application/json"

// holds answers with these bytes and then says nothing, until the gateway leaves.
func holds(t *testing.T, text string) *site {
	t.Helper()
	return newRawSite(t, func(c *net.TCPConn) {
		io.WriteString(c, text)
		io.Copy(io.Discard, c)
	})
}

// resets answers with these bytes and resets the connection when they are there.
func resets(t *testing.T, text string) *site {
	t.Helper()
	return newRawSite(t, func(c *net.TCPConn) {
		io.WriteString(c, text)
		if text != "" {
			time.Sleep(30 * time.Millisecond) // a reset overtakes bytes that nobody has read
		}
		c.SetLinger(0)
	})
}

// repeats answers with these bytes, and then repeats others until nobody takes them.
func repeats(t *testing.T, first, again string) *site {
	t.Helper()
	return newRawSite(t, func(c *net.TCPConn) {
		io.WriteString(c, first)
		for n := 0; n < 1<<30; n += len(again) {
			if _, err := io.WriteString(c, again); err != nil {
				return
			}
		}
		panic("the gateway has taken a GiB")
	})
}

// mute takes connections and never says a word on them, so that no TLS handshake ends.
func mute(t *testing.T, greeting string) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, greeting)
			go func() {
				io.Copy(io.Discard, c)
				c.Close()
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return &site{url: "https://" + l.Addr().String() + "/v1"}
}

// untrusted is an upstream with a certificate that nobody vouches for.
func untrusted(t *testing.T) *site {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake is what the test wants
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return &site{url: s.URL + "/v1"}
}

// connections are the faults of reaching an upstream (1) and of waiting for it (2).
func connections(t *testing.T) []lost {
	t.Helper()
	plain := well(t)
	role := func(then func(w http.ResponseWriter, r received)) *site {
		return newSite(t, func(w http.ResponseWriter, r received) {
			w.Header().Set("content-type", events)
			send(w, role)
			then(w, r)
		})
	}
	firstToken := late("first_token")
	return []lost{
		{name: "refused", how: "nobody listens", up: &site{url: down(t)}, whole: bad("refused the connection")},
		{name: "blackhole", how: "what the upstream says is lost", up: overNetwork(t, well(t), swallows), keys: hasty,
			modes: onlyWhole, whole: late("total")},
		{name: "blackhole of a stream", how: "what the upstream says is lost", up: overNetwork(t, well(t), swallows),
			keys: "timeouts: {first_token: 300ms}", modes: onlyStream, whole: firstToken},
		{name: "blackhole that closes", how: "nothing, and the end", up: overNetwork(t, well(t), closes), whole: bad("connection")},
		{name: "silent TLS", how: "the handshake is not answered", up: mute(t, ""), keys: "timeouts: {connect: 300ms}", whole: late("connect")},
		{name: "half a TLS record", how: "the handshake is begun and not gone on with", up: mute(t, "\x16\x03\x03\x00\x7a\x02"), keys: "timeouts: {connect: 300ms}", whole: late("connect")},
		{name: "no TLS", how: "plain HTTP where TLS is wanted", up: &site{url: strings.Replace(plain.url, "http:", "https:", 1)}, whole: bad("TLS handshake failed")},
		{name: "untrusted", how: "a certificate that nobody vouches for", up: untrusted(t), whole: bad("certificate")},
		{name: "silent", how: "no header", up: newSite(t, hangs), keys: "timeouts: {first_token: 300ms}", modes: onlyStream, whole: firstToken},
		{name: "silent, whole", how: "no header", up: newSite(t, hangs), keys: hasty, modes: onlyWhole, whole: late("total")},
		{name: "header alone", how: "a header and no chunk", up: holds(t, head(events)), keys: "timeouts: {first_token: 300ms}", modes: onlyStream, whole: firstToken},
		{name: "header in drops", how: "a header that never ends", up: drops(t), keys: "timeouts: {first_token: 300ms, total: 600ms}", whole: late("total"), stream: &firstToken},
		{name: "comments alone", how: "heartbeats and no chunk", up: newSite(t, func(w http.ResponseWriter, r received) {
			w.Header().Set("content-type", events)
			for r.Context().Err() == nil {
				send(w, ": ping\n\n")
				time.Sleep(20 * time.Millisecond)
			}
		}), keys: "timeouts: {first_token: 300ms, idle: 200ms}", modes: onlyStream, whole: firstToken},
		{name: "role and silence", how: "a chunk that says nothing, and then nothing", up: role(hangs), keys: "timeouts: {idle: 300ms}", modes: onlyStream, whole: late("idle")},
		{name: "body and silence", how: "half a completion", up: holds(t, head(mimeJSON)+completion("x")[:40]), keys: hasty, modes: onlyWhole, whole: late("total")},
	}
}

// drops sends a header byte by byte and never ends it.
func drops(t *testing.T) *site {
	t.Helper()
	return newRawSite(t, func(c *net.TCPConn) {
		text := "HTTP/1.1 200 OK\r\nX-A: "
		for i := 0; ; i++ {
			b := byte('a')
			if i < len(text) {
				b = text[i]
			}
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

// breaks are answers that end too early (3), errors in the place of an answer (5), and
// HTTP that is none (6).
func breaks(t *testing.T) []lost {
	t.Helper()
	chunked := head(events, "Transfer-Encoding: chunked")
	// Closed by its own word, so that no other request takes the connection before it is.
	length := func(mime string, n int) string {
		return head(mime, "Connection: close", "Content-Length: "+strconv.Itoa(n))
	}
	body := completion("x")
	inBand := func(before, message string) *site {
		return says(t, head(events)+before+"data: "+message+"\n\n"+done)
	}
	const overloaded = `{"error":{"message":"We are overloaded","type":"overloaded_error","code":529}}`
	const bare = `{"object":"error","message":"The queue is full","type":"ServiceUnavailableError","param":null,"code":503}`
	first := "before its first chunk"
	return []lost{
		{name: "503", how: "a plain failure", up: says(t, "HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), whole: fails(503, "status 503")},
		{name: "closed", how: "the end before the header", up: says(t, ""), whole: bad("closed the connection")},
		{name: "reset", how: "a reset before the header", up: resets(t, ""), whole: bad("connection")},
		{name: "reset by the network", how: "a reset before the header", up: overNetwork(t, well(t), breaksOff), whole: bad("connection")},
		{name: "reset behind the header", how: "a header and a reset", up: resets(t, head(events)), modes: onlyStream, whole: *short(first)},
		{name: "reset behind the header, whole", how: "a header and a reset", up: resets(t, length(mimeJSON, len(body))), modes: onlyWhole, whole: bad("broke off")},
		{name: "reset in the body", how: "half a completion and a reset", up: resets(t, length(mimeJSON, len(body))+body[:40]), modes: onlyWhole, whole: bad("broke off")},
		{name: "role and reset", how: "a chunk that says nothing and a reset", up: resets(t, head(events)+role), modes: onlyStream, whole: *short("mid-stream")},
		{name: "role and end", how: "a chunk that says nothing and the end", up: says(t, head(events)+role), modes: onlyStream, whole: *short("mid-stream")},
		{name: "cut in a chunk", how: "half an event", up: says(t, head(events)+role+delta("Hello")[:60]), modes: onlyStream, whole: *short("mid-stream")},
		{name: "cut by the network", how: "300 bytes and the end", up: overNetwork(t, well(t), after(300)), modes: onlyStream, whole: *short("")},
		{name: "error first", how: "200 and an error as the first event", up: inBand("", overloaded), modes: onlyStream, whole: fails(529, "We are overloaded")},
		{name: "error behind the role", how: "200, a role and an error", up: inBand(role, overloaded), modes: onlyStream, whole: fails(529, "We are overloaded")},
		{name: "error as text", how: "200 and an error that is a string", up: inBand(role, `{"error":"boom"}`), modes: onlyStream, whole: bad("boom")},
		{name: "error, whole", how: "200 and an error in the place of a completion", up: says(t, head(mimeJSON)+overloaded), modes: onlyWhole, whole: fails(529, "We are overloaded")},
		{name: "bare error first", how: "200 and an object that says it is an error as the first event", up: inBand("", bare), modes: onlyStream, whole: fails(503, "The queue is full")},
		{name: "bare error behind the role", how: "200, a role and an object that says it is an error", up: inBand(role, bare), modes: onlyStream, whole: fails(503, "The queue is full")},
		{name: "bare error, whole", how: "200 and an object that says it is an error in the place of a completion", up: says(t, head(mimeJSON)+bare), modes: onlyWhole, whole: fails(503, "The queue is full")},

		{name: "bad chunk", how: "a chunk's length that is no number", up: says(t, chunked+"zz\r\nx\r\n"), modes: onlyStream, whole: *short(first)},
		{name: "huge chunk", how: "a chunk's length of 2^64", up: says(t, chunked+"10000000000000000\r\nx\r\n"), modes: onlyStream, whole: *short(first)},
		{name: "bad chunk, whole", how: "a chunk's length that is no number", up: says(t, head(mimeJSON, "Transfer-Encoding: chunked")+"5\r\n{\"a\":\r\nzz\r\n"), modes: onlyWhole, whole: bad("broke off")},
		{name: "longer than it is", how: "a length that is too large", up: says(t, length(mimeJSON, len(body)+1)+body), modes: onlyWhole, whole: bad("broke off")},
		{name: "shorter than it is", how: "a length that is too small", up: says(t, length(mimeJSON, len(body)-5)+body), modes: onlyWhole, whole: bad("cut")},
		{name: "stream shorter than it is", how: "a length that is too small", up: says(t, length(events, len(role)+9)+role+delta("Hello")+finish+done), modes: onlyStream, whole: *short("mid-stream")},
		{name: "two lengths", how: "two lengths that differ", up: says(t, head(mimeJSON, "Content-Length: 5", "Content-Length: 7")+body), whole: bad("request to")},
		{name: "negative length", how: "a length below 0", up: says(t, head(mimeJSON, "Content-Length: -1")+body), whole: bad("")},
		{name: "two codings", how: "two transfer encodings", up: says(t, head(mimeJSON, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked")+"0\r\n\r\n"), whole: bad("")},
		{name: "bad status", how: "a status that is no number", up: says(t, "HTTP/1.1 abc OK\r\n\r\n"), whole: bad("not HTTP")},
		{name: "another protocol", how: "the greeting of SMTP", up: says(t, "220 mail.example ESMTP\r\n"), whole: bad("not HTTP")},
		{name: "1xx without end", how: "hints and no answer", up: repeats(t, "", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 100)), whole: bad("request to")},
		{name: "switching protocols", how: "status 101", up: says(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), whole: bad("")},
		{name: "large header", how: "a header of 1 MB", up: says(t, head(mimeJSON, "X-A: "+strings.Repeat("a", 1<<20))+body), whole: bad("")},
		{name: "header without end", how: "header lines for ever", up: repeats(t, "HTTP/1.1 200 OK\r\n", strings.Repeat("X-A: b\r\n", 1000)), whole: bad("")},
		{name: "header without a colon", how: "a line that is no header", up: says(t, head(mimeJSON, "nonsense")+body), whole: bad("request to")},
	}
}

// encodings are compressed answers that must not be taken as they say (7), and answers
// that are too large.
func encodings(t *testing.T) []lost {
	t.Helper()
	const small = "max_response: 1MiB"
	member := zip(strings.Repeat(" ", 1<<20)) // 1 KiB that becomes one MiB; gzip allows any number of them
	line := zip(strings.Repeat("x", 1<<20))
	whole, body := zip(completion("x")), role+delta("Hello")+finish+done
	gz := "Content-Encoding: gzip"
	larger := bad("larger than 1048576 bytes")
	return []lost{
		{name: "gzip bomb", how: "1 KiB for each MiB, for ever", up: repeats(t, head(mimeJSON, gz), member), keys: small, modes: onlyWhole, whole: larger},
		{name: "gzip bomb, stream", how: "a line of a stream that does not end", up: repeats(t, head(events, gz), line), keys: small, modes: onlyStream, whole: larger},
		{name: "large", how: "bytes for ever", up: repeats(t, head(mimeJSON), strings.Repeat(" ", 1<<16)), keys: small, modes: onlyWhole, whole: larger},
		{name: "said to be large", how: "a length of 1 TB", up: holds(t, head(mimeJSON, "Content-Length: 1000000000000")), keys: small, modes: onlyWhole, whole: larger},
		{name: "large line", how: "an event that does not end", up: repeats(t, head(events), strings.Repeat("data: x", 1<<13)), modes: onlyStream, whole: bad("more than 16777216 bytes")},
		{name: "cut gzip", how: "half of a compressed completion", up: says(t, head(mimeJSON, gz)+whole[:len(whole)-9]), modes: onlyWhole, whole: bad("broke off")},
		{name: "cut gzip, stream", how: "a part of a compressed stream", up: says(t, head(events, gz)+zip(body)[:30]), modes: onlyStream, whole: *short("")},
		{name: "gzip with a bad sum", how: "a compressed completion with another checksum", up: says(t, head(mimeJSON, gz)+flip(whole, len(whole)-6)), modes: onlyWhole, whole: bad("broke off")},
		{name: "no gzip", how: "a text that is said to be gzip", up: says(t, head(mimeJSON, gz)+completion("x")), modes: onlyWhole, whole: bad("broke off")},
		{name: "no gzip, stream", how: "a stream that is said to be gzip", up: says(t, head(events, gz)+body), modes: onlyStream, whole: *short("before its first chunk")},
		{name: "br", how: "an encoding that nobody asked for", up: says(t, head(mimeJSON, "Content-Encoding: br")+"\x8b\x02\x80{}\x03"), whole: bad("content encoding \"br\"")},
		{name: "zstd", how: "an encoding that nobody asked for", up: says(t, head(events, "Content-Encoding: zstd")+"\x28\xb5\x2f\xfd"), whole: bad("content encoding \"zstd\"")},
		{name: "gzip twice", how: "two encodings", up: says(t, head(mimeJSON, "Content-Encoding: gzip, gzip")+zip(whole)), whole: bad("content encoding")},
	}
}

// flip is s with the bits of one byte turned over.
func flip(s string, at int) string {
	b := []byte(s)
	b[at] ^= 0xff
	return string(b)
}

// TestFaultSuiteBeforeTheAnswer has every fault once with no other target, which gives
// the client an error with a status, and once with a healthy one behind it, which
// gives it that one's answer and nothing of the first. Both count as failures of the
// provider: its breaker is set so that the row opens it, and the last request finds it
// left alone.
func TestFaultSuiteBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for group, list := range map[string]func(*testing.T) []lost{"connections": connections, "breaks": breaks, "encodings": encodings} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			rows := list(t)
			healthy := well(t)
			var s setup
			s.provider("well", healthy.url, "")
			for i, l := range rows {
				name := fmt.Sprintf("up%d", i)
				s.provider(name, l.up.url, strings.Trim(fmt.Sprintf("circuit_breaker: {failure_threshold: %d}, %s", 2*len(l.both()), l.keys), ", "))
				s.model(fmt.Sprintf("alone%d", i), name)
				s.model(fmt.Sprintf("two%d", i), name, "well")
			}
			g := serve(t, s.String())
			for i, l := range rows {
				t.Run(l.name, func(t *testing.T) {
					t.Parallel()
					t.Log(l.how)
					l.check(t, g, i)
				})
			}
		})
	}
}

// both are the modes in which the fault is tried.
func (l lost) both() []bool {
	if l.modes == nil {
		return []bool{false, true}
	}
	return l.modes
}

// check runs a row. Its requests are sent at once, since each may wait for a timer.
func (l lost) check(t *testing.T, g *gate, i int) {
	name, modes := fmt.Sprintf("up%d", i), l.both()
	var all sync.WaitGroup
	for _, stream := range modes {
		all.Go(func() {
			r := g.chat(prompt(fmt.Sprintf("alone%d", i), "hi", stream))
			clean(t, r)
			if r.status == l.in(stream).status {
				l.in(stream).check(t, r)
			} else {
				t.Errorf("got status %d %q, want %d", r.status, r.body, l.in(stream).status)
			}
			hasHeader(t, r.header, map[string]string{"x-callgate-attempts": "1", "x-callgate-provider": name})
		})
		all.Go(func() {
			r := g.chat(prompt(fmt.Sprintf("two%d", i), "hi", stream))
			healthyAnswer(t, r, stream)
			hasHeader(t, r.header, map[string]string{"x-callgate-attempts": "2", "x-callgate-fallbacks": "1", "x-callgate-retry-delay-ms": "0", "x-callgate-provider": "well"})
		})
	}
	all.Wait()
	n := 2 * len(modes)
	b := g.breaker(name)
	if b.State != "open" || b.Totals.Failures != uint64(n) || b.Totals.Requests != uint64(n) || b.InFlight != 0 {
		t.Errorf("got breaker %+v, want it open after %d failures", b, n)
	}
	asked := l.up.asked.Load()
	r := g.chat(prompt(fmt.Sprintf("two%d", i), "hi", modes[0]))
	healthyAnswer(t, r, modes[0])
	hasHeader(t, r.header, map[string]string{"x-callgate-attempts": "1", "x-callgate-provider": "well"})
	if got := l.up.asked.Load(); got != asked || asked > int64(n) {
		t.Errorf("got %d and then %d requests at the upstream, want at most %d and no more", asked, got, n)
	}
}

// healthyAnswer checks that the answer is that of well, byte for byte.
func healthyAnswer(t *testing.T, r result, streamed bool) {
	t.Helper()
	clean(t, r)
	want := completion(healthyText)
	if streamed {
		want = role + stream(healthyText)
	}
	if r.status != 200 {
		t.Errorf("got status %d, want 200", r.status)
	}
	equalBytes(t, "answers", withoutComment(r.body), want)
}
