package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzUnquote holds that the short way reads every string as the library does, or leaves it to that.
func FuzzUnquote(f *testing.F) {
	for _, text := range []string{
		"", "a", "plain words of more than eight bytes", `a\nb\t\"c\"\\ \/ \b\f\r`, "日本語 and 😀", `\u00e9\ud83d\ude00`, `\ud83d`, `\x`, `\`,
		"a\x01b", "a\x7fb", "a\x80b", "\xff", "\xc3", strings.Repeat("0123456", 9) + `\n` + strings.Repeat("é", 20), `a"b`, "\xed\xa0\x80", "!#[]~",
	} {
		f.Add([]byte(`"` + text + `"`))
	}
	f.Add([]byte(`"`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, quoted []byte) {
		got, err := unquote([]byte("before"), quoted)
		want, wantErr := jsontext.AppendUnquote([]byte("before"), quoted)
		if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q, %v", quoted, got, err, want, wantErr)
		}
	})
}

// TestUnescapedRun holds that each byte ends a run, or does not, wherever it stands.
func TestUnescapedRun(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 20 {
			text := bytes.Repeat([]byte{'z'}, 20)
			text[at] = byte(c)
			want := 20
			if c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
				want = at
			}
			if got := unescapedRun(text); got != want {
				t.Errorf("%#x at %d: got %d, want %d", c, at, got, want)
			}
		}
	}
}

// TestUnescapedPairs does the same for two bytes that stand together.
func TestUnescapedPairs(t *testing.T) {
	t.Parallel()
	for a := range 256 {
		for b := range 256 {
			text := []byte{'z', 'z', byte(a), byte(b), 'z', 'z', 'z', 'z'}
			want := 0
			for want < len(text) && text[want] >= ' ' && text[want] < 0x80 && text[want] != '"' && text[want] != '\\' {
				want++
			}
			if got := unescapedRun(text); got != want {
				t.Fatalf("%#x %#x: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func BenchmarkUnquote(b *testing.B) {
	quoted := AppendQuoted(nil, strings.Repeat("A gateway stands between an app and the models that it uses.\n\"It reads\" what comes back. ", 180))
	var out []byte
	b.SetBytes(int64(len(quoted)))
	b.ReportAllocs()
	for b.Loop() {
		out, _ = unquote(out[:0], quoted)
	}
}
