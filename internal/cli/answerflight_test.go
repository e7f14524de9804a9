package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// holding is an upstream that answers when it is told to.
type holding struct {
	*site
	release chan struct{} // closed: all may go on
	left    atomic.Int64  // requests whose client has left
}

// newHolding answers by h, each request with its number.
func newHolding(t *testing.T, h func(w http.ResponseWriter, r received, n int64)) *holding {
	t.Helper()
	u := &holding{release: make(chan struct{})}
	u.site = newSite(t, func(w http.ResponseWriter, r received) {
		n := u.asked.Load()
		select {
		case <-u.release:
			h(w, r, n)
		case <-r.Context().Done():
			u.left.Add(1)
		}
	})
	return u
}

// inFlight waits until the gateway has so many requests.
func (g *gate) inFlight(n int) {
	g.t.Helper()
	want := fmt.Sprintf("\ncallgate_requests_in_flight %d\n", n)
	await(g.t, want, func() bool { return strings.Contains(g.adminDo("GET", "/metrics").body, want) })
}

// together sends n equal requests at once, and returns their results when they are all
// there. with is called while they wait; begun tells it how many have got a first byte.
func (g *gate) together(n int, body string, with func(begun func() int)) []result {
	g.t.Helper()
	results := make([]result, n)
	var group sync.WaitGroup
	var begun atomic.Int64
	for i := range n {
		group.Go(func() {
			resp, err := g.open(g.t.Context(), body)
			if err != nil {
				g.t.Error(err)
				return
			}
			defer resp.Body.Close()
			read := bufio.NewReader(resp.Body)
			read.Peek(1)
			begun.Add(1)
			text, err := io.ReadAll(read)
			results[i] = result{resp.StatusCode, resp.Header, string(text), err}
		})
	}
	g.inFlight(n)
	with(func() int { return int(begun.Load()) })
	group.Wait()
	return results
}

// TestAnswerFlight sends a hundred equal requests at once. One goes upstream, and all have
// its answer, streams with a sign of life while they wait.
func TestAnswerFlight(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			u := newHolding(t, func(w http.ResponseWriter, r received, n int64) { answerWith(w, r, fmt.Sprintf("Answer %d.", n)) })
			g := serve(t, keeping(u.url, "heartbeat: 100ms", ""))
			const n = 100
			results := g.together(n, repeatable("hi", stream), func(begun func() int) {
				if stream {
					await(t, "a sign of life for each", func() bool { return begun() == n })
				}
				close(u.release)
			})
			outcomes := map[string]int{}
			for _, r := range results {
				clean(t, r)
				equalBytes(t, "answers", bare(r), bare(results[0]))
				if m := regexp.MustCompile(`(?m)^: callgate .* cache=(\w+)`).FindStringSubmatch(r.body); m != nil {
					outcomes[m[1]]++
				} else {
					outcomes[r.header.Get("x-callgate-cache")]++
				}
				if pinged := strings.Contains(r.body, ": ping\n"); pinged != stream || !strings.Contains(r.body, "Answer") {
					t.Errorf("got comments %v: %q", pinged, cut(r.body, 0, 400))
				}
			}
			if u.asked.Load() != 1 || outcomes["miss"] != 1 || outcomes["hit"] != n-1 {
				t.Errorf("got %d requests upstream and outcomes %v, want one and %d hits", u.asked.Load(), outcomes, n-1)
			}
			if metrics := g.adminDo("GET", "/metrics").body; !strings.Contains(metrics, fmt.Sprintf(`callgate_answer_cache_total{outcome="shared"} %d`, n-1)) {
				t.Errorf("got no %d shared in the metrics", n-1)
			}
		})
	}
}

// TestAnswerFlightFails holds that those who wait for an answer that is none to share ask
// themselves, all at once: as the leader fails, and as its answer is a call.
func TestAnswerFlightFails(t *testing.T) {
	t.Parallel()
	const n = 20
	for name, first := range map[string]func(w http.ResponseWriter, r received){
		"fails": func(w http.ResponseWriter, _ received) { w.WriteHeader(http.StatusBadRequest) },
		"breaks": func(w http.ResponseWriter, _ received) {
			w.Header().Set("content-type", events)
			send(w, delta("Answer"))
			panic(http.ErrAbortHandler)
		},
		"calls": func(w http.ResponseWriter, _ received) {
			w.Header().Set("content-type", events)
			send(w, delta(hermesCall), finish, done)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running atomic.Int64 // which end once all are there
			u := newHolding(t, func(w http.ResponseWriter, r received, number int64) {
				if number == 1 {
					first(w, r)
					return
				}
				running.Add(1)
				for end := time.Now().Add(patience); running.Load() < n-1 && time.Now().Before(end); time.Sleep(time.Millisecond) {
				}
				answerWith(w, r, "Answer.")
			})
			g := serve(t, keeping(u.url, "", ""))
			answered := 0
			for _, r := range g.together(n, repeatable("hi", true), func(func() int) { close(u.release) }) {
				if strings.Contains(r.body, "[DONE]") && strings.Contains(r.body, "Answe") {
					answered++
				}
			}
			if u.asked.Load() != n || answered != n-1 || running.Load() != n-1 {
				t.Errorf("got %d requests upstream, %d at once, and %d answers, want %d, all but the first at once", u.asked.Load(), running.Load(), answered, n)
			}
			g.cached(g.chat(repeatable("hi", true)), "hit") // theirs were kept
		})
	}
}

