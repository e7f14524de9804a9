package chars_test

import (
	"math/rand/v2"
	"testing"

	"github.com/callgate/callgate/sdk/chars"
)

// TestPlain compares Plain with what it says it is, on all bytes and many lengths.
func TestPlain(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	odd := []byte("\"\\\x00\x1f !#[]\x7f\x80\xff")
	for range 20000 {
		b := make([]byte, random.IntN(40))
		for i := range b {
			switch random.IntN(20) {
			case 0:
				b[i] = odd[random.IntN(len(odd))]
			case 1:
				b[i] = byte(random.Uint32())
			default:
				b[i] = 'a' + byte(random.IntN(26))
			}
		}
		for i := range len(b) + 1 {
			want := i
			for want < len(b) && b[want] >= ' ' && b[want] != '"' && b[want] != '\\' {
				want++
			}
			if got := chars.Plain(b, i); got != want {
				t.Fatalf("Plain(%q, %d) = %d, want %d", b, i, got, want)
			}
		}
	}
}

func TestSpace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"": {"", ""}, " \t\r\n": {"", ""}, " a b ": {"a b ", "a b"}, "a\v": {"a\v", "a\v"},
	} {
		if got := string(chars.SkipSpace([]byte(in))); got != want[0] {
			t.Errorf("SkipSpace(%q) = %q, want %q", in, got, want[0])
		}
		if got := string(chars.TrimSpace([]byte(in))); got != want[1] {
			t.Errorf("TrimSpace(%q) = %q, want %q", in, got, want[1])
		}
	}
}

func TestHex(t *testing.T) {
	t.Parallel()
	for c, want := range map[byte]int{'0': 0, '9': 9, 'a': 10, 'F': 15, 'g': -1, '/': -1, ':': -1, '@': -1, 0x10: -1} {
		if got := chars.Hex(c); got != want {
			t.Errorf("Hex(%q) = %d, want %d", c, got, want)
		}
	}
}
