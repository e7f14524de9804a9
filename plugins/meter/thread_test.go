package meter_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// jumps is a function as Go's compiler writes it, func(n i32) i32: basic blocks in a loop
// with a table of jumps. Block i computes acc = 3*acc + i, ends the function after n blocks,
// and goes on to odd[i] or even[i].
type jumps struct{ odd, even []byte }

func (j jumps) body() []byte {
	const n, pc, acc = 0, 1, 2
	k := byte(len(j.odd))
	table := []byte{0x20, pc, 0x0e, k - 1}
	for i := range k {
		table = append(table, i)
	}
	code := bs(0x03, void)
	for range k {
		code = append(code, 0x02, void)
	}
	code = append(code, table...)
	for i := range k {
		loop := k - 1 - i // the depth of its label
		code = cat(code, bs(0x0b,
			0x20, acc, 0x41, 3, 0x6c, 0x41, i, 0x6a, 0x21, acc,
			0x20, n, 0x41, 1, 0x6b, 0x22, n, 0x45, 0x04, void, 0x20, acc, 0x0f, 0x0b,
			0x20, acc, 0x41, 1, 0x71, 0x04, void, 0x41, j.odd[i], 0x21, pc, 0x0c, loop+1, 0x0b,
			0x41, j.even[i], 0x21, pc, 0x0c, loop))
	}
	return fnLocals(2, i32, cat(code, bs(0x0b, 0x20, acc))...)
}

// run says what the function returns, and how often it comes to the head of its loop.
func (j jumps) run(n int) (acc uint32, heads int32) {
	heads = 1
	for at := 0; ; {
		acc = 3*acc + uint32(at)
		if n--; n == 0 {
			return acc, heads
		}
		next := j.even[at]
		if acc&1 == 1 {
			next = j.odd[at]
		}
		to := min(int(next), len(j.odd)-1) // the last entry of the table is for all others
		if to <= at {
			heads++
		}
		at = to
	}
}

// TestJumpsAreThreaded checks that jumps forwards go where they go without the rewriter, and
// cost no count.
func TestJumpsAreThreaded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		j := jumps{odd: make([]byte, 1+r.IntN(8)), even: nil}
		j.even = make([]byte, len(j.odd))
		for k := range j.odd {
			j.odd[k], j.even[k] = byte(r.IntN(len(j.odd)+1)), byte(r.IntN(len(j.odd)+1))
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			wasm := one(tI, tI, j.body())
			ctx := context.Background()
			original, err := newRuntime(t).Instantiate(ctx, wasm)
			if err != nil {
				t.Fatal(err)
			}
			g := run(t, wasm, 1<<20)
			for _, n := range []int{1, 2, 10, 1000} {
				want, heads := j.run(n)
				res, err := original.ExportedFunction("f").Call(ctx, uint64(n))
				if err != nil || uint32(res[0]) != want {
					t.Fatalf("%v: the original gives %v, %v, want %d", j, res, err, want)
				}
				if got := uint32(g.call(t, "f", uint64(n))[0]); got != want {
					t.Errorf("%v: f(%d) is %d, want %d", j, n, got, want)
				}
				if got := g.spent(t, "f", uint64(n)); got != heads+1 {
					t.Errorf("%v: f(%d) spent %d counts, want %d", j, n, got, heads+1)
				}
			}
		})
	}
}

// TestOtherJumpsAreLeft checks that what only looks like a jump through the table is left as
// it is. Each function is func(x i32) i32 and gives 2 for 5.
func TestOtherJumpsAreLeft(t *testing.T) {
	t.Parallel()
	// dispatch is the loop with two blocks and its table, with local 1; the code of the first
	// block, where two labels are open, and of the second one follow.
	dispatch := func(first, second []byte) []byte {
		return cat(bs(0x03, void, 0x02, void, 0x02, void, 0x20, 1, 0x0e, 1, 0, 1, 0x0b), first, bs(0x0b), second, bs(0x0b, 0x00))
	}
	result := bs(0x41, 2, 0x0f)
	toSecond := bs(0x41, 1, 0x21, 1, 0x0c, 1)
	for _, tt := range []struct {
		name   string
		body   []byte
		counts int32
	}{
		{"the jump", dispatch(toSecond, result), 2},
		{"a jump to any number", dispatch(bs(0x20, 0, 0x21, 1, 0x0c, 1), result), 3},
		{"a jump behind another local", dispatch(bs(0x41, 1, 0x21, 1, 0x41, 0, 0x21, 0, 0x0c, 1), result), 3},
		{"a conditional jump", dispatch(bs(0x41, 1, 0x21, 1, 0x20, 0, 0x0d, 1, 0x00), result), 3},
		{"a jump that something stands before", dispatch(bs(0x41, 1, 0x21, 1, 0x01, 0x0c, 1), result), 3},
		{"a table behind code", cat(bs(0x03, void, 0x02, void, 0x02, void,
			0x20, 0, 0x41, 1, 0x6a, 0x22, 0, 0x41, 7, 0x46, 0x04, void, 0x41, 2, 0x0f, 0x0b, // the second time x is 7
			0x20, 1, 0x0e, 1, 0, 1, 0x0b), toSecond, bs(0x0b, 0x00, 0x0b, 0x00)), 3},
		{"a block in the place of a closed one", dispatch(
			// Block 0 is closed, and another is open as deep.
			bs(0x20, 0, 0x41, 5, 0x46, 0x04, void, 0x02, void, 0x41, 6, 0x21, 0, 0x41, 0, 0x21, 1, 0x0c, 3, 0x0b, 0x00, 0x0b, 0x41, 2, 0x0f), bs(0x00)), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := run(t, one(tI, tI, fnLocals(1, i32, tt.body...)), 1000)
			if got := g.call(t, "f", 5)[0]; got != 2 {
				t.Errorf("got %d, want 2", got)
			}
			if got := g.spent(t, "f", 5); got != tt.counts {
				t.Errorf("spent %d counts, want %d", got, tt.counts)
			}
		})
	}
}
