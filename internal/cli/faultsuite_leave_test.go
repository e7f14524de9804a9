package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// marked is an upstream that writes the client's mark into every event, for as long as
// somebody listens. What is asked of it with an odd mark has no other end.
type marked struct {
	site         *site
	active, left atomic.Int64 // requests under way, and those whose client has left
}

func newMarked(t *testing.T) *marked {
	t.Helper()
	m := &marked{}
	m.site = newSite(t, func(w http.ResponseWriter, r received) {
		mark := r.Header.Get("x-mark")
		m.active.Add(1)
		defer m.active.Add(-1)
		w.Header().Set("content-type", events)
		send(w, role)
		for n := range pace(r.Context()) {
			if n == 40 && strings.Contains(mark, "even") {
				send(w, finish+done)
				return
			}
			send(w, delta(mark+" "))
		}
		m.left.Add(1)
	})
	return m
}

// TestFaultSuiteRandomCancels has clients leave at places drawn at random, others stay
// to the end, and all of them use the same connections. Each upstream request ends when its
// client has left, and nobody ever sees a byte that is another's.
func TestFaultSuiteRandomCancels(t *testing.T) {
	t.Parallel()
	for _, parser := range []string{"none", "auto"} {
		t.Run(parser, func(t *testing.T) {
			t.Parallel()
			m := newMarked(t)
			var s setup
			s.provider("up", m.site.url, "forward_headers: [x-mark], circuit_breaker: {failure_threshold: 1}, parser: "+parser)
			g := serve(t, s.String())
			random := rand.New(rand.NewPCG(1, 2))
			const requests, clients = 300, 12
			var places []int
			for range requests {
				places = append(places, random.IntN(12_000)-1000) // below 0: before the first byte
			}
			var all sync.WaitGroup
			var next, whole atomic.Int64
			for range clients {
				all.Go(func() {
					for i := next.Add(1) - 1; i < requests; i = next.Add(1) - 1 {
						mark := fmt.Sprintf("mark-%s-%d-", []string{"even", "odd"}[i%2], i)
						if m.visit(t, g, mark, places[i]) {
							whole.Add(1)
						}
					}
				})
			}
			all.Wait()
			await(t, "the end of all requests upstream", func() bool { return m.active.Load() == 0 })
			t.Logf("%d answers came to their end, and %d requests upstream ended since nobody listened", whole.Load(), m.left.Load())
			if whole.Load() == 0 || m.left.Load() == 0 {
				t.Errorf("got %d of %d answers to their end, and %d that ended early, want some of both", whole.Load(), requests, m.left.Load())
			}
			b := g.awaitBreaker("up", "nothing in flight", func(b breaker.Snapshot) bool { return b.InFlight == 0 })
			if b.State != "closed" || b.Totals.Failures != 0 {
				t.Errorf("got breaker %+v, want it closed", b)
			}
		})
	}
}

// visit asks once and leaves at a byte of the answer, unless it has come to its end before.
func (m *marked) visit(t *testing.T, g *gate, mark string, place int) (whole bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if place < 0 {
		delay := time.Duration(-place) * 5 * time.Microsecond // up to 5 ms
		stop := time.AfterFunc(delay, cancel)
		defer stop.Stop()
		place = 1 << 30
	}
	r := g.request("POST", "/v1/chat/completions", prompt("up/m", "hi", true), "x-mark", mark)
	resp, err := g.client.Do(r.WithContext(ctx))
	if err == nil {
		defer resp.Body.Close()
		var body []byte
		body, err = io.ReadAll(io.LimitReader(resp.Body, int64(place)))
		text := string(body)
		for at := strings.Index(text, "mark-"); at >= 0; at = strings.Index(text, "mark-") {
			text = text[at:]
			if n := min(len(mark), len(text)); text[:n] != mark[:n] {
				t.Errorf("got %q in the answer of %q", cut(text, 0, 20), mark)
			}
			text = text[5:]
		}
		if err == nil && len(body) < place {
			if !strings.HasSuffix(string(body), done) {
				t.Errorf("got an answer of %q that ends with %q, want the end marker", mark, string(body[max(0, len(body)-80):]))
			}
			return true
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("%s: got error %v, want none but that of the client itself", mark, err)
	}
	return false
}

// TestFaultSuiteLeaveAtEachByte leaves behind each byte of the gateway's answer, header
// and all, on a connection of its own.
func TestFaultSuiteLeaveAtEachByte(t *testing.T) {
	t.Parallel()
	var active atomic.Int64
	up := newSite(t, func(w http.ResponseWriter, r received) {
		active.Add(1)
		defer active.Add(-1)
		w.Header().Set("content-type", events)
		send(w, role+delta("Hello")+delta("more of it"))
		hangs(w, r)
	})
	var s setup
	s.provider("up", up.url, "circuit_breaker: {failure_threshold: 1}")
	g := serve(t, s.String())
	body := prompt("up/m", "hi", true)
	request := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	var all sync.WaitGroup
	work := make(chan int)
	for range 8 {
		all.Go(func() {
			for n := range work {
				c, err := net.Dial("tcp", g.addr)
				if err != nil {
					t.Error(err)
					continue
				}
				c.SetDeadline(time.Now().Add(patience))
				io.WriteString(c, request)
				answer := make([]byte, n)
				if got, err := io.ReadFull(c, answer); err != nil {
					t.Errorf("at byte %d: got %q and error %v", n, answer[:got], err)
				}
				if n%2 == 0 {
					c.(*net.TCPConn).SetLinger(0) // half of them with a reset
				}
				c.Close()
			}
		})
	}
	const bytes = 700 // of about 400 of header, and the first events
	for n := range bytes {
		work <- n
	}
	close(work)
	all.Wait()
	await(t, "the end of all requests upstream", func() bool { return active.Load() == 0 })
	b := g.awaitBreaker("up", "nothing in flight", func(b breaker.Snapshot) bool { return b.InFlight == 0 })
	if b.Totals.Failures != 0 || b.State != "closed" {
		t.Errorf("got breaker %+v, want no failure", b)
	}
}
