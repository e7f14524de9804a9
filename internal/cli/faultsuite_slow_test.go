package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestFaultSuiteSlowReader has a client that reads nothing of an answer without end.
// What the gateway takes from the upstream stays bounded, and when the client leaves
// the upstream is told.
func TestFaultSuiteSlowReader(t *testing.T) {
	t.Parallel()
	for _, parser := range []string{"none", "auto"} {
		t.Run(parser, func(t *testing.T) {
			t.Parallel()
			var written atomic.Int64
			ended := make(chan struct{})
			block := delta(strings.Repeat("0123456789", 1000))
			up := newSite(t, func(w http.ResponseWriter, r received) {
				defer close(ended)
				w.Header().Set("content-type", events)
				for r.Context().Err() == nil {
					n, err := io.WriteString(w, block)
					if err != nil {
						return
					}
					written.Add(int64(n))
				}
			})
			var s setup
			s.provider("up", up.url, "timeouts: {idle: 100ms}, parser: "+parser) // the client is slow, not the upstream
			g := serve(t, s.String())
			c := g.dial(t)
			c.SetReadBuffer(4 << 10)
			body := prompt("up/m", "hi", true)
			fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			last, since := int64(-1), time.Now()
			await(t, "a pause of the upstream", func() bool {
				if n := written.Load(); n != last {
					last, since = n, time.Now()
				}
				return last > 0 && time.Since(since) > 500*time.Millisecond
			})
			const most = 32 << 20 // the buffers of four sockets hold most of it: up to 6 MiB and 4 MiB each
			if last > most {
				t.Errorf("got %d bytes taken from the upstream, want at most %d", last, most)
			}
			t.Logf("the upstream could write %d bytes", last)
			if r := g.get("/livez"); r.status != 200 {
				t.Errorf("got status %d from /livez meanwhile, want 200", r.status)
			}
			c.SetLinger(0)
			c.Close()
			select {
			case <-ended:
			case <-time.After(patience):
				t.Error("the upstream never saw that the client had left")
			}
		})
	}
}

// TestFaultSuiteSlowloris opens many connections that send a header, or a body, in drops
// and never to its end. Other clients do not notice, and headers have ten seconds.
func TestFaultSuiteSlowloris(t *testing.T) {
	t.Parallel()
	up := well(t)
	var s setup
	s.provider("up", up.url, "")
	g := serve(t, s.String())
	const slow = 200
	var conns []*net.TCPConn
	for i := range slow {
		c := g.dial(t)
		if i%2 == 0 {
			io.WriteString(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-A: ")
			conns = append(conns, c)
		} else {
			io.WriteString(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"model\":")
		}
	}
	for i := range 20 {
		healthyAnswer(t, g.chat(prompt("up/m", "hi", i%2 == 0)), i%2 == 0)
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() { // drops, which must not buy more time
		for {
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
				for _, c := range conns {
					io.WriteString(c, "a")
				}
			}
		}
	}()
	for _, c := range conns {
		answer, err := io.ReadAll(c) // ends when the gateway closes
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			t.Fatalf("got a connection that is open after %v with half a header, want it closed after 10s", patience)
		}
		if strings.Contains(string(answer), "200 OK") {
			t.Errorf("got %q, want no answer to half a header", answer)
		}
	}
	if n := up.asked.Load(); n != 20 {
		t.Errorf("got %d requests at the upstream, want the 20 that were whole", n)
	}
}

// TestFaultSuiteSmallMemory runs the gateway with a soft limit on its memory that makes
// its collector work hard: answers of 5 MB for many at once come whole all the same.
func TestFaultSuiteSmallMemory(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(delta(strings.Repeat("0123456789", 100)), 4000)
	var s setup
	s.provider("up", newSite(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", events)
		io.WriteString(w, text+finish+done)
	}).url, "parser: auto")
	g, process := spawn(t, s.String(), "GOMEMLIMIT=48MiB", "GOGC=25", "GOMAXPROCS=2")
	errs := make(chan error)
	const clients = 16
	for range clients {
		go func() {
			resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
			if err != nil {
				errs <- err
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if want := text + finish + done; err == nil && string(body) != want {
				err = fmt.Errorf("got %d bytes, want the %d that the upstream sent", len(body), len(want))
			}
			errs <- err
		}()
	}
	for range clients {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if runtime.GOOS == "linux" {
		peak := memoryOf(t, process.Pid, "VmHWM")
		t.Logf("the gateway took %d MiB at most", peak>>20)
		if peak > 512<<20 {
			t.Errorf("got a peak of %d MiB, want less than 512", peak>>20)
		}
	}
}
