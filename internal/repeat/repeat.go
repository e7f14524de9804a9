// Package repeat does something again and again for as long as a program runs.
package repeat

import (
	"context"
	"time"
)

// maxWait is the longest time between two attempts while they fail, where they are not further apart by themselves.
const maxWait = 10 * time.Second

// lastTime is how long the last one may take.
const lastTime = time.Second

// Until calls do at once and then every so often until ctx ends, and last once behind that, with a context that lives
// for a second more. While do fails, the time between two calls doubles, up to ten seconds. Exchanges of
// gateways by Redis run by it, each in a goroutine of its own.
func Until(ctx context.Context, every time.Duration, do func(context.Context) error, last func(context.Context)) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
			defer cancel()
			last(ctx)
			return
		case <-wait.C:
		}
		if err := do(ctx); err != nil {
			failures++
		} else {
			failures = 0
		}
		wait.Reset(min(every<<min(failures, 10), max(every, maxWait)))
	}
}
