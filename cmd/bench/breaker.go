package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// breakerCalls is how many requests ask a breaker in one go.
const breakerCalls = 1000

// measureBreaker measures what a breaker adds to an attempt: to one that it lets
// through, and to one that it turns away.
func measureBreaker(ctx context.Context, b *bench) (*table, error) {
	cpus := runtime.GOMAXPROCS(0)
	t := &table{
		Title:   "one request at the circuit breaker of its provider",
		Columns: []column{{"ns", "best"}, {"ns", "median"}, {"", "allocations"}},
		Note: fmt.Sprintf("targets: below 1 µs, the median; and no allocation where it lets the request through. at once:\n"+
			"%d goroutines at one breaker, what each of them waits included.", cpus),
	}
	for _, s := range []struct {
		name   string
		ask    func() error
		atOnce int
		allocs float64
	}{
		{"closed", passing(), 1, 0},
		{"closed, at once", passing(), cpus, 0},
		{"open", rejecting(), 1, 1},
		{"open, at once", rejecting(), cpus, 1},
	} {
		figures, err := measureEach(ctx, b.time/2, breakerCalls, func() error { return atOnce(s.atOnce, s.ask) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		figures[0], figures[1] = figures[0]*1000, figures[1]*1000
		figures[2] /= figure(s.atOnce)
		t.Rows = append(t.Rows, row{name: s.name, figures: figures,
			target: unmet(upTo("allocations", figures[2], s.allocs, ""), below("median", figures[1], 1000, " ns"))})
	}
	return t, nil
}

// passing makes requests of a breaker that is closed and stays so.
func passing() func() error {
	b := breaker.New(breaker.Settings{Name: "bench"})
	return func() error {
		pass, err := b.Allow()
		if err == nil {
			pass.Done(breaker.Success, "")
		}
		return err
	}
}

// rejecting makes requests of a breaker that is open and stays so.
func rejecting() func() error {
	b := breaker.New(breaker.Settings{Name: "bench", Failures: 1, Open: time.Hour})
	pass, err := b.Allow()
	if err == nil {
		pass.Done(breaker.Failure, "failed")
	}
	return func() error {
		if _, err := b.Allow(); err == nil {
			return errors.New("the open breaker lets a request through")
		}
		return nil
	}
}

// atOnce has n goroutines ask breakerCalls times each.
func atOnce(n int, ask func() error) error {
	return together(n, func() error { return askOften(ask) })
}

// together runs f in n goroutines.
func together(n int, f func() error) error {
	if n == 1 {
		return f()
	}
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = f() })
	}
	group.Wait()
	return errors.Join(errs...)
}

func askOften(ask func() error) error {
	for range breakerCalls {
		if err := ask(); err != nil {
			return err
		}
	}
	return nil
}
