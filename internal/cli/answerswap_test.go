package cli

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/callgate/callgate/plugins/pluginstest"
)

// TestAnswerSwap holds that an answer is not given again once a parser was replaced, and that
// it is after the old one is back.
func TestAnswerSwap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "swap.wasm")
	one, two := pluginstest.Build(t, "testdata/swap/one"), pluginstest.Build(t, "testdata/swap/two")
	swapped(t, file, one)
	s := numbered(t)
	g := serve(t, keeping(s.url, fmt.Sprintf("plugins: {dir: %q}", dir), ""))
	g.await()

	first := g.cached(g.chat(repeatable("hi", false)), "miss")
	equalBytes(t, "answers", g.cached(g.chat(repeatable("hi", false)), "hit"), first)
	swapped(t, file, two)
	var second result
	await(t, "a miss behind the swap", func() bool {
		second = g.chat(repeatable("hi", false))
		return second.header.Get("x-callgate-cache") == "miss"
	})
	if bare(second) == first {
		t.Errorf("got the answer that the old parser has read: %s", first)
	}
	g.cached(g.chat(repeatable("hi", false)), "hit")
	swapped(t, file, one)
	await(t, "the old answer", func() bool { return bare(g.chat(repeatable("hi", false))) == first })
}
