package chain

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk/chars"
)

// plainly finds the end of a text that a tail holds by looking at all of it.
func plainly(text []byte, final bool) int {
	begin := len(text)
	if !final {
		begin = mayBecome(text)
	}
	for end := begin; ; end = begin {
		body := chars.TrimEnd(text[:end])
		i := slices.IndexFunc(endTokens[:], func(t string) bool { return bytes.HasSuffix(body, []byte(t)) })
		if i < 0 || body[len(body)-1] != '>' && body[len(body)-1] != '[' {
			return begin
		}
		begin = len(body) - len(endTokens[i])
	}
}

// TestTail holds that what a tail remembers of a text that grows makes no difference.
func TestTail(t *testing.T) {
	t.Parallel()
	units := append([]string{" ", "\n", "x", "<", "[", "e~", ">", "</", "s>", "✿RESULT✿", ":", "<|", "end", "|>"}, endTokens[:]...)
	rng := rand.New(rand.NewPCG(9, 9))
	for range 20_000 {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			b.WriteString(strings.Repeat(units[rng.IntN(len(units))], 1+rng.IntN(3)))
		}
		text := []byte(b.String())
		var grows tail
		from := 0
		for n := 0; n < len(text); n = min(n+1+rng.IntN(9), len(text)) {
			got, want := grows.begin(text[:n], from, false), max(plainly(text[:n], false), from)
			if got != want {
				t.Fatalf("%q of %q: got %d, want %d", text[:n], text, got, want)
			}
			from = got
		}
		if got, want := grows.begin(text, from, true), max(plainly(text, true), from); got != want {
			t.Fatalf("%q: got %d, want %d", text, got, want)
		}
	}
}
