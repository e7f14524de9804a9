package ghost

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// kept is what is to be kept of a text that has come as a whole.
func kept(whole string, w window, read bool) string {
	whole = strings.TrimLeft(whole, " \t\r\n")
	if rest, thought := strings.CutPrefix(whole, thinks); thought {
		_, whole, _ = strings.Cut(rest, thoughtEnd)
	} else if _, rest, found := strings.Cut(whole, thoughtEnd); found && !read {
		whole = rest
	} else if strings.HasPrefix(thinks, whole) {
		whole = ""
	}
	if len(whole) <= w.head {
		return whole
	}
	over := whole[w.head:]
	return strings.ToValidUTF8(whole[:w.head]+"\n…\n"+over[max(len(over)-w.tail, 0):], "")
}

// TestText: what is kept of a text is the same, in whatever pieces it comes.
func TestText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{thinks, thoughtEnd, "<", "</thi", "nk>", " ", "\n", "<think", "so", "ä", "…"}), rapid.StringN(0, 12, -1))
		pieces := rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces")
		x := text{window: window{20, 14}, read: rapid.Bool().Draw(t, "read")}
		for _, piece := range pieces {
			x.add([]byte(piece))
		}
		if got, want := x.all(), kept(strings.Join(pieces, ""), x.window, x.read); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
