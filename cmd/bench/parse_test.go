package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/chain"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10} {
		if got := len(longCall(size)); got != size {
			t.Errorf("a call of %d bytes has %d", size, got)
		}
	}
	pieces := deltas(prose(10000), deltaSize)
	if got := string(bytes.Join(pieces, nil)); got != prose(10000) {
		t.Errorf("the pieces make %q", got)
	}
	for _, p := range pieces {
		if len(p) > deltaSize || len(p) == 0 {
			t.Errorf("a piece is %q", p)
		}
	}
}

func TestNative(t *testing.T) {
	t.Parallel()
	plan := newPlan(parserName)
	if err := readCall(t.Context(), newNative(), plan, []byte(longCall(1<<10))); err != nil {
		t.Error(err)
	}
	if err := readCall(t.Context(), newNative(), plan, []byte(prose(1<<10))); err == nil {
		t.Error("prose is read as a call")
	}
	if _, err := feedDeltas(t.Context(), newPlan(parserName), newNative()); err != nil {
		t.Error(err)
	}
	for _, piece := range []int{deltaSize, 1 << 10} {
		c := newPlan().New(newNative(), chain.Options{Tools: tools})
		if err := passPlain(t.Context(), c, deltas(prose(10000), piece), 10000); err != nil {
			t.Error(err)
		}
	}
}

func TestInterleave(t *testing.T) {
	t.Parallel()
	order := ""
	note := func(name string, took float64) batch {
		return func() (float64, error) {
			order += name
			return took, nil
		}
	}
	times, err := interleave(t.Context(), time.Nanosecond, note("a", 1), note("b", 2))
	if err != nil || len(times) != 2 || len(times[0]) != minRounds || times[0][0] != 1 || times[1][8] != 2 {
		t.Errorf("got %v, %v", times, err)
	}
	if want := "ab" + "abbaabbaabbaabbaab"; order != want {
		t.Errorf("the order is %s, want %s", order, want)
	}
}
