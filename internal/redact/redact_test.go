package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const secret = "sk-U/9+Ab_canary"

// encodings are forms in which a text may quote another one.
var encodings = map[string]func(s string) string{
	"as it is": func(s string) string { return s },
	"JSON": func(s string) string {
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	},
	"JSON, one character": func(s string) string { return `\u0073` + s[1:] },
	"JSON, every character": func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, `\u%04X`, s[i])
		}
		return b.String()
	},
	"JSON, slashes": func(s string) string { return strings.ReplaceAll(s, "/", `\/`) },
	"URL, query":    url.QueryEscape,
	"URL, path":     url.PathEscape,
	"URL, every character": func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			if i%2 == 0 {
				fmt.Fprintf(&b, "%%%02x", s[i])
			} else {
				fmt.Fprintf(&b, "%%%02X", s[i])
			}
		}
		return b.String()
	},
	`\x, every character`: func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		}
		return b.String()
	},
	"HTML": html.EscapeString,
	"HTML, every character": func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, []string{"&#%d;", "&#x%x;", "&#X%X;", "&#%06d;"}[i%4], s[i])
		}
		return b.String()
	},
	"digits":                func(s string) string { return hex.EncodeToString([]byte(s)) },
	"digits, upper case":    func(s string) string { return fmt.Sprintf("%X", "user:"+s+"!") },
	"base64":                func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64, with a user":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
	"base64, with a longer": func(s string) string { return base64.URLEncoding.EncodeToString([]byte("user-1:" + s + "\n")) },
	"base64, with a name":   func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("{\"key\":\"" + s + "\"}")) },
	"base64, URL, no stop":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s + "?")) },
	"base64, in URL, twice": func(s string) string {
		return url.QueryEscape(url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))))
	},
}

// TestShort holds that a text in which a placeholder for a key stands can be read, and that what is longer is taken out.
func TestShort(t *testing.T) {
	t.Parallel()
	const text = "The upstream refused the key x of xerox: none is sk-1."
	for secret, want := range map[string]string{"": text, "x": text, "of": text, "the": text, "none": "The upstream refused the key x of xerox: [redacted] is sk-1.", "sk-1": "The upstream refused the key x of xerox: none is [redacted]."} {
		if got := New([]string{secret}).Out(text); got != want {
			t.Errorf("%q: got %q, want %q", secret, got, want)
		}
	}
}

func TestOut(t *testing.T) {
	t.Parallel()
	s := New([]string{"", secret})
	for name, encode := range encodings {
		for outer, around := range encodings {
			if strings.HasPrefix(outer, "base64") || strings.HasPrefix(outer, "digits") || outer == "JSON, one character" {
				continue
			}
			text := "<" + around(encode(secret)) + ">"
			got := s.Out(text)
			if !s.In(text) || !strings.Contains(got, Mark) || len(got) > len("<>")+len(Mark)+24 && !strings.HasPrefix(name, "base64") && !strings.HasPrefix(name, "digits") {
				t.Errorf("%s in %s: got %q of %q, want the secret out", name, outer, got, text)
			}
			if again := fmt.Sprint(strings.Contains(got, secret[3:]), s.In(got)); again != "false false" {
				t.Errorf("%s in %s: got %q, want nothing left", name, outer, got)
			}
		}
	}
}

func TestOutExactly(t *testing.T) {
	t.Parallel()
	s := New([]string{"sk-0123456789", "pa ss", `C:\new`, "é\U0001F600secret", "a%41bcdefg"})
	for text, want := range map[string]string{
		"":                                  "",
		"nothing 100% \\ here %4":           "nothing 100% \\ here %4",
		"a sk-0123456789 b":                 "a [redacted] b",
		"sk-0123456789sk-0123456789":        "[redacted][redacted]",
		`{"m":"\u0073k-0123456789\n"}`:      `{"m":"[redacted]\n"}`,
		`{"m":"\\u0073k-012345678\\u0039"}`: `{"m":"[redacted]"}`,
		`{"m":"\\\\u0073k-0123456789"}`:     `{"m":"[redacted]"}`,
		`%73%6B%2d0123456789&x=1`:           `[redacted]&x=1`,
		`%2573k-0123456789`:                 `[redacted]`,
		`pa+ss pa%20ss pa\u0020ss`:          `[redacted] [redacted] [redacted]`,
		`C:\new C:\\new`:                    `[redacted] [redacted]`,
		`\u00e9\ud83d\ude00secret`:          `[redacted]`,
		`\u00E9\uD83D\uDE00s%65cret`:        `[redacted]`,
		`a%41bcdefg a%2541bcdefg`:           `[redacted] [redacted]`,
		`Basic dXNlcjpzay0wMTIzNDU2Nzg5`:    `Basic dXNlcj[redacted]`,
		`c2stMDEyMzQ1Njc4OQ==`:              `[redacted]==`,
		`0x736b2d30313233343536373839, 1`:   `0x[redacted], 1`,
		`736B2d30313233343536373839`:        `[redacted]`,
		`736b2d3031323334353637383`:         `736b2d3031323334353637383`,
		`sk\x2D0123456789`:                  `[redacted]`,
		`{"m":"\\x73k-0123456789\n"}`:       `{"m":"[redacted]\n"}`,
		`<b>sk&#45;0123456789</b>`:          `<b>[redacted]</b>`,
		`sk&#x2D;0123456789&amp;x=1`:        `[redacted]&amp;x=1`,
		`sk&amp;#45;0123456789`:             `[redacted]`,
		`&;&#;&#x;&none;&&#99999999999999;`: `&;&#;&#x;&none;&&#99999999999999;`,
	} {
		if got := s.Out(text); got != want || s.In(text) != (text != want) {
			t.Errorf("%q: got %q, %v, want %q", text, got, s.In(text), want)
		}
	}
	if none := (Secrets{}); none.In("x") || none.Out("x") != "x" {
		t.Error("got a secret where there is none")
	}
}

