package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// received is a request as the upstream got it.
type received struct {
	*http.Request
	body string
}

// upstream serves requests by h until the test ends. It returns a base URL. A
// handler must end when its request's context does.
func upstream(t *testing.T, h func(w http.ResponseWriter, r received)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h(w, received{r, string(body)})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// static answers every request with the same.
func static(t *testing.T, status int, contentType, body string, header ...string) string {
	t.Helper()
	return upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", contentType)
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

// send writes pieces of a stream, each at once.
func send(w http.ResponseWriter, pieces ...string) {
	for _, p := range pieces {
		io.WriteString(w, p)
		w.(http.Flusher).Flush()
	}
}

// raw serves connections by a script: it is run when a request has been read, and
// the connection is closed behind it.
func raw(t *testing.T, script func(c *net.TCPConn, request []byte)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				var request bytes.Buffer
				r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &request)))
				if err == nil {
					io.Copy(io.Discard, r.Body)
					script(c.(*net.TCPConn), request.Bytes())
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return fmt.Sprintf("http://%s/v1", l.Addr())
}

// down is the address of an upstream that is not there. A port of our own, closed
// again, another test could be given; nobody listens on this one.
func down(t *testing.T) string {
	t.Helper()
	return "http://127.0.0.1:1/v1"
}

// completion is a whole answer with a text.
func completion(text string) string {
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}]}`, text)
}

// delta is a block of a stream with a text.
func delta(text string) string {
	return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", text)
}

const (
	finish = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"up\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	done   = "data: [DONE]\n\n"
)

// stream is a whole stream with a text, in pieces of six bytes.
func stream(text string) string {
	s := ""
	for _, piece := range pieces(text, 6) {
		s += delta(piece)
	}
	return s + finish + done
}

// pieces cuts ASCII text into pieces of n bytes.
func pieces(s string, n int) []string {
	var out []string
	for s != "" {
		k := min(n, len(s))
		out, s = append(out, s[:k]), s[k:]
	}
	return out
}

// wantsStream says whether the client wants a stream.
func (r received) wantsStream() bool { return bytes.Contains([]byte(r.body), []byte(`"stream":true`)) }
