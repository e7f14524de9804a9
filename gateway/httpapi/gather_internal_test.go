package httpapi

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// connected is a client's connection as the server has it, and the client's end.
func connected(t *testing.T) (*connection, net.Conn) {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var d net.Dialer
	far, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := listener{l, stallLimit}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near.(*connection), far // as the listener makes them
}

// TestGather holds that what is written while a connection gathers waits, leaves in its order, and
// is never more than there is room for.
func TestGather(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		size   int   // of which gather is told
		pieces []int // that are written
		waits  int   // of them before the release
	}{
		{"a stream's piece", 8 << 10, []int{4 << 10, 4 << 10, 2}, 8<<10 + 2},
		{"a short one", 100, []int{100}, 0},
		{"a long one", 1 << 20, []int{4 << 10, 1 << 20}, 0},
		{"more than was said", 16 << 10, []int{16 << 10, 16 << 10, 7}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, far := connected(t)
			got := make(chan []byte, 1)
			go func() {
				all, _ := io.ReadAll(far)
				got <- all
			}()
			var want []byte
			c.gather(tt.size)
			for i, n := range tt.pieces {
				piece := bytes.Repeat([]byte{byte('a' + i)}, n)
				want = append(want, piece...)
				if _, err := c.Write(piece); err != nil {
					t.Fatal(err)
				}
			}
			if c.buffered != tt.waits {
				t.Errorf("%d bytes wait, want %d", c.buffered, tt.waits)
			}
			if err := c.release(); err != nil || c.buffer != nil {
				t.Errorf("release: %v, waiting %t", err, c.buffer != nil)
			}
			c.Close()
			if all := <-got; !bytes.Equal(all, want) {
				t.Errorf("%d bytes came, want the %d that were written", len(all), len(want))
			}
		})
	}
}

// TestGatherFails holds that a client that has left is noticed where the piece leaves.
func TestGatherFails(t *testing.T) {
	t.Parallel()
	c, _ := connected(t)
	c.gather(gatherFrom)
	if _, err := c.Write(make([]byte, gatherFrom)); err != nil {
		t.Fatal(err)
	}
	c.Conn.Close()
	if err := c.release(); err == nil {
		t.Error("no error")
	}
}

// TestPieceIsOneWrite holds that net/http's writes of one piece of a stream, chunk's length and line
// end included, all wait for the release: nothing of it leaves before.
func TestPieceIsOneWrite(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	piece := bytes.Repeat([]byte("0123456789abcdef"), 1<<10)
	waited := make(chan int, 1)
	server := httptest.NewUnstartedServer(nil)
	server.Config = s.HTTP()
	server.Listener = s.Listener(server.Listener)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush() // the header
		c := connectionOf(r.Context())
		c.gather(len(piece))
		_, _ = w.Write(piece)
		w.(http.Flusher).Flush()
		waited <- c.buffered
		_ = c.release()
	})
	server.Start()
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(body, piece) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	if n := <-waited; n != len("4000\r\n")+len(piece)+len("\r\n") {
		t.Errorf("%d bytes waited, want the whole chunk", n)
	}
}
