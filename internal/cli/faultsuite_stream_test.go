package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// streamFiles are the streams of testdata/faults/whole by name, and one that would be
// too large for a file.
func streamFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/faults/whole/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("got files %q and error %v, want some", files, err)
	}
	out := map[string]string{"10_MB_line": delta("Hello") + delta(strings.Repeat("0123456789", 1<<20)) + finish + done}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".sse")] = string(text)
	}
	return out
}

// ways are the ways in which a stream comes over the network.
var ways = map[string]func(t *testing.T, text string) *site{
	"at_once": func(t *testing.T, text string) *site { return says(t, head(events, "Connection: close")+text) },
	"chunked": func(t *testing.T, text string) *site {
		return newSite(t, func(w http.ResponseWriter, _ received) {
			w.Header().Set("content-type", events)
			send(w, pieces(text, max(7, len(text)/1000))...)
		})
	},
	"in_single_bytes": func(t *testing.T, text string) *site {
		return overNetwork(t, says(t, head(events)+text), byteByByte)
	},
}

// TestFaultSuiteOddStreams has streams that are odd but good, in every way that they
// may come: each byte reaches the client, whether text is read or not.
func TestFaultSuiteOddStreams(t *testing.T) {
	t.Parallel()
	var s setup
	files := streamFiles(t)
	type row struct{ file, way, parser, name string }
	var rows []row
	for file := range files {
		for way, site := range ways {
			if way == "in_single_bytes" && len(files[file]) > 1<<20 {
				continue // a byte a packet takes too long
			}
			url := site(t, files[file]).url
			for _, parser := range []string{"none", "auto"} {
				name := fmt.Sprintf("up%d", len(rows))
				rows = append(rows, row{file, way, parser, name})
				s.provider(name, url, "parser: "+parser)
			}
		}
	}
	g := serve(t, s.String())
	for _, r := range rows {
		t.Run(strings.Join([]string{r.file, r.way, r.parser}, "/"), func(t *testing.T) {
			t.Parallel()
			got := g.chat(prompt(r.name+"/m", "hi", true))
			clean(t, got)
			equalBytes(t, "streams", got.body, files[r.file])
			if b := g.breaker(r.name); b.Totals.Failures != 0 || b.Totals.Successes != 1 {
				t.Errorf("got breaker %+v, want one success", b)
			}
		})
	}
}

// TestFaultSuiteCutAnywhere cuts a stream at each of its bytes. Before the first byte
// of text another target answers and nothing of the first is seen; behind it the
// client gets what came and an error, and never an end marker that the upstream did
// not send, unless the model had finished.
func TestFaultSuiteCutAnywhere(t *testing.T) {
	t.Parallel()
	const text = "Hello"
	whole := role + delta(text) + finish + done
	useful := len(role + delta(text))
	finished := useful + len(finish)
	cutAt := func(r *http.Request) string {
		var n int
		fmt.Sscan(r.Header.Get("x-cut"), &n)
		return whole[:n]
	}
	for _, end := range []struct {
		name string
		site *site
		// spare is how much of the end of an event may be missing: a stream that ends as
		// it should may lack its last line ends, one that breaks off may not.
		spare int
	}{
		{"ends", newSite(t, func(w http.ResponseWriter, r received) {
			w.Header().Set("content-type", events)
			io.WriteString(w, cutAt(r.Request))
		}), len("\n\n")},
		{"breaks off", newSite(t, func(w http.ResponseWriter, r received) {
			w.Header().Set("content-type", events)
			send(w, cutAt(r.Request))
			panic(http.ErrAbortHandler)
		}), 0},
	} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			var s setup
			s.provider("up", end.site.url, "forward_headers: [x-cut], circuit_breaker: {failure_threshold: 1000}")
			s.provider("well", well(t).url, "")
			s.model("two", "up", "well")
			g := serve(t, s.String())
			for n := range len(whole) {
				r := g.chat(prompt("two", "hi", true), "x-cut", fmt.Sprint(n))
				clean(t, r)
				attempts := r.header.Get("x-callgate-attempts")
				switch events := data(r.body); {
				case n < useful-end.spare:
					healthyAnswer(t, r, true)
					hasHeader(t, r.header, map[string]string{"x-callgate-attempts": "2"})
				case n < finished-end.spare:
					last := events[len(events)-1]
					if e := errorOf(t, last); e.code != "upstream_cut" || attempts != "1" {
						t.Errorf("cut at %d: got %q after %s attempts, want an error upstream_cut after one", n, last, attempts)
					}
					equalBytes(t, "streams", r.body[:min(useful, len(r.body))], whole[:useful])
				default:
					equalBytes(t, fmt.Sprintf("streams cut at %d", n), withoutComment(r.body), whole)
				}
				if t.Failed() {
					t.Fatalf("cut at %d of %d", n, len(whole))
				}
			}
		})
	}
}

