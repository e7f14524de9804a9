package repeat_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/internal/repeat"
)

// TestUntil has calls fail, work and fail again, on a clock of the test's own.
func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []time.Duration
		works := []bool{true, false, false, false, false, true, true}
		ended := false
		repeat.Until(ctx, 2*time.Second, func(context.Context) error {
			at = append(at, time.Since(began))
			ok := works[len(at)-1]
			if len(at) == len(works) {
				cancel()
			}
			if !ok {
				return errors.New("away")
			}
			return nil
		}, func(ctx context.Context) {
			deadline, _ := ctx.Deadline()
			ended = ctx.Err() == nil && time.Until(deadline) == time.Second
		})
		want := []time.Duration{0, 2 * time.Second, 6 * time.Second, 14 * time.Second, 24 * time.Second, 34 * time.Second, 36 * time.Second}
		if !slices.Equal(at, want) || !ended {
			t.Errorf("got calls at %v and a last one with its second: %v, want calls at %v", at, ended, want)
		}
	})
}
