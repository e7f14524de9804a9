package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
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
	"base64":                func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64, with a user":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
	"base64, with a longer": func(s string) string { return base64.URLEncoding.EncodeToString([]byte("user-1:" + s + "\n")) },
	"base64, with a name":   func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("{\"key\":\"" + s + "\"}")) },
	"base64, URL, no stop":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s + "?")) },
	"base64, in URL, twice": func(s string) string {
		return url.QueryEscape(url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))))
	},
}

func TestOut(t *testing.T) {
	t.Parallel()
	s := New([]string{"", secret})
	for name, encode := range encodings {
		for outer, around := range encodings {
			if strings.HasPrefix(outer, "base64") || outer == "JSON, one character" {
				continue
			}
			text := "<" + around(encode(secret)) + ">"
			got := s.Out(text)
			if !s.In(text) || !strings.Contains(got, Mark) || len(got) > len("<>")+len(Mark)+24 && !strings.HasPrefix(name, "base64") {
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

func BenchmarkIn(b *testing.B) {
	s := New([]string{"sk-proj-0123456789012345678901234567890123456789"})
	for name, text := range map[string]string{
		"header": "application/json; charset=utf-8", "clean 1 KB": strings.Repeat("x", 1<<10),
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
