package limit_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/redistest"
)

// TestExactly holds that of many requests at once exactly as many are admitted as there is room for.
func TestExactly(t *testing.T) {
	t.Parallel()
	all(t, func(t *testing.T, make maker) {
		limiter := make(t, newClock())
		s := set(t, limit.Limit{Scope: key, Kind: limit.Requests, Max: 5000, Per: time.Minute}, limit.Limit{Scope: key, Kind: limit.Tokens, Max: 9000, Per: time.Minute},
			limit.Limit{Scope: team, Kind: limit.Requests, Max: 5000, Per: time.Minute}, limit.Limit{Scope: team, Kind: limit.Tokens, Max: 9000, Per: time.Minute},
			limit.Limit{Scope: key, Kind: limit.Money, Max: 101, Window: limit.Month}, limit.Limit{Scope: team, Kind: limit.Money, Max: 100, Window: limit.Month},
			limit.Limit{Scope: key, Kind: limit.Concurrency, Max: 1000})
		var wg sync.WaitGroup
		var admitted atomic.Int64
		for range 32 {
			wg.Go(func() {
				for range 50 {
					l, _, err := limiter.Acquire(t.Context(), s, fmt.Sprint(fresh.Add(1)), holds(1, 0))
					if err != nil {
						t.Error(err)
						return
					}
					if l == nil {
						continue
					}
					admitted.Add(1)
					if rand.IntN(2) == 0 {
						if err := limiter.Settle(t.Context(), l, limit.Amount{Tokens: 1, Nano: 1}); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		if n := admitted.Load(); n != 100 {
			t.Errorf("got %d of 1600 admitted, want exactly 100", n)
		}
	})
}

// life is what one client did, as far as it knows.
type life struct {
	least, most int64 // what it has spent
}

// work makes requests like a gateway's until the context ends, and may abandon each at any point. It tries to settle and to
// release as long as need be, as the journal does.
func work(ctx context.Context, limiter limit.Limiter, s *limit.Set, abandon func() bool) (l life) {
	for i := 0; ctx.Err() == nil && i < 60; i++ {
		hold, used := 1+rand.Int64N(5), int64(1)
		lease, v, err := limiter.Acquire(ctx, s, fmt.Sprintf("%d-%d", fresh.Add(1), rand.Int64()), holds(hold, used))
		if err != nil { // nobody knows whether it is held
			for lease != nil && limiter.Release(ctx, lease) != nil && ctx.Err() == nil { // a lease that nobody ends counts as used
				time.Sleep(5 * time.Millisecond)
			}
			continue
		}
		if v.Refusal != nil {
			continue
		}
		sure := used
		if rand.IntN(2) == 0 {
			if _, err := limiter.Extend(ctx, lease, holds(hold, 2), false); err == nil {
				used, sure = 2, 2
			} else {
				used = 2
			}
		}
		if abandon() {
			l.least, l.most = l.least+min(sure, used), l.most+max(sure, used)
			continue
		}
		cost := rand.Int64N(hold + 1)
		for range 2 + rand.IntN(2) { // once is enough
			for limiter.Settle(context.WithoutCancel(ctx), lease, limit.Amount{Nano: cost, Tokens: cost}) != nil {
				time.Sleep(5 * time.Millisecond)
			}
		}
		l.least, l.most = l.least+cost, l.most+cost
	}
	return l
}

// TestRestarts holds that a budget is exact while the Redis is killed and comes back: nothing is spent beyond it but one step a running
// request, nothing is lost, and nothing is held for good.
func TestRestarts(t *testing.T) {
	t.Parallel()
	s := lasting(t)
	c := newClock()
	const budget = 400
	limits := set(t, limit.Limit{Scope: team, Kind: limit.Money, Max: budget, Window: limit.Month}, limit.Limit{Scope: team, Kind: limit.Concurrency, Max: 1000})
	prefix := s.KeyPrefix()
	open := func() *limit.Shared {
		client, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		return limit.NewShared(client, c.now).Patient()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all life
	for range 4 {
		limiter := open()
		for range 4 {
			wg.Go(func() {
				one := work(t.Context(), limiter, limits, func() bool { return rand.IntN(10) == 0 })
				mu.Lock()
				defer mu.Unlock()
				all.least, all.most = all.least+one.least, all.most+one.most
			})
		}
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for range 4 {
		time.Sleep(30 * time.Millisecond)
		s.Stop()
		s.Restart()
	}
	<-done
	c.move(limit.Life + time.Second)
	_, v, err := open().Acquire(t.Context(), limits, "last", holds(budget, 0))
	if err != nil {
		t.Fatal(err)
	}
	st := v.States[0]
	t.Logf("spent %d of %d, by what the clients know %d to %d", st.Used, budget, all.least, all.most)
	if st.Used < all.least || st.Used > all.most || st.Held != 0 || v.States[1].Used != 0 {
		t.Errorf("got %d spent, %d held and %d running, want %d to %d, and nothing held", st.Used, st.Held, v.States[1].Used, all.least, all.most)
	}
	if st.Used > budget {
		t.Errorf("got %d spent of %d", st.Used, budget)
	}
}

// child is the environment of a process that plays a gateway.
const child = "CALLGATE_LIMIT_TEST_CHILD"

// childOfBatches says that the process holds ahead.
const childOfBatches = "CALLGATE_LIMIT_TEST_BATCHES"

// TestChild is no test of its own: it is the gateway that TestKilled kills. It writes what it is about to do, and what it has done.
func TestChild(t *testing.T) {
	url, rest, ok := strings.Cut(os.Getenv(child), "|")
	prefix, at, _ := strings.Cut(rest, "|")
	if !ok {
		t.Skip("only for TestKilled")
	}
	client, err := redis.Open(redis.Options{URL: url, KeyPrefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := &clock{}
	us, _ := strconv.ParseInt(at, 10, 64)
	c.at.Store(us)
	limits := killed(t)
	var limiter limit.Limiter = limit.NewShared(client, c.now).Patient()
	if os.Getenv(childOfBatches) != "" {
		b := limit.NewBatches(limit.NewShared(client, c.now).Patient(), true)
		defer b.Close()
		limiter, limits = b, killedAhead(t)
	}
	for i := range 100_000 {
		id := fmt.Sprintf("%d-%d", os.Getpid(), i)
		fmt.Println("try", 3)
		l, v, err := limiter.Acquire(t.Context(), limits, id, holds(3, 1))
		if err != nil || v.Refusal != nil {
			fmt.Println("no", 3)
			continue
		}
		cost := rand.Int64N(4)
		fmt.Println("settle", cost)
		if err := limiter.Settle(t.Context(), l, limit.Amount{Nano: cost, Tokens: cost}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("done", cost)
	}
}

// killedAhead are limits of which a batch may hold some.
func killedAhead(t *testing.T) *limit.Set {
	return set(t, limit.Limit{Scope: team, Kind: limit.Money, Max: 1_000_000, Window: limit.Total}, limit.Limit{Scope: team, Kind: limit.Concurrency, Max: 1000},
		limit.Limit{Scope: team, Kind: limit.Quota, Max: 1_000_000, Window: limit.Total}, limit.Limit{Scope: team, Kind: limit.Requests, Max: 100_000_000, Per: time.Hour})
}

// TestBatchesKilled holds that a process which is killed with something ahead leaves nothing held, and no more spent than was.
func TestBatchesKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := newClock()
	client, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var most, settled int64
	for range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), child+"="+s.URL()+"|"+s.KeyPrefix()+"|"+strconv.FormatInt(c.at.Load(), 10), childOfBatches+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, after := 0, 2000+rand.IntN(20_000)
		for in := bufio.NewScanner(out); in.Scan(); {
			var word string
			var n int64
			switch k, _ := fmt.Sscan(in.Text(), &word, &n); {
			case k == 2 && word == "try":
				most += 3 // until it is known what it costs
			case k == 2 && word == "settle":
				most += n - 3
				settled++
			}
			if lines++; lines == after {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		c.move(limit.Life + time.Second)
	}
	_, v, err := limit.NewShared(client, c.now).Patient().Acquire(t.Context(), killedAhead(t), "last", holds(limit.MaxAmount, 0))
	if err != nil {
		t.Fatal(err)
	}
	st := v.States
	t.Logf("%d settled, %d of %d at most are known to be spent", settled, st[0].Used, most)
	if st[0].Used > most || st[0].Held != 0 || st[1].Used != 0 || st[2].Used != st[0].Used || settled < 2000 {
		t.Errorf("got %d spent, %d held and %d running, behind %d requests, want %d at most, and nothing held", st[0].Used, st[0].Held, st[1].Used, settled, most)
	}
}

func killed(t *testing.T) *limit.Set {
	return set(t, limit.Limit{Scope: team, Kind: limit.Money, Max: 1_000_000, Window: limit.Total}, limit.Limit{Scope: team, Kind: limit.Concurrency, Max: 3},
		limit.Limit{Scope: team, Kind: limit.Quota, Max: 1_000_000, Window: limit.Total})
}

// TestKilled holds that processes which are killed, wherever they are, leave nothing held, and no slot of the requests at a time:
// with the three slots that there are the next ones could not work otherwise.
func TestKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var least, most int64
	c := newClock()
	client, err := redis.Open(redis.Options{URL: s.URL(), KeyPrefix: s.KeyPrefix()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	limiter := limit.NewShared(client, c.now).Patient()
	for range 6 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), child+"="+s.URL()+"|"+s.KeyPrefix()+"|"+strconv.FormatInt(c.at.Load(), 10))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		settled, after, lines := 0, 20+rand.IntN(200), 0
		var spent, low, high int64 // of what is not done yet
		for in := bufio.NewScanner(out); in.Scan(); {
			var word string
			var n int64
			if k, _ := fmt.Sscan(in.Text(), &word, &n); k < 2 {
				continue
			}
			switch word {
			case "try": // killed now it may hold 3, which become 1
				low, high = 0, 1
			case "no":
				low, high = 0, 0
			case "settle": // or it is settled
				low, high = min(1, n), max(1, n)
			case "done":
				spent, low, high = spent+n, 0, 0
				settled++
			}
			if lines++; lines == after {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if settled == 0 {
			t.Error("got nothing settled, want that a slot is free")
		}
		least, most = least+spent+low, most+spent+high
		c.move(limit.Life + time.Second) // for the next one: its clock begins where all do
	}
	_, v, err := limiter.Acquire(t.Context(), killed(t), "last", holds(limit.MaxAmount, 0))
	if err != nil {
		t.Fatal(err)
	}
	st := v.States[0]
	t.Logf("spent %d, by what the processes said %d to %d", st.Used, least, most)
	if st.Used < least || st.Used > most || st.Held != 0 || v.States[1].Used != 0 || v.States[2].Used != st.Used {
		t.Errorf("got %d spent, %d held, %d running, want %d to %d, and nothing held", st.Used, st.Held, v.States[1].Used, least, most)
	}
}
