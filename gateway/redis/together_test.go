package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/redistest"
)

// TestTogether holds that scripts which go in one trip have their own answers and their own errors, also where the
// server does not know them, and that the server runs each once.
func TestTogether(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, s.URL())
	good := redis.NewScript("return {redis.call('INCR', KEYS[1]), ARGV[1]}")
	bad := redis.NewScript("return redis.error_reply('no')")
	const callers, each = 40, 25
	for range 2 {
		var wait sync.WaitGroup
		for i := range callers {
			wait.Go(func() {
				for j := range each {
					if j%5 == 4 {
						if out, err := c.RunTogether(t.Context(), bad, redis.Keys{c.Key("x")}, nil); err == nil {
							t.Errorf("got %q and no error", out)
						}
						continue
					}
					text := fmt.Sprint(i, "-", j)
					if out, err := c.RunTogether(t.Context(), good, redis.Keys{c.Key("count")}, []any{text}); err != nil || len(out) != 2 || out[1] != text {
						t.Errorf("got %q, error %v, want %s", out, err, text)
					}
				}
			})
		}
		wait.Wait()
		if err := raw(t, s).ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := raw(t, s).Get(t.Context(), c.Key("count")).Int(); err != nil || n != 2*callers*each*4/5 {
		t.Errorf("got %d, error %v, want each once", n, err)
	}
}

// TestTogetherHangs holds that who waits for a server that does not answer gives up in time, whoever leads, and that
// all goes on once it answers.
func TestTogetherHangs(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := open(t, s, s.URL())
	script := redis.NewScript("return {ARGV[1]}")
	if _, err := c.RunTogether(t.Context(), script, nil, []any{"a"}); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	var wait sync.WaitGroup
	for i := range 30 {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+i)*time.Millisecond)
			defer cancel()
			if out, err := c.RunTogether(ctx, script, nil, []any{"b"}); err == nil {
				t.Errorf("got %q, error %v", out, err)
			}
		})
	}
	wait.Wait()
	s.Resume()
	for i := range 30 {
		wait.Go(func() {
			if out, err := c.RunTogether(t.Context(), script, nil, []any{fmt.Sprint(i)}); err != nil || out[0] != fmt.Sprint(i) {
				t.Errorf("got %q, error %v", out, err)
			}
		})
	}
	wait.Wait()
}
