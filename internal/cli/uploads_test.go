package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestUploadsInFlight has clients whose uploads do not end: those for which there is no room are
// refused, also in memory, and the room is free again when a client has left.
func TestUploadsInFlight(t *testing.T) {
	t.Parallel()
	base := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, `{"id":"file-1"}`)
	})
	for name, limits := range map[string]string{"files": "{upload: 8MiB, uploads: 16MiB, memory: 1GiB}", "memory": "{upload: 8MiB, memory: 16MiB}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, relays(base, "passthrough: {/v1/files: up}\nadmin: {listen: \"127.0.0.1:0\"}\nlimits: "+limits+"\n"))
			const size = 7 * mebi
			const clients = 12
			var open []net.Conn
			refused := make(chan string, clients)
			for range clients {
				c := g.dial(t)
				open = append(open, c)
				go func() {
					fmt.Fprintf(c, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", size)
					io.WriteString(c, strings.Repeat("x", size-1)) // one byte is missing
				}()
				go func() {
					if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
						text, _ := io.ReadAll(resp.Body)
						resp.Body.Close()
						refused <- fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("retry-after"), " ", string(text))
					}
				}()
			}
			select {
			case got := <-refused:
				if !strings.HasPrefix(got, "503 1 ") || !strings.Contains(got, "limits.uploads") {
					t.Errorf("got %s, want a refusal that names the limit", got)
				}
			case <-time.After(patience):
				t.Errorf("none of %d uploads is refused", clients)
			}
			for _, c := range open {
				c.Close()
			}
			await(t, "there is room again", func() bool {
				return g.do(g.request("POST", "/v1/files", strings.Repeat("x", size))).status == http.StatusOK
			})
			g.nothingClaimed(t)
		})
	}
}
