package cli

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
