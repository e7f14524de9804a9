package openai_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
)

const (
	chunk = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" token"},"finish_reason":null}]}` + "\n\n"
	end   = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

func mustRequest(t *testing.T, stream bool) *gateway.Request {
	t.Helper()
	req, err := gateway.ParseRequest(fmt.Appendf(nil, `{"model":"m","stream":%v,"messages":[]}`, stream))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// readAll reads a reply to its end and counts its frames.
func readAll(t *testing.T, p *openai.Provider, req *gateway.Request) (frames int, err error) {
	t.Helper()
	reply, err := p.Chat(t.Context(), "m", req)
	if err != nil {
		return 0, err
	}
	defer reply.Close()
	for {
		if _, err := reply.Next(); err == io.EOF {
			return frames, nil
		} else if err != nil {
			return frames, err
		}
		frames++
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	const secret = "sk-canary\n"
	for want, c := range map[string]openai.Config{
		"base_url: \"\" is not":          {},
		"base_url: \"ftp://x\" is not":   {BaseURL: "ftp://x"},
		"base_url: \"/v1\" is not":       {BaseURL: "/v1"},
		"base_url: not a URL":            {BaseURL: "http://u:sk-canary@x:y/"},
		"base_url: it holds credentials": {BaseURL: "http://u:sk-canary@x/v1"},
		"api_key:":                       {BaseURL: "http://x", APIKey: secret},
		"headers: \"X-A\"":               {BaseURL: "http://x", Headers: map[string]string{"X-A": secret}},
		"headers: \"X A\"":               {BaseURL: "http://x", Headers: map[string]string{"X A": "v"}},
		"timeouts.idle: -1s is negative": {BaseURL: "http://x", Timeouts: openai.Timeouts{Idle: -time.Second}},
		"max_response: -1 is negative":   {BaseURL: "http://x", MaxResponse: -1},
	} {
		_, err := openai.New(c)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("got %q, want no secret in it", err)
		}
	}
}

func TestConfiguredHeaders(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r
		w.Header().Set("X-Quoted", "canary-of-the-header")
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{}")
	})
	p := mustNew(t, openai.Config{BaseURL: url + "/deployments/d?api-version=2", Headers: map[string]string{
		"api-key": "canary-of-the-header", "host": "other.example", "x-title": "application/json",
	}})
	req := mustRequest(t, false)
	req.From.Header = http.Header{"X-Title": {"client"}}
	reply, err := p.Chat(t.Context(), "m", req)
	if err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.URL.String() != "/v1/deployments/d/chat/completions?api-version=2" || r.Host != "other.example" {
		t.Errorf("got %s at %s, want the path in front of the query, at other.example", r.URL, r.Host)
	}
	if r.Header.Get("Api-Key") != "canary-of-the-header" || r.Header.Get("X-Title") != "application/json" {
		t.Errorf("got header %v, want the configured ones over the client's", r.Header)
	}
	if h := reply.Header(); h.Get("X-Quoted") != "" || h.Get("Content-Type") == "" {
		t.Errorf("got header %v, want only the one away that quotes a secret", h)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"text/event-stream": chunk + end, "application/json": "{}"} {
		addrs := make(chan string, 5)
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			addrs <- r.RemoteAddr
			w.Header().Set("Content-Type", name)
			io.WriteString(w, body)
			w.(http.Flusher).Flush() // so that the end comes apart
		})
		p := mustNew(t, openai.Config{BaseURL: url})
		for range cap(addrs) {
			if _, err := readAll(t, p, mustRequest(t, true)); err != nil {
				t.Fatal(err)
			}
		}
		first := <-addrs
		for range cap(addrs) - 1 {
			if got := <-addrs; got != first {
				t.Errorf("%s: got a connection from %s, want that from %s again", name, got, first)
			}
		}
	}
}

func TestStreamThatStaysOpenBehindItsEnd(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, chunk+end)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	})
	if n, err := readAll(t, mustNew(t, openai.Config{BaseURL: url}), mustRequest(t, true)); n != 3 || err != nil {
		t.Errorf("got %d frames, %v, want 3", n, err)
	}
	<-left
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(bytes.Repeat([]byte(chunk), 1000))
	z.Close()
	large := `{"x":"` + strings.Repeat("x", 5000) + `"}`
	for _, tt := range []struct{ name, contentType, encoding, body, want string }{
		{"declared", "application/json", "", large, "larger than 4096 bytes"},
		{"whole bomb", "application/json", "gzip", bomb.String(), "larger than 4096 bytes"},
		{"stream bomb", "text/event-stream", "gzip", bomb.String(), "larger than 4096 bytes"},
		{"chunk", "text/event-stream", "", strings.Repeat("x", 17<<20), "a chunk of more than 16777216 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				if tt.encoding != "" {
					w.Header().Set("Content-Encoding", tt.encoding)
				}
				io.WriteString(w, tt.body)
			})
			_, err := readAll(t, mustNew(t, openai.Config{BaseURL: url, MaxResponse: 4096}), mustRequest(t, true))
			if e := gateway.AsError(err); err == nil || e.Kind != gateway.Unavailable || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestBackpressure reads nothing and sees that the upstream cannot go on writing.
func TestBackpressure(t *testing.T) {
	t.Parallel()
	const enough = 64 << 20 // more than the kernel's buffers hold
	wrote := make(chan int, 1)
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		_ = rc.Flush() // the header comes however busy the machine is
		n := 0
		for n < enough {
			rc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			m, err := io.WriteString(w, strings.Repeat(chunk, 100))
			if n += m; err != nil {
				break
			}
		}
		wrote <- n
	})
	reply, err := mustNew(t, openai.Config{BaseURL: url}).Chat(t.Context(), "m", mustRequest(t, true))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	if got := <-wrote; got >= enough {
		t.Errorf("the upstream wrote %d bytes to a reader that did not read", got)
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("got %s, want HTTP/2", r.Proto)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, chunk)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake fails on purpose
	s.StartTLS()
	t.Cleanup(s.Close)

	patient := openai.Timeouts{Connect: time.Minute} // the machine may be busy
	_, err := readAll(t, mustNew(t, openai.Config{BaseURL: s.URL, Timeouts: patient}), mustRequest(t, true))
	if e := gateway.AsError(err); err == nil || e.Kind != gateway.Unavailable || !strings.Contains(e.Message, "certificate") {
		t.Errorf("got %v, want that the certificate is not accepted", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	reply, err := mustNew(t, openai.Config{BaseURL: s.URL, Transport: s.Client().Transport}).Chat(ctx, "m", mustRequest(t, true))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	if f, err := reply.Next(); err != nil || string(f.Raw) != chunk {
		t.Errorf("got %q, %v, want %q", f.Raw, err, chunk)
	}
	cancel()
	<-left
	if _, err := reply.Next(); err == nil || gateway.AsError(err).Kind != gateway.Canceled {
		t.Errorf("got %v, want Kind Canceled", err)
	}
}

func TestCauseOfTheCaller(t *testing.T) {
	t.Parallel()
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	own, cancel := context.WithCancelCause(t.Context())
	cancel(&gateway.Error{Kind: gateway.Overloaded})
	late, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	for ctx, want := range map[context.Context]gateway.Kind{own: gateway.Overloaded, late: gateway.Timeout} {
		_, err := mustNew(t, openai.Config{BaseURL: url}).Chat(ctx, "m", mustRequest(t, false))
		if err == nil || gateway.AsError(err).Kind != want {
			t.Errorf("got %v, want Kind %d", err, want)
		}
	}
}

// TestSeveralChoices holds that a stream without its end marker is complete when all choices are that were asked for or have begun: each has a finish
// reason of its own.
func TestSeveralChoices(t *testing.T) {
	t.Parallel()
	chunk := func(index int, finish string) string {
		return fmt.Sprintf(`data: {"object":"chat.completion.chunk","choices":[{"index":%d,"delta":{"content":"x"},"finish_reason":%s}]}`+"\n\n", index, finish)
	}
	const later = `data: {"choices":[{"index":0,"delta":{},"finish_reason":null}]}` + "\n\n"
	for _, tt := range []struct {
		name, stream string
		cut          bool
		n            string // what the client asks for
	}{
		{name: "two asked for, and the second never begins", stream: chunk(0, `"stop"`), cut: true, n: "2"},
		{name: "two asked for, and the second never begins, but it is the end", stream: chunk(0, `"stop"`) + "data: [DONE]\n\n", n: "2"},
		{name: "two asked for, one behind the other", stream: chunk(0, `"stop"`) + chunk(1, `"stop"`), n: "2"},
		{name: "an odd number", stream: chunk(0, `"stop"`), n: `"two"`},
		{name: "one of two", stream: chunk(0, "null") + chunk(1, "null") + chunk(0, `"stop"`), cut: true},
		{name: "one behind the other, cut", stream: chunk(0, "null") + chunk(0, `"stop"`) + chunk(1, "null"), cut: true},
		{name: "one behind the other", stream: chunk(0, "null") + chunk(0, `"stop"`) + chunk(1, "null") + chunk(1, `"length"`)},
		{name: "something behind the finish reason", stream: chunk(0, "null") + chunk(0, `"stop"`) + later},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, tt.stream)
		})
		p, err := openai.New(openai.Config{BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`
		if tt.n != "" {
			body = strings.Replace(body, "{", `{"n":`+tt.n+`,`, 1)
		}
		req, err := gateway.ParseRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		_, err = readAll(t, p, req)
		if cut := err != nil && gateway.AsError(err).Code == "upstream_cut"; cut != tt.cut || err != nil && !cut {
			t.Errorf("%s: got %v, want cut %v", tt.name, err, tt.cut)
		}
	}
}

// TestNoEndBehindFinish holds that a server which forgets both the end marker and to close its connection
// has given a complete answer all the same.
func TestNoEndBehindFinish(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(left)
	})
	p, err := openai.New(openai.Config{BaseURL: url, Timeouts: openai.Timeouts{Idle: 20 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	if frames, err := readAll(t, p, mustRequest(t, true)); frames != 1 || err != nil {
		t.Errorf("got %d frames and %v, want the answer", frames, err)
	}
	<-left
}

// TestBaseURLWithoutPath is that a 404 below a base URL without a path names the likely mistake,
// and one below a path does not.
func TestBaseURLWithoutPath(t *testing.T) {
	t.Parallel()
	url := strings.TrimSuffix(serve(t, http.NotFound), "/v1")
	for base, want := range map[string]bool{url: true, url + "/": true, url + "/v1": false} {
		p, err := openai.New(openai.Config{Name: "p", BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		_, err = readAll(t, p, mustRequest(t, false))
		if got := err != nil && strings.Contains(err.Error(), "nearly every one ends in /v1"); err == nil || got != want {
			t.Errorf("%s: got %v, want the hint %v", base, err, want)
		}
	}
}