// TestFaultSuiteBehindTheFirstText has upstreams fail when the client has text: it gets
// an error as an event, no end marker, and no second upstream is asked. Five of them
// open the breaker, though every one began with status 200.
func TestFaultSuiteBehindTheFirstText(t *testing.T) {
	t.Parallel()
	begun := head(events) + role + delta("Hello")
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	const inBand = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"overloaded_error\",\"code\":529}}\n\n"
	rows := []struct {
		name, how, keys string
		up              *site
		code, reason    string // of the error, and what the breaker says
	}{
		{"end", "no finish reason and no end marker", "", says(t, begun), "upstream_cut", "upstream_cut"},
		{"reset", "a reset behind the text", "", resets(t, begun), "upstream_cut", "upstream_cut"},
		{"reset in an event", "a reset in the middle of an event", "", resets(t, begun+delta("more")[:50]), "upstream_cut", "upstream_cut"},
		{"half a rune", "the end in the middle of a letter", "", says(t, begun+delta("é")[:strings.Index(delta("é"), "é")+1]), "upstream_cut", "upstream_cut"},
		{"cut by the network", "the end after 600 bytes", "", overNetwork(t, says(t, begun+strings.Repeat(delta("more"), 10)), after(600)), "upstream_cut", "upstream_cut"},
		{"bad chunk", "a chunk's length that is no number", "", says(t, head(events, "Transfer-Encoding: chunked")+chunk(role+delta("Hello"))+"zz\r\n"), "upstream_cut", "upstream_cut"},
		{"too short a length", "a length that ends in the stream", "", says(t, head(events, "Connection: close", fmt.Sprintf("Content-Length: %d", len(role+delta("Hello"))+5))+role+delta("Hello")+finish+done), "upstream_cut", "upstream_cut"},
		{"cut gzip", "half of a compressed stream", "", says(t, head(events, "Content-Encoding: gzip")+zip(role + delta("Hello"))[:len(zip(role+delta("Hello")))-8]), "upstream_cut", "upstream_cut"},
		{"silence", "nothing more", "timeouts: {idle: 200ms}", holds(t, begun), "upstream_timeout", "upstream_timeout"},
		{"no end", "text for ever", "timeouts: {total: 5s}", newSite(t, func(w http.ResponseWriter, r received) {
			w.Header().Set("content-type", events)
			send(w, role, delta("Hello"))
			for range pace(r.Context()) {
				send(w, delta("more"))
			}
		}), "upstream_timeout", "upstream_timeout"},
		{"long line", "an event that does not end", "", repeats(t, begun+"data: ", strings.Repeat("x", 1<<16)), "upstream_error", "upstream_error"},
		{"error", "an error in the stream, and the end", "", says(t, begun+inBand), "", "upstream_overloaded"},
		{"error and more", "an error in the stream, then text and the end marker", "", says(t, begun+inBand+delta("x")+finish+done), "", "upstream_overloaded"},
	}
	var s setup
	other := well(t)
	s.provider("well", other.url, "")
	for i, r := range rows {
		s.provider(fmt.Sprintf("up%d", i), r.up.url, r.keys)
		s.model(fmt.Sprintf("m%d", i), fmt.Sprintf("up%d", i), "well")
	}
	g := serve(t, s.String())
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			t.Log(row.how)
			name := fmt.Sprintf("up%d", i)
			results := make([]result, 5)
			var all sync.WaitGroup
			for n := range results { // at once, since each may wait for a timer
				all.Go(func() { results[n] = g.chat(prompt(fmt.Sprintf("m%d", i), "hi", true)) })
			}
			all.Wait()
			for _, r := range results {
				clean(t, r)
				hasHeader(t, r.header, map[string]string{"x-callgate-attempts": "1", "x-callgate-provider": name})
				if !strings.HasPrefix(r.body, role+delta("Hello")) || strings.Contains(r.body, "[DONE]") {
					t.Errorf("got %q, want what came and no end marker", cut(r.body, 0, 1000))
				}
				all := data(r.body)
				if last := all[len(all)-1]; row.code == "" {
					equalBytes(t, "the upstream's own errors", "data: "+last+"\n\n", inBand)
				} else if e := errorOf(t, last); e.code != row.code {
					t.Errorf("got error %+v, want code %q", e, row.code)
				}
			}
			b := g.awaitBreaker(name, "open", func(b breaker.Snapshot) bool { return b.State == "open" })
			if last := b.History[len(b.History)-1]; last.Reason != row.reason || b.Totals.Failures != 5 {
				t.Errorf("got breaker %+v, want it open after 5 failures because of %q", b, row.reason)
			}
		})
	}
	t.Cleanup(func() {
		if n := other.asked.Load(); n != 0 {
			t.Errorf("got %d requests at the second target, want none behind the first text", n)
		}
	})
}

