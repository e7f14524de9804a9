package plaintext_test

import (
	"testing"

	"github.com/callgate/callgate/internal/plaintext"
)

func TestExcerpt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text          string
		limit         int
		head, excerpt string
	}{
		{"", 4, "", ""},
		{"abcd", 4, "abcd", "abcd"},
		{"abcde", 4, "abcd", "abcd…"},
		{"abcä", 4, "abc", "abc…"},
		{"ab😀", 5, "ab", "ab…"},
		{"\xffab", 4, "\xffab", "\xffab"}, // what is short stays as it is
		{"a\xffbcd", 4, "abc", "abc…"},
		{"abc", 0, "", "…"},
	} {
		if got := plaintext.Head(tt.text, tt.limit); got != tt.head {
			t.Errorf("the head of %q: got %q, want %q", tt.text, got, tt.head)
		}
		if got := plaintext.Excerpt(tt.text, tt.limit); got != tt.excerpt {
			t.Errorf("an excerpt of %q: got %q, want %q", tt.text, got, tt.excerpt)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	if got, want := plaintext.Line("a\r\n\tb\x1b[31mc\u0085\u009bd ä…"), "a   b [31mc  d ä…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
