// Package steps is for tests that hold how work grows with its input. A clock cannot tell
// them on a machine that others use too, so they count: the test runs once more, compiled
// to WebAssembly, in a sandbox where package meter counts what it does, as it counts what
// plugins do. The counts are the same on every machine and under every load.
//
//	func TestHostile(t *testing.T) {
//		t.Parallel()
//		steps.Run(t, func(t *testing.T) {
//			steps.Linear(t, 16, func() { read(small) }, func() { read(large) })
//		})
//	}
package steps

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// Cost is what a piece of work takes.
type Cost struct {
	// Steps are turns of loops, calls of functions, and each 64 bytes of memory that is
	// copied or cleared.
	Steps uint64
	// Bytes is the memory that was allocated, whether it was given back or not.
	Bytes uint64
}

// Of measures some work. It may only be called within Run, and work that was done before
// should not be undone within: the garbage collector waits meanwhile.
func Of(work func()) Cost {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := count()
	work()
	c := Cost{Steps: count() - began}
	runtime.ReadMemStats(&after)
	c.Bytes = after.TotalAlloc - before.TotalAlloc
	return c
}

// Linear holds that a large piece of work, factor times as large as a small one, takes
// about factor times as much: at most twice as many steps, which leaves room for sorting,
// and three times the memory, as slices take that grow by appending. What is quadratic
// takes factor² times as much. What is very little may grow as it likes.
func Linear(t *testing.T, factor int, small, large func()) {
	t.Helper()
	s, l := Of(small), Of(large)
	compare := func(what string, small, large uint64, times int) {
		t.Helper()
		const little = 1 << 10
		if large > uint64(times*factor)*max(small, little) {
			t.Errorf("got %d %s and %d for what is %d times as large: %.1f times as many", small, what, large, factor, float64(large)/float64(max(small, 1)))
		}
	}
	compare("steps", s.Steps, l.Steps, 2)
	compare("bytes allocated", s.Bytes, l.Bytes, 3)
}
