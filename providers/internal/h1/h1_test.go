//go:build unix

package h1_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/providers/internal/h1"
)

// site is a server whose connections are handled by the test, which counts them.
type site struct {
	url   *url.URL
	conns atomic.Int64
}

func newSite(t testing.TB, handle func(c *net.TCPConn, r *bufio.Reader)) *site {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, done := &site{url: &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/v1/chat"}}, make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			go func() {
				defer c.Close()
				handle(c.(*net.TCPConn), bufio.NewReader(c))
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return s
}

// answers has a server give the same answer to each request, and leave the connection open or not.
func answers(text string, open bool) func(c *net.TCPConn, r *bufio.Reader) {
	return func(c *net.TCPConn, r *bufio.Reader) {
		for takes(r) != nil {
			if _, err := io.WriteString(c, text); err != nil || !open {
				return
			}
		}
	}
}

// takes reads a request to its end, nil if there is none.
func takes(r *bufio.Reader) *http.Request {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil
	}
	return req
}

func (s *site) transport(t testing.TB, change ...func(o *h1.Options)) *h1.Transport {
	var d net.Dialer
	o := h1.Options{
		Dial:    func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", s.url.Host) },
		MaxIdle: 4, IdleTime: time.Hour, MaxHeader: 4 << 10, ReadBuffer: 4 << 10,
	}
	for _, f := range change {
		f(&o)
	}
	tr := h1.New(o)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func (s *site) request(body string) *h1.Request {
	return &h1.Request{Method: http.MethodPost, URL: s.url, Host: s.url.Host, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
}

// got is what became of a request.
type got struct {
	status       int
	header       string
	body         string
	failed, late bool // without an answer, in its body
}

func ask(ctx context.Context, do func(context.Context) (*http.Response, error)) (g got, err error) {
	resp, err := do(ctx)
	if err != nil {
		return got{failed: true}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	var header strings.Builder
	_ = resp.Header.Write(&header)
	return got{resp.StatusCode, header.String(), string(body), false, err != nil}, err
}

// both asks a site through this transport and through net/http's.
func both(t *testing.T, s *site) (ours, theirs got) {
	t.Helper()
	tr := s.transport(t)
	std := &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: 4 << 10}
	defer std.CloseIdleConnections()
	ours, err := ask(t.Context(), func(ctx context.Context) (*http.Response, error) { return tr.Do(ctx, s.request("{}")) })
	theirs, other := ask(t.Context(), func(ctx context.Context) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		return std.RoundTrip(req)
	})
	t.Logf("ours: %v; net/http's: %v", err, other)
	return ours, theirs
}

// raw are answers of servers as there are, good and bad.
var raw = map[string]string{ //nolint:gochecknoglobals // cases
	"length":             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	"chunks":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n1;ext=1\r\n \r\n0\r\n\r\n",
	"trailer":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n2\r\n{}\r\n0\r\nX-A: 1\r\n\r\n",
	"until the end":      "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc",
	"HTTP/1.0":           "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nabc",
	"line ends alone":    "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
	"nothing":            "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n",
	"no length, 304":     "HTTP/1.1 304 Not Modified\r\n\r\n",
	"error":              "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno",
	"interim":            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	"many interim":       strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 9) + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	"two lengths":        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
	"length and chunks":  "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	"cut body":           "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}",
	"cut chunk":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{}",
	"bad chunk":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
	"cut header":         "HTTP/1.1 200 OK\r\nContent-Le",
	"no HTTP":            "SSH-2.0-OpenSSH_9.2\r\n",
	"nothing at all":     "",
	"long header":        "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 8<<10) + "\r\nContent-Length: 2\r\n\r\n{}",
	"bad header":         "HTTP/1.1 200 OK\r\nX A: 1\r\nContent-Length: 2\r\n\r\n{}",
	"folded header":      "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\n{}",
	"bad length":         "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
	"two answers":        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
	"odd transfer":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
	"several of a name":  "HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\n{}",
	"unknown status":     "HTTP/1.1 299 Fine\r\nContent-Length: 2\r\n\r\n{}",
	"status of no digit": "HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\n{}",
}

// TestLikeLibrary holds that answers are read as net/http's own transport reads them.
func TestLikeLibrary(t *testing.T) {
	t.Parallel()
	for name, text := range raw {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if ours, theirs := both(t, newSite(t, answers(text, false))); ours != theirs {
				t.Errorf("got %+v, net/http's has %+v", ours, theirs)
			}
		})
	}
}

