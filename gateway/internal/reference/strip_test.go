package reference_test

import (
	"encoding/json"
	"testing"

	"github.com/callgate/callgate/gateway/internal/reference"
)

type stripCase struct {
	Name    string
	In, Out json.RawMessage
}

// stripped applies the edits of Strip. They must be in order and apart.
func stripped(t testing.TB, tools []byte) string {
	t.Helper()
	var out []byte
	at := 0
	for _, e := range reference.Strip(tools) {
		if e.At.Start < at || e.At.Empty() || e.At.End > len(tools) {
			t.Fatalf("got an edit at %v behind byte %d of %d, want them in order and in the text", e.At, at, len(tools))
		}
		out = append(append(out, tools[at:e.At.Start]...), e.With...)
		at = e.At.End
	}
	return string(append(out, tools[at:]...))
}

func TestStrip(t *testing.T) {
	t.Parallel()
	eachCase(t, "testdata/strip", func(t *testing.T, c *stripCase) {
		in, want := literal(c.In), literal(c.Out)
		if got := stripped(t, []byte(in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if edits := reference.Strip([]byte(want)); len(edits) > 0 {
			t.Errorf("a second time: got %v, want no edits", edits)
		}
	})
}
