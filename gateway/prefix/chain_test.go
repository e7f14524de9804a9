package prefix_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/prefix"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// key is that of the tests.
func key() prefix.Key { return prefix.NewKey([]byte("salt"), "tenant", "model") }

// TestChainGolden holds the hashes fixed: gateways of different versions share an index.
func TestChainGolden(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("All work and no play makes Jack a dull boy. "), 60)
	var b strings.Builder
	for _, tenant := range []string{"", "acme"} {
		k := prefix.NewKey([]byte("salt"), tenant, "gpt-4.1")
		fmt.Fprintf(&b, "tenant %q key %x\nbytes %x\nparts %x\nids %x\n", tenant, k, prefix.Of(k, text),
			prefix.Of(k, text[:700], nil, text[700:]), prefix.OfIDs(k, []int64{0, 1, -1, 1 << 40}))
	}
	const file = "testdata/chain.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestChainGrows is the property that all rests on: the chain of a prompt that grew at its
// end begins with the chain it had, and no block more of it is equal than of the text.
func TestChainGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := prompt(t, "text")
		more := prompt(t, "more")
		before, after := prefix.Of(key(), text), prefix.Of(key(), slices.Concat(text, more))
		if want := len(text) / prefix.BlockBytes; len(before) != want {
			t.Fatalf("got %d blocks of %d bytes, want %d", len(before), len(text), want)
		}
		if !slices.Equal(after[:len(before)], before) {
			t.Fatalf("got %x, want it to begin with %x", after, before)
		}
	})
}

// TestChainAgreesAsTextDoes: two chains are equal up to the block in which the texts differ.
func TestChainAgreesAsTextDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := prompt(t, "text")
		if len(text) == 0 {
			return
		}
		other := bytes.Clone(text)
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		other[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		a, b := prefix.Of(key(), text), prefix.Of(key(), other)
		for i := range a {
			if got, want := a[i] == b[i], i < at/prefix.BlockBytes; got != want {
				t.Fatalf("block %d, where byte %d differs: got equal %v, want %v", i, at, got, want)
			}
		}
	})
}

// TestChainInPieces: however a part is cut into pieces, its chain is the same.
func TestChainInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, second := prompt(t, "first"), prompt(t, "second")
		want := prefix.Of(key(), first, second)
		h := prefix.NewHasher(key(), rapid.IntRange(-1, 5000).Draw(t, "size"))
		var seen prefix.Chain
		for _, part := range [][]byte{first, second} {
			h.Part(nil)
			for len(part) > 0 {
				n := rapid.IntRange(1, len(part)).Draw(t, "n")
				if got, err := h.Write(part[:n]); got != n || err != nil {
					t.Fatalf("got %d, %v from Write, want %d, nil", got, err, n)
				}
				part = part[n:]
				if now := h.Chain(); !slices.Equal(now[:len(seen)], seen) {
					t.Fatalf("got %x, want it to go on from %x", now, seen)
				} else {
					seen = now
				}
			}
		}
		if got := h.Chain(); !slices.Equal(got, want) {
			t.Fatalf("got %x in pieces, want %x", got, want)
		}
	})
}

func TestChainsHaveNothingInCommon(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte{'x'}, 8*prefix.BlockBytes)
	salt := []byte("salt")
	chains := map[string]prefix.Chain{
		"tenant a":            prefix.Of(prefix.NewKey(salt, "a", "m"), text),
		"tenant b":            prefix.Of(prefix.NewKey(salt, "b", "m"), text),
		"model n":             prefix.Of(prefix.NewKey(salt, "a", "n"), text),
		"other salt":          prefix.Of(prefix.NewKey([]byte("pepper"), "a", "m"), text),
		"names that run over": prefix.Of(prefix.NewKey(salt, "am", ""), text),
		"other parts":         prefix.Of(prefix.NewKey(salt, "a", "m"), nil, text),
		"ids":                 prefix.OfIDs(prefix.NewKey(salt, "a", "m"), []int64{0, 0, 0, 0, 0, 0, 0, 0}),
	}
	seen := map[uint64]string{}
	for name, c := range chains {
		if len(c) != 8 {
			t.Errorf("%s: got %d blocks, want 8", name, len(c))
		}
		for _, hash := range c {
			if other, ok := seen[hash]; ok {
				t.Errorf("got the hash %x from %q and %q, want it from one", hash, name, other)
			}
			seen[hash] = name
		}
	}
}

func TestChainIsBounded(t *testing.T) {
	t.Parallel()
	text := make([]byte, (prefix.MaxBlocks+3)*prefix.BlockBytes+7)
	want := prefix.MaxBlocks
	if got := len(prefix.Of(key(), text)); got != want {
		t.Errorf("got %d blocks, want %d", got, want)
	}
	if got := len(prefix.OfIDs(key(), make([]int64, want+3))); got != want {
		t.Errorf("got %d blocks of ids, want %d", got, want)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	c := make(prefix.Chain, 100)
	for _, tt := range []struct {
		name          string
		cached, total int
		want          int
	}{
		{"half", 512, 1024, 50},
		{"down to a whole block", 1023, 1024, 99},
		{"all", 1024, 1024, 100},
		{"more than all", 5000, 1024, 100},
		{"none", 0, 1024, 0},
		{"negative", -1, 1024, 0},
		{"unknown total", 10, 0, 0},
		{"huge", 1 << 62, 1 << 62, 100},
	} {
		if got := c.Share(tt.cached, tt.total); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// prompt draws a text of up to six blocks, with lengths around whole blocks.
func prompt(t *rapid.T, label string) []byte {
	n := rapid.IntRange(0, 6).Draw(t, label+" blocks")*prefix.BlockBytes + rapid.IntRange(-2, 2).Draw(t, label+" rest")
	seed := rapid.Byte().Draw(t, label+" seed")
	text := make([]byte, max(0, n))
	for i := range text {
		text[i] = seed + byte(i*i>>3)
	}
	return text
}

// FuzzChain writes hostile bytes in two pieces.
func FuzzChain(f *testing.F) {
	f.Add([]byte("some text"), 3)
	f.Add(bytes.Repeat([]byte{0}, 1500), 512)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		cut = min(max(cut, 0), len(text))
		h := prefix.NewHasher(key(), 0)
		h.Part(text[:cut])
		_, _ = h.Write(text[cut:])
		if got, want := h.Chain(), prefix.Of(key(), text); !slices.Equal(got, want) {
			t.Errorf("got %x in two pieces, want %x", got, want)
		}
	})
}
