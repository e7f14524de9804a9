// The race detector has pools forget at random what they keep.

//go:build !race

package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/wire"
)

// TestPiecesAllocations holds that the text of a whole answer is not there a second time, decoded,
// where it is read in pieces.
func TestPiecesAllocations(t *testing.T) { // not parallel: all allocations are counted
	for _, size := range []int{1 << 10, 16 << 10} {
		data := fmt.Appendf(nil, `{"choices":[{"message":{"content":%s}}]}`, wire.AppendQuoted(nil, strings.Repeat("\"words\"\n", size/8)))
		f := &wire.Frame{Raw: data, Data: data, Whole: true}
		got, choices := 0, len(f.Choices())
		read := func() {
			got = 0
			for i := range choices {
				f.Pieces(i, func(piece []byte) bool { got += len(piece); return true })
			}
		}
		if n := testing.AllocsPerRun(100, read); n >= 1 || got != size {
			t.Errorf("%d bytes: got %d with %.1f allocations each time", size, got, n)
		}
	}
}
