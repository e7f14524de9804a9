package limit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/internal/redistest"
)

// ideal is a bucket as it would be if nobody held anything ahead.
type ideal struct {
	level, perSecond float64
	at               time.Time
}

func (b *ideal) add(now time.Time, n int64) {
	b.level = max(b.level-b.perSecond*now.Sub(b.at).Seconds(), 0)
	b.at = now
	b.level = max(b.level+float64(n), 0)
}

// TestBatchesRateModel holds that gateways which hold ahead let a rate pass in any time no more than what each of them may use in the time of
// a batch beyond its limit, whatever bursts and pauses there are.
func TestBatchesRateModel(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const most, perSecond, mostHold, late = 100, 10, 10, 0.25 // tokens are ten times that
	var ahead atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		shared := limit.NewShared(client(t, server), c.now).Patient()
		gateways := []*limit.Batches{limit.NewTended(shared), limit.NewTended(shared)}
		s := set(t, limit.Limit{Scope: team, Kind: limit.Requests, Max: most, Per: most / perSecond * time.Second}, limit.Limit{Scope: team, Kind: limit.Tokens, Max: 10 * most, Per: most / perSecond * time.Second})
		requests, tokens := &ideal{perSecond: perSecond, at: c.now()}, &ideal{perSecond: 10 * perSecond, at: c.now()}
		type running struct {
			lease *limit.Lease
			of    *limit.Batches
			hold  int64
		}
		var runs []running
		ctx, n := context.Background(), 0
		check := func(t *rapid.T) {
			slack := float64(len(gateways))
			if most := most + slack*(perSecond*late+1); requests.level > most {
				t.Fatalf("%.1f requests are in the bucket, want %.1f at most", requests.level, most)
			}
			if most := 10*most + slack*(10*perSecond*late+mostHold); tokens.level > most {
				t.Fatalf("%.1f tokens are in the bucket, want %.1f at most", tokens.level, most)
			}
		}
		burst := func(t *rapid.T, g *limit.Batches, times int, hold int64) {
			for range times {
				n++
				l, v, err := g.Acquire(ctx, s, fmt.Sprint("r", n), holds(hold, 0))
				if err != nil {
					t.Fatal(err)
				}
				if v.Refusal == nil {
					if limit.InBatch(l) {
						ahead.Add(1)
					}
					requests.add(c.now(), 1)
					tokens.add(c.now(), hold)
					runs = append(runs, running{l, g, hold})
				}
			}
			check(t)
		}
		wait := func(step time.Duration, steps int) {
			for range steps {
				c.move(step)
				for _, g := range gateways {
					g.Tend()
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"burst": func(t *rapid.T) {
				burst(t, gateways[rapid.IntRange(0, 1).Draw(t, "gateway")], rapid.IntRange(1, 12).Draw(t, "times"), rapid.Int64Range(0, mostHold).Draw(t, "hold"))
			},
			"rhythm": func(t *rapid.T) { // few requests, and many at the end of the batch that is made for these
				g, hold := gateways[rapid.IntRange(0, 1).Draw(t, "gateway")], rapid.Int64Range(0, mostHold).Draw(t, "hold")
				few, many, pause := rapid.IntRange(1, 8).Draw(t, "few"), rapid.IntRange(1, 8).Draw(t, "many"), rapid.IntRange(1, 6).Draw(t, "pause")
				for range rapid.IntRange(1, 4).Draw(t, "periods") {
					burst(t, g, few, hold)
					wait(30*time.Millisecond, pause)
					burst(t, g, many, hold)
					wait(30*time.Millisecond, 7-pause)
				}
			},
			"settle": func(t *rapid.T) {
				for range min(rapid.IntRange(1, 12).Draw(t, "times"), len(runs)) {
					r := runs[0]
					runs = runs[1:]
					cost := rapid.Int64Range(0, r.hold).Draw(t, "cost")
					if err := r.of.Settle(ctx, r.lease, limit.Amount{Tokens: cost}); err != nil {
						t.Fatal(err)
					}
					tokens.add(c.now(), cost-r.hold)
				}
			},
			"wait": func(t *rapid.T) {
				wait(rapid.SampledFrom([]time.Duration{time.Millisecond, 11 * time.Millisecond, 50 * time.Millisecond}).Draw(t, "step"),
					rapid.SampledFrom([]int{1, 1, 1, 4, 12}).Draw(t, "steps"))
			},
		})
	})
	if t.Logf("%d requests were admitted by batches", ahead.Load()); ahead.Load() < 20 {
		t.Errorf("got %d requests by batches, want 20 or more", ahead.Load())
	}
}