// TestFaultSuiteHTTPThatIsOdd has answers whose HTTP is odd but says clearly what it is.
func TestFaultSuiteHTTPThatIsOdd(t *testing.T) {
	t.Parallel()
	body, text := role+stream("Hello"), completion("Hello")
	hints := strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 5)
	rows := []struct {
		name   string
		up     *site
		stream bool
	}{
		{"hints before the answer", says(t, hints+head(mimeJSON)+text), false},
		{"continue before the answer", says(t, "HTTP/1.1 100 Continue\r\n\r\n"+head(events)+body), true},
		{"two content types", says(t, head(mimeJSON, "Content-Type: text/html")+text), false},
		{"two equal lengths", says(t, head(mimeJSON, fmt.Sprintf("Content-Length: %d\r\nContent-Length: %[1]d", len(text)))+text), false},
		{"HTTP/1.0", says(t, strings.Replace(head(events), "HTTP/1.1", "HTTP/1.0", 1)+body), true},
		{"no reason", says(t, strings.Replace(head(mimeJSON), "200 OK", "200", 1)+text), false},
		{"bare line feeds", says(t, strings.ReplaceAll(head(mimeJSON), "\r\n", "\n")+text), false},
		{"gzip", says(t, head(events, "Content-Encoding: gzip")+zip(body)), true},
		{"gzip in members", says(t, head(mimeJSON, "Content-Encoding: X-GZIP")+zip(text[:20])+zip(text[20:])), false},
		{"a stream that nobody asked for as one", says(t, head(mimeJSON)+text), false},
		{"slow close", overNetwork(t, says(t, head(events)+body), slowClose), true},
		{"latency", overNetwork(t, says(t, head(events)+body), latency), true},
		{"narrow", overNetwork(t, says(t, head(events)+body), narrowBand), true},
	}
	var s setup
	for i, r := range rows {
		s.provider(fmt.Sprintf("up%d", i), r.up.url, "")
	}
	g := serve(t, s.String())
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := g.chat(prompt(fmt.Sprintf("up%d/m", i), "hi", row.stream))
			clean(t, r)
			want := text
			if row.stream {
				want = body
			}
			equalBytes(t, "answers", r.body, want)
		})
	}
}

// TestFaultSuitePoisonedConnection has an upstream send a second answer behind the
// first, on a connection that it keeps open. The gateway closes the connection, and
// what came unasked is nobody's answer and does not come to the log.
func TestFaultSuitePoisonedConnection(t *testing.T) {
	t.Parallel()
	const poison = "poison-canary"
	whole := func(text string) string {
		return head(mimeJSON, fmt.Sprintf("Content-Length: %d", len(completion(text)))) + completion(text)
	}
	closed := make(chan bool, 1)
	var s setup
	s.provider("up", serveConns(t, func(c *net.TCPConn, next func() bool) {
		if next() {
			io.WriteString(c, whole("good")+whole(poison))
			closed <- !next()
		}
	}), "")
	g, _ := spawn(t, s.String())
	for range 50 {
		r := g.chat(prompt("up/m", "hi", false))
		clean(t, r)
		equalBytes(t, "answers", r.body, completion("good"))
		// A request that left in the moment before net/http looks at the connection again
		// would have it, so the next one waits.
		select {
		case ok := <-closed:
			if !ok {
				t.Error("got another request on the connection, want it closed")
			}
		case <-time.After(patience):
			t.Fatal("got a connection that stays open, want it closed")
		}
	}
	if strings.Contains(g.stderr.String(), poison) {
		t.Errorf("got the upstream's bytes on standard error:\n%s", cut(g.stderr.String(), 0, 500))
	}
}
