package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// trips is how many batches of scripts are under way at once: as many callers go alone, and more go together.
	trips = 2
	// mostTogether is how many scripts go in one trip.
	mostTogether = 32
)

// together are the scripts that wait for a trip to the server.
type together struct {
	mu      sync.Mutex
	waiting []*passenger
	under   int // way
}

// passenger is a script that somebody waits for.
type passenger struct {
	script *Script
	keys   Keys
	args   []any
	until  time.Time // they wait; zero: as long as need be
	told   chan bool // whether it is to lead, else it is done; one is sent
	out    []string
	err    error
}

// RunTogether is Run in one trip with the scripts of others that wait at the same time, where many do: each has its
// own answer, and the server runs each by itself. A caller whose ctx ends gives up; the script may run nevertheless, if
// it was sent. (The library's AutoPipeline, an experiment yet, does not look at the ctx of a caller.)
func (c *Client) RunTogether(ctx context.Context, s *Script, keys Keys, args []any) ([]string, error) {
	t := &c.together
	p := &passenger{script: s, keys: keys, args: args, told: make(chan bool, 1)}
	p.until, _ = ctx.Deadline()
	t.mu.Lock()
	leads := t.under < trips
	if leads {
		t.under++
	} else {
		t.waiting = append(t.waiting, p)
	}
	t.mu.Unlock()
	if !leads {
		select {
		case leads = <-p.told:
		case <-ctx.Done():
			t.leave(p)
			return nil, c.clean(ctx.Err())
		}
	}
	if leads {
		c.lead(ctx, p)
	}
	return p.out, p.err
}

// leave takes somebody out who waits no longer. What a trip does for them then is not looked at.
func (t *together) leave(p *passenger) {
	t.mu.Lock()
	t.waiting = slices.DeleteFunc(t.waiting, func(one *passenger) bool { return one == p })
	leads := false
	select {
	case leads = <-p.told:
	default:
	}
	t.mu.Unlock()
	if leads {
		t.next()
	}
}

// lead makes a trip with those who wait.
func (c *Client) lead(ctx context.Context, p *passenger) {
	t := &c.together
	defer t.next()
	t.mu.Lock()
	n := min(len(t.waiting), mostTogether-1)
	others := slices.Clone(t.waiting[:n])
	t.waiting = slices.Delete(t.waiting, 0, n)
	t.mu.Unlock()
	if n == 0 {
		p.out, p.err = c.Run(ctx, p.script, p.keys, p.args)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.patience(others)) // the others do not end with the one who leads
	defer cancel()
	pipe := c.redis.Pipeline()
	all := append([]*passenger{p}, others...)
	answers := make([]*redis.Cmd, len(all))
	for i, one := range all {
		answers[i] = one.script.byHash(ctx, one.keys, one.args)
		_ = pipe.Process(ctx, answers[i])
	}
	_, _ = pipe.Exec(ctx) // each has its own error
	for i, one := range all {
		if redis.HasErrorPrefix(answers[i].Err(), "NOSCRIPT") {
			one.out, one.err = c.whole(ctx, one.script, one.keys, one.args)
		} else {
			one.out, one.err = c.texts(answers[i])
		}
		if one != p {
			one.told <- false
		}
	}
}

// patience is how long the last of them waits.
func (p *passenger) patience(others []*passenger) time.Duration {
	longest := time.Duration(0)
	for _, one := range append(others, p) {
		if one.until.IsZero() {
			return ioTime
		}
		longest = max(longest, time.Until(one.until))
	}
	return min(longest, ioTime)
}

// next ends a trip: the first who waits leads another one.
func (t *together) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.under--
		return
	}
	first := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	first.told <- true
}