// TestMessage holds that a server of net/http's gets what it would get from net/http's transport.
func TestMessage(t *testing.T) {
	t.Parallel()
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var header strings.Builder
		_ = r.Header.Write(&header)
		seen = append(seen, fmt.Sprintln(r.Method, r.RequestURI, r.Host, r.ContentLength, r.TransferEncoding, header.String(), string(body)))
	}))
	defer server.Close()
	u, err := url.Parse(server.URL + "/v1/a%2Fb?x=1&y=%20")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{url: u}
	header := http.Header{"Content-Type": {"application/json"}, "X-A": {"1", "2"}, "User-Agent": {"callgate"}, "idempotency-key": {"k"}}
	for _, body := range []string{"{}", strings.Repeat("x", h1.MaxBody)} {
		r := s.request(body)
		r.Host, r.Header = "named.example", header
		if _, err := ask(t.Context(), func(ctx context.Context) (*http.Response, error) { return s.transport(t).Do(ctx, r) }); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.String(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Header = "named.example", header.Clone()
		std := &http.Transport{DisableCompression: true}
		defer std.CloseIdleConnections()
		if _, err := ask(t.Context(), func(context.Context) (*http.Response, error) { return std.RoundTrip(req) }); err != nil {
			t.Fatal(err)
		}
		if n := len(seen); seen[n-2] != seen[n-1] {
			t.Errorf("got %.300q, net/http's transport sends %.300q", seen[n-2], seen[n-1])
		}
	}
}

// TestRefused holds what is never sent.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, answers(raw["length"], true))
	tr := s.transport(t)
	for name, change := range map[string]func(r *h1.Request){
		"line end in a value": func(r *h1.Request) { r.Header = http.Header{"X-A": {"a\r\nX-B: b"}} },
		"line end in a name":  func(r *h1.Request) { r.Header = http.Header{"X-A: a\r\nX-B": {"b"}} },
		"space in the host":   func(r *h1.Request) { r.Host = "a b\r\nX: y" },
		"too long a body":     func(r *h1.Request) { r.Body = make([]byte, h1.MaxBody+1) },
	} {
		r := s.request("{}")
		change(r)
		if resp, err := tr.Do(t.Context(), r); err == nil {
			resp.Body.Close()
			t.Errorf("%s: was sent", name)
		}
	}
	if g, err := ask(t.Context(), func(ctx context.Context) (*http.Response, error) { return tr.Do(ctx, s.request("{}")) }); err != nil || g.body != "{}" {
		t.Errorf("got %+v, %v behind them", g, err)
	}
}

// TestKept holds which connections serve a further request.
func TestKept(t *testing.T) {
	t.Parallel()
	const requests = 5
	for _, tt := range []struct {
		name, answer string
		conns        int64
	}{
		{"length", raw["length"], 1},
		{"chunks", raw["chunks"], 1},
		{"nothing", raw["nothing"], 1},
		{"an error", raw["error"], 1},
		{"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", requests},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", requests},
		{"more than was asked for", raw["two answers"], requests},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, answers(tt.answer, true))
			tr := s.transport(t)
			for range requests {
				if g, err := ask(t.Context(), func(ctx context.Context) (*http.Response, error) { return tr.Do(ctx, s.request("{}")) }); err != nil || g.body == "[]" {
					t.Fatalf("got %+v, %v", g, err)
				}
			}
			if n := s.conns.Load(); n != tt.conns {
				t.Errorf("got %d connections for %d requests, want %d", n, requests, tt.conns)
			}
		})
	}
}

// TestAtOnce holds that requests at the same time have connections of their own, of which no more are kept
// than may be.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	const clients = 12
	came, leave := make(chan struct{}, clients), make(chan struct{})
	ended := make(chan struct{}, clients)
	s := newSite(t, func(c *net.TCPConn, r *bufio.Reader) {
		defer func() { ended <- struct{}{} }()
		for takes(r) != nil {
			came <- struct{}{}
			<-leave
			io.WriteString(c, raw["length"])
		}
	})
	tr := s.transport(t)
	results := make(chan error, clients)
	for range clients {
		go func() {
			g, err := ask(t.Context(), func(ctx context.Context) (*http.Response, error) { return tr.Do(ctx, s.request("{}")) })
			if err == nil && g.body != "{}" {
				err = fmt.Errorf("got %+v", g)
			}
			results <- err
		}()
	}
	for range clients {
		<-came
	}
	close(leave)
	for range clients {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	for range clients - 4 { // those that are not kept
		<-ended
	}
	tr.CloseIdleConnections()
	for range 4 {
		<-ended
	}
}