// TestOutAnyhow writes each character of a secret in some form, in some base64 or none, and
// the whole within any text.
func TestOutAnyhow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9_+/.:=~-]{12,40}`).Draw(t, "secret")
		before, behind := rapid.StringMatching(`[ -~]{0,9}[ ,:"]`).Draw(t, "before"), rapid.StringMatching(`[ ,:"][ -~]{0,9}`).Draw(t, "behind")
		quoted := secret
		if rapid.Bool().Draw(t, "base64") {
			enc := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding}).Draw(t, "alphabet")
			quoted = enc.EncodeToString([]byte(rapid.StringN(0, 9, -1).Draw(t, "inner") + secret + rapid.StringN(0, 9, -1).Draw(t, "end")))
		}
		for range rapid.IntRange(0, 3).Draw(t, "layers") {
			json := rapid.Bool().Draw(t, "json")
			var b strings.Builder
			for i := range len(quoted) {
				switch c := quoted[i]; {
				case json && (c == '\\' || c == '"'):
					b.WriteString(`\` + string(rune(c)))
				case json && rapid.IntRange(0, 3).Draw(t, "escape") == 0:
					fmt.Fprintf(&b, rapid.SampledFrom([]string{`\u%04x`, `\u%04X`}).Draw(t, "case"), c)
				case !json && (c == '%' || rapid.IntRange(0, 3).Draw(t, "escape") == 0):
					fmt.Fprintf(&b, rapid.SampledFrom([]string{`%%%02x`, `%%%02X`}).Draw(t, "case"), c)
				default:
					b.WriteByte(c)
				}
			}
			quoted = b.String()
		}
		s := New([]string{secret})
		text := before + quoted + behind
		got := s.Out(text)
		if !s.In(text) || !strings.Contains(got, Mark) || s.In(got) {
			t.Fatalf("got %q of %q, want %q out", got, text, secret)
		}
	})
}

// FuzzOut holds what is true of any text: nothing is found behind it, clean texts stay, JSON
// stays JSON.
func FuzzOut(f *testing.F) {
	for _, encode := range encodings {
		f.Add(`{"error":{"message":"`+encode(secret)+`"}}`, secret)
	}
	f.Add(`\\\\ud83d\\ude00%25%2525`, "abcdefgh")
	f.Fuzz(func(t *testing.T, text, secret string) {
		s := New([]string{secret})
		got := s.Out(text)
		if !s.In(text) && got != text {
			t.Errorf("got %q of the clean text %q", got, text)
		}
		if strings.Contains(text, secret) && secret != "" && !strings.Contains(got, Mark) {
			t.Errorf("got %q of %q with %q in it", got, text, secret)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(got)) && strings.Trim(secret, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_+/") == "" && len(secret) > 5 {
			t.Errorf("got %q of %q, want JSON", got, text)
		}
	})
}

// TestOutOfLong has a secret anywhere in a text that is looked at in parts, in the middle of one of them and across
// their ends: it is found, once, and nothing else is.
func TestOutOfLong(t *testing.T) {
	t.Parallel()
	s := New([]string{secret})
	for _, name := range []string{"as it is", "JSON, every character", "HTML, every character", "base64", "digits"} {
		quoted := encodings[name](secret)
		for _, at := range []int{0, window / 2, window - len(quoted), window - len(quoted)/2, window - 1, window, window + 1, window + overlap - 3, 2*window - 2} {
			before, behind := strings.Repeat(".", at), strings.Repeat(",", 3*window)
			got := strings.Replace(s.Out(before+quoted+behind), Mark+"=", Mark, 1)
			if strings.Replace(got, Mark+"=", Mark, 1) != before+Mark+behind {
				t.Errorf("%s at %d: got %d bytes, %.60q", name, at, len(got), strings.Trim(got, ".,"))
			}
		}
	}
}

// TestInClean holds what a clean text costs: a search for each form, of which a secret has five, and no memory, also
// where there are characters that could begin an escape.
func TestInClean(t *testing.T) {
	s := New([]string{"sk-proj-0123456789012345678901234567890123456789"})
	if len(s.needles) != 5 {
		t.Errorf("got %d forms, want 5: as it is, hexadecimal, and base64 at three places", len(s.needles))
	}
	text := strings.Repeat(`100 % of a & b, \ and \y`, 100)
	if n := testing.AllocsPerRun(100, func() { s.In(text) }); n > 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func BenchmarkIn(b *testing.B) {
	s := New([]string{"sk-proj-0123456789012345678901234567890123456789"})
	for name, text := range map[string]string{
		"header": "application/json; charset=utf-8", "clean 1 KB": strings.Repeat("x", 1<<10),
		"prose 1 KB":   strings.Repeat("It said = 7 & more: 5a, 0x41; s=k. ", 30),
		"escapes 1 KB": strings.Repeat(`a line\n`, 1<<7), "escapes 1 MB": strings.Repeat(`a line\n`, 1<<17),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s.In(text) {
					b.Fatal("found")
				}
			}
		})
	}
}

// TestOutOfCut has texts that were cut in the midst of a secret, and some that only look like it.
func TestOutOfCut(t *testing.T) {
	t.Parallel()
	s := New([]string{"abcdefgh", "abcd1234"})
	for in, want := range map[string]string{
		"": "", "x": "x", "x abc": "x abc", "x abcd": "x [redacted]", "x abcdefg": "x [redacted]", "abcd12": "[redacted]", "abcd x": "abcd x",
		"x 61626364": "x [redacted]", // in hexadecimal digits
	} {
		if got := s.OutOfCut(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