// TestAnswerLeaderLeaves has the leader's client leave. Its request upstream ends, one of
// those who wait asks in its place, and all have that answer.
func TestAnswerLeaderLeaves(t *testing.T) {
	t.Parallel()
	const n = 20
	u := newHolding(t, func(w http.ResponseWriter, r received, number int64) {
		answerWith(w, r, fmt.Sprintf("Answer %d.", number))
	})
	g := serve(t, keeping(u.url, "", ""))
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		resp, err := g.open(ctx, repeatable("hi", true))
		if err == nil {
			resp.Body.Close()
		}
		gone <- err
	}()
	await(t, "the leader's request", func() bool { return u.asked.Load() == 1 })
	results := make([]result, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { results[i] = g.chat(repeatable("hi", true)) })
	}
	g.inFlight(n + 1)
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v for the one that leaves", err)
	}
	await(t, "the next request", func() bool { return u.asked.Load() == 2 && u.left.Load() == 1 })
	close(u.release)
	group.Wait()
	for _, r := range results {
		clean(t, r)
		if !strings.Contains(r.body, `" 2."`) {
			t.Errorf("got %q, want the second answer", cut(r.body, 0, 900))
		}
	}
	if u.asked.Load() != 2 {
		t.Errorf("got %d requests upstream, want 2", u.asked.Load())
	}
}

// TestAnswerLeaderLeavesLate has the client of a stream leave in the middle of it.
func TestAnswerLeaderLeavesLate(t *testing.T) {
	t.Parallel()
	var first atomic.Bool
	s := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		send(w, delta("Hi"))
		if first.CompareAndSwap(false, true) {
			<-r.Context().Done()
			return
		}
		send(w, finish, done)
	})
	g := serve(t, keeping(s.url, "", ""))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp, err := g.open(ctx, repeatable("hi", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	await(t, "the first request", first.Load)
	second := make(chan result)
	go func() { second <- g.chat(repeatable("hi", true)) }()
	g.inFlight(2)
	leave()
	g.cached(<-second, "miss") // it leads now
	g.cached(g.chat(repeatable("hi", true)), "hit")
}

// TestAnswerTimeout holds that a request whose answer others may wait for has no more time
// than another.
func TestAnswerTimeout(t *testing.T) {
	t.Parallel()
	u := newHolding(t, func(http.ResponseWriter, received, int64) {})
	g := serve(t, keeping(u.url, "timeout: 1s", ""))
	if r := g.chat(repeatable("hi", false)); r.status != http.StatusGatewayTimeout || r.header.Get("x-callgate-cache") != "miss" {
		t.Errorf("got status %d, %v, want 504", r.status, r.header)
	}
}

// TestAnswerWaitEnds holds that a request waits for another's answer no longer than its
// client does.
func TestAnswerWaitEnds(t *testing.T) {
	t.Parallel()
	u := newHolding(t, func(w http.ResponseWriter, r received, _ int64) { answerWith(w, r, healthyText) })
	g := serve(t, keeping(u.url, "", ""))
	leader := make(chan result)
	go func() { leader <- g.chat(repeatable("hi", false)) }()
	await(t, "the leader's request", func() bool { return u.asked.Load() == 1 })
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		resp, err := g.open(ctx, repeatable("hi", false))
		if err == nil {
			resp.Body.Close()
		}
		gone <- err
	}()
	g.inFlight(2)
	leave()
	<-gone
	g.inFlight(1)
	close(u.release)
	healthyAnswer(t, <-leader, false)
}

// TestAnswerTenants holds that no client ever gets what another has asked for, whatever the
// order of a thousand requests of two, many of them at once.
func TestAnswerTenants(t *testing.T) {
	t.Parallel()
	s := numbered(t)
	g := serve(t, keeping(s.url, fmt.Sprintf(fleetKeys, hashed("alice"), hashed("bob")), ""))
	type given struct{ client, text, answer string }
	var mu sync.Mutex
	var all []given
	hits := 0
	chance := rand.New(rand.NewPCG(7, 7))
	var group sync.WaitGroup
	room := make(chan struct{}, 16)
	for range 1000 {
		client, text, stream := []string{"alice", "bob"}[chance.IntN(2)], "question "+strconv.Itoa(chance.IntN(40)), chance.IntN(2) == 1
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			r := g.chat(repeatable(text, stream), "authorization", "Bearer "+client)
			clean(t, r)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, given{client, fmt.Sprint(text, stream), bare(r)})
			if r.header.Get("x-callgate-cache") == "hit" {
				hits++
			}
		})
	}
	group.Wait()
	owner := map[string]given{}
	for _, x := range all {
		if first, known := owner[x.answer]; known && (first.client != x.client || first.text != x.text) {
			t.Fatalf("got one answer for %v and %v", first, x)
		}
		owner[x.answer] = x
	}
	if len(all) != 1000 || int64(len(owner)) != s.asked.Load() || len(owner) > 160 || hits != 1000-len(owner) {
		t.Errorf("got %d answers of %d kinds, %d hits and %d requests upstream, want at most 160", len(all), len(owner), hits, s.asked.Load())
	}
}