// TestIdle holds that a connection ends that nobody has used for some time.
func TestIdle(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := newSite(t, func(c *net.TCPConn, r *bufio.Reader) {
		defer close(ended)
		answers(raw["length"], true)(c, r)
	})
	tr := s.transport(t, func(o *h1.Options) { o.IdleTime = time.Millisecond })
	if _, err := ask(t.Context(), func(ctx context.Context) (*http.Response, error) { return tr.Do(ctx, s.request("{}")) }); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// TestCanceled holds that the end of a request's context ends its connection, wherever it is.
func TestCanceled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, sent string
		answered   bool
	}{
		{"before the answer", "", false},
		{"within its header", "HTTP/1.1 200 OK\r\nContent-", false},
		{"within its body", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			came, ended := make(chan struct{}), make(chan struct{})
			s := newSite(t, func(c *net.TCPConn, r *bufio.Reader) {
				defer close(ended)
				takes(r)
				io.WriteString(c, tt.sent)
				close(came)
				_, _ = io.Copy(io.Discard, r)
			})
			tr := s.transport(t)
			ctx, cancel := context.WithCancel(t.Context())
			if !tt.answered {
				go func() { <-came; cancel() }()
			}
			resp, err := tr.Do(ctx, s.request("{}"))
			cancel()
			if tt.answered != (err == nil) {
				t.Fatalf("got the error %v", err)
			}
			if err == nil {
				if _, err = io.ReadAll(resp.Body); err == nil {
					t.Error("a body that did not come to its end has no error")
				}
				resp.Body.Close()
			}
			<-ended
		})
	}
}

// TestClosedEarly holds that a body which is not read to its end ends the connection, also where it is
// closed while somebody reads, and gives nothing afterwards.
func TestClosedEarly(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := newSite(t, func(c *net.TCPConn, r *bufio.Reader) {
		defer close(ended)
		takes(r)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")
		_, _ = io.Copy(io.Discard, r)
	})
	resp, err := s.transport(t).Do(t.Context(), s.request("{}"))
	if err != nil {
		t.Fatal(err)
	}
	var first [2]byte
	if _, err := io.ReadFull(resp.Body, first[:]); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		_, err := resp.Body.Read(first[:])
		read <- err
	}()
	resp.Body.Close()
	if err := <-read; err == nil || err == io.EOF {
		t.Errorf("a read in a body that was closed: %v", err)
	}
	<-ended
}

// TestDeadConnection holds that a kept connection which the server has closed is not taken.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 1)
	s := newSite(t, func(c *net.TCPConn, r *bufio.Reader) {
		takes(r)
		io.WriteString(c, raw["length"])
		c.Close()
		closed <- struct{}{}
	})
	tr := s.transport(t)
	for range 20 {
		g, err := ask(t.Context(), func(ctx context.Context) (*http.Response, error) { return tr.Do(ctx, s.request("{}")) })
		if err != nil || g.body != "{}" {
			t.Fatalf("got %+v, %v", g, err)
		}
		<-closed
	}
}

// TestNoServer holds that an error of the dialer comes as it is.
func TestNoServer(t *testing.T) {
	t.Parallel()
	want := errors.New("no way")
	s := &site{url: &url.URL{Scheme: "http", Host: "example"}}
	tr := s.transport(t, func(o *h1.Options) { o.Dial = func(context.Context) (net.Conn, error) { return nil, want } })
	if resp, err := tr.Do(t.Context(), s.request("{}")); !errors.Is(err, want) {
		if err == nil {
			resp.Body.Close()
		}
		t.Errorf("got %v", err)
	}
}

// FuzzAnswer reads what a fuzzer writes as an answer, and compares with net/http's transport.
func FuzzAnswer(f *testing.F) {
	for _, text := range raw {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "HTTP/1.1 101") || strings.Contains(text, "HTTP/1.0 101") {
			t.Skip("what switches protocols is nothing for a gateway")
		}
		if ours, theirs := both(t, newSite(t, answers(text, false))); ours != theirs {
			t.Errorf("got %+v, net/http's has %+v", ours, theirs)
		}
	})
}

// BenchmarkDo is a request over a kept connection, beside net/http's transport.
func BenchmarkDo(b *testing.B) {
	s := newSite(b, answers(raw["length"], true))
	tr, std := s.transport(b), &http.Transport{DisableCompression: true}
	defer std.CloseIdleConnections()
	for name, do := range map[string]func(context.Context) (*http.Response, error){
		"ours": func(ctx context.Context) (*http.Response, error) { return tr.Do(ctx, s.request("{}")) },
		"net/http": func(ctx context.Context) (*http.Response, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), strings.NewReader("{}"))
			if err != nil {
				return nil, err
			}
			return std.RoundTrip(req)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if g, err := ask(b.Context(), do); err != nil || g.body != "{}" {
					b.Fatal(g, err)
				}
			}
		})
	}
}
