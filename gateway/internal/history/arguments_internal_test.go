package history

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/wire"
)

// TestKeepRaw compares what is written in pieces with the same in two steps, and holds that there is
// no room left over.
func TestKeepRaw(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "a", `{"a":1,`, strings.Repeat(`\`, 20_000), strings.Repeat("x", 8<<10-3) + "\\😀é", "\x00\n\t\\\"\u2028é日本語😀", strings.Repeat("é", 10_000), "a" + strings.Repeat("日", 10_000), "ab" + strings.Repeat("😀", 10_000),
		strings.Repeat(`[{"a":"\n"},`+"\n", 5_000),
	} {
		kept := func(text []byte) string {
			return string(wire.AppendQuoted(nil, append(wire.AppendQuoted([]byte(`{"raw_arguments":`), text), '}')))
		}
		want := kept([]byte(text))
		spelled := wire.AppendQuoted(nil, text)
		if got := keepRaw(pieces(spelled)); string(got) != kept(spelled) { // arguments that are no string
			t.Errorf("%.20q: got %.200s for a value", text, got)
		}
		got := keepRaw(unquoted(pieces(spelled[1 : len(spelled)-1])))
		if string(got) != want {
			t.Errorf("%.20q: got %.200s, want %.200s", text, got, want)
		}
		if cap(got) != len(got) {
			t.Errorf("%.20q: got %d bytes in room for %d, want no more than that", text, len(got), cap(got))
		}
	}
}
