package answers_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway/answers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ends counts how waits ended.
type ends [4]atomic.Int32

// waits lets n requests wait for a flight, and counts how that ends. One that has to lead
// ends the flight by lead.
func (e *ends) waits(ctx context.Context, f *answers.Flights, n int, lead func(*answers.Flight)) *sync.WaitGroup {
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			flight, leads := f.Join(answers.Name{})
			if leads {
				panic("a flight is under way")
			}
			_, end := flight.Wait(ctx)
			e[end].Add(1)
			if end == answers.Lead {
				lead(flight)
			}
		})
	}
	return &group
}

func (e *ends) check(t *testing.T, landed, failed, lead, left int32) {
	t.Helper()
	got := [4]int32{e[0].Load(), e[1].Load(), e[2].Load(), e[3].Load()}
	if want := [4]int32{landed, failed, lead, left}; got != want {
		t.Errorf("got %v, want %v that landed, failed, lead and left", got, want)
	}
}

// TestFlightEnds holds how those who wait hear of the end: with its answer, or all at
// once without one.
func TestFlightEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		flights := answers.NewFlights()
		for _, answer := range []*answers.Answer{{Body: []byte("hi")}, nil} {
			flight, leads := flights.Join(answers.Name{})
			if !leads || flights.Len() != 1 {
				t.Fatalf("got %v for the first of %d flights, want that it leads one", leads, flights.Len())
			}
			var e ends
			group := e.waits(t.Context(), flights, n, nil)
			synctest.Wait()
			if other, leads := flights.Join(answers.Name{1}); !leads {
				t.Error("got one flight for two names")
			} else {
				other.Fail()
			}
			if answer != nil {
				flight.Land(answer)
			} else {
				flight.Fail()
			}
			group.Wait()
			if answer != nil {
				e.check(t, n, 0, 0, 0)
			} else {
				e.check(t, 0, n, 0, 0)
			}
			if flights.Len() != 0 {
				t.Errorf("got %d flights at the end, want none", flights.Len())
			}
		}
	})
}

// TestFlightAbandoned holds that one of those who wait leads when the leader leaves, as
// often as that happens, and that a flight is gone with the last one.
func TestFlightAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 10
		flights := answers.NewFlights()
		flight, _ := flights.Join(answers.Name{})
		var e ends
		leads := 0 // one at a time: the flight hands it on
		group := e.waits(t.Context(), flights, n, func(f *answers.Flight) {
			if leads++; leads < 3 {
				f.Abandon()
				return
			}
			f.Land(&answers.Answer{})
		})
		synctest.Wait()
		flight.Abandon()
		group.Wait()
		e.check(t, n-3, 0, 3, 0)

		e = ends{}
		flight, _ = flights.Join(answers.Name{})
		ctx, cancel := context.WithCancel(t.Context())
		group = e.waits(ctx, flights, n, nil)
		synctest.Wait()
		cancel()
		group.Wait()
		e.check(t, 0, 0, 0, n)
		flight.Abandon()
		if flights.Len() != 0 {
			t.Errorf("got %d flights when all are gone, want none", flights.Len())
		}
	})
}

// TestFlightCrowd holds that of too many the rest go alone.
func TestFlightCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		flights := answers.NewFlights()
		first, _ := flights.Join(answers.Name{})
		var e ends
		group := e.waits(t.Context(), flights, 1024, nil)
		synctest.Wait()
		if flight, leads := flights.Join(answers.Name{}); flight != nil || leads {
			t.Errorf("got a place for one more, want none")
		}
		first.Land(&answers.Answer{})
		group.Wait()
		e.check(t, 1024, 0, 0, 0)
	})
}

// TestFlightChance lets requests come, go and fail by chance. At most one leads at a time
// while others wait, everyone gets an end, and nothing is left.
func TestFlightChance(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			flights := answers.NewFlights()
			chance := rand.New(rand.NewPCG(seed, 1))
			var leaders, ended atomic.Int32
			lead := func(f *answers.Flight, work time.Duration, what int) {
				if leaders.Add(1) > 1 {
					t.Errorf("seed %d: got two leaders at once", seed)
				}
				time.Sleep(work)
				leaders.Add(-1)
				switch what {
				case 0:
					f.Land(&answers.Answer{})
				case 1:
					f.Fail()
				default:
					f.Abandon()
				}
			}
			var group sync.WaitGroup
			const n = 30
			for range n {
				come, work, patience := time.Duration(chance.IntN(50)), time.Duration(1+chance.IntN(20)), time.Duration(1+chance.IntN(60))
				what := chance.IntN(3)
				group.Go(func() {
					time.Sleep(come)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					defer ended.Add(1)
					f, leads := flights.Join(answers.Name{})
					if !leads {
						var end answers.Outcome
						if _, end = f.Wait(ctx); end != answers.Lead {
							return
						}
					}
					lead(f, work, what)
				})
			}
			group.Wait()
			if ended.Load() != n || flights.Len() != 0 {
				t.Errorf("seed %d: got %d ends and %d flights left, want %d and none", seed, ended.Load(), flights.Len(), n)
			}
		})
	}
}
