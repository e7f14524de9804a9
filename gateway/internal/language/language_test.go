package language_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	xlanguage "golang.org/x/text/language"

	"github.com/callgate/callgate/gateway/internal/language"
	"github.com/callgate/callgate/internal/steps"
)

func detector(tb testing.TB) *language.Detector {
	tb.Helper()
	d, err := language.New()
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// message is a line of a file of messages.
type message struct{ code, text string }

func messages(tb testing.TB, file string) (out []message) {
	tb.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		code, text, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if ok && !strings.HasPrefix(line, "#") {
			out = append(out, message{code, text})
		}
	}
	return out
}

// TestMessages reads the messages of testdata and prints how many of each language are
// told. A wrong language is worse than none: besides Indonesian and Malay, which differ in
// few words, there is one at most.
func TestMessages(t *testing.T) {
	t.Parallel()
	d := detector(t)
	for _, test := range []struct {
		file         string
		least, wrong int // of all messages, and outside of Indonesian and Malay
	}{
		{"testdata/chat.txt", 224, 1},
		{"testdata/later.txt", 56, 0},
	} {
		all := messages(t, test.file)
		type tally struct{ n, right, none, wrong int }
		byCode, right, wrong := map[string]*tally{}, 0, 0
		for _, m := range all {
			c := byCode[m.code]
			if c == nil {
				c = &tally{}
				byCode[m.code] = c
			}
			c.n++
			switch got := d.Detect(m.text); {
			case got == m.code || m.code == "none" && got == "":
				c.right++
				right++
			case got == "":
				c.none++
			default:
				c.wrong++
				if twins := m.code + got; twins != "idms" && twins != "msid" {
					wrong++
					t.Logf("%s: %q is taken for %s", m.code, m.text, got)
				}
			}
		}
		for _, code := range slices.Sorted(maps.Keys(byCode)) {
			c := byCode[code]
			t.Logf("%s %-4s %2d messages: %2d right, %2d in doubt, %d wrong", test.file, code, c.n, c.right, c.none, c.wrong)
		}
		t.Logf("%s: %d of %d right", test.file, right, len(all))
		if right < test.least || wrong > test.wrong {
			t.Errorf("%s: got %d of %d messages right and %d wrong, want %d at least and %d at most", test.file, right, len(all), wrong, test.least, test.wrong)
		}
	}
}

// TestShort reads short sentences that others wrote, and holds that more of those in Spanish and
// Indonesian are told, and fewer taken for another language, than by letters alone, which told 88 and
// 41 of them and were wrong about 9 and 21.
func TestShort(t *testing.T) {
	t.Parallel()
	d := detector(t)
	n, right, wrong := map[string]int{}, map[string]int{}, map[string]int{}
	for _, m := range messages(t, "testdata/short.txt") {
		n[m.code]++
		switch got := d.Detect(m.text); got {
		case m.code:
			right[m.code]++
		case "":
		default:
			wrong[m.code]++
		}
	}
	for _, code := range slices.Sorted(maps.Keys(n)) {
		t.Logf("%s: %d sentences: %d right, %d wrong", code, n[code], right[code], wrong[code])
	}
	for code, want := range map[string]struct{ right, wrong int }{"es": {102, 6}, "id": {51, 13}, "ms": {66, 14}, "en": {75, 6}, "fr": {121, 2}, "it": {97, 3}, "pt": {174, 7}, "ca": {92, 5}} {
		if right[code] < want.right || wrong[code] > want.wrong {
			t.Errorf("%s: got %d of %d right and %d wrong, want %d at least and %d at most", code, right[code], n[code], wrong[code], want.right, want.wrong)
		}
	}
}

// TestCode holds that blocks of code, which are English to the eye, do not decide.
func TestCode(t *testing.T) {
	t.Parallel()
	d := detector(t)
	code := "```go\n" + strings.Repeat("// the handler returns an error when the request is over\n", 50) + "```"
	for _, text := range []string{
		"por qué me da error este código\n" + code, code + "\npor qué me da error este código",
		"por qué me da\n" + code + "\nerror este código\n```\nwhile the fence is open this is the code",
	} {
		if got := d.Detect(text); got != "es" {
			t.Errorf("%.40q…: got %q, want es", text, got)
		}
	}
	if got := d.Detect(code); got != "" {
		t.Errorf("got %q for code alone, want nothing", got)
	}
}

// TestEnd holds that the end of a long message decides.
func TestEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the handler returns an error when the request is over. ", 100)
	if got := detector(t).Detect(long + strings.Repeat("por qué me da error este código. ", 40)); got != "es" {
		t.Errorf("got %q, want es", got)
	}
}

// TestCodes holds that all codes are ISO 639-1, and that each can be told.
func TestCodes(t *testing.T) {
	t.Parallel()
	codes := language.Codes()
	for _, code := range codes {
		if base, err := xlanguage.ParseBase(code); err != nil || len(code) != 2 || base.String() != code && code != "tl" {
			t.Errorf("%s: got %v, %v, want a code of ISO 639-1", code, base, err)
		}
	}
	if unique := slices.Compact(slices.Clone(codes)); len(unique) != len(codes) || len(codes) < 50 {
		t.Errorf("got %d languages, %d of them different, want 50 at least", len(codes), len(unique))
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"zh": "zh", "zh-CN": "zh", "PT_br": "pt", "": "", "-": "", "Chinese": "chinese"} {
		if got := language.Base(tag); got != want {
			t.Errorf("%q: got %q, want %q", tag, got, want)
		}
	}
}

// TestLong holds that a long message takes no more than the reading of it.
func TestLong(t *testing.T) {
	t.Parallel()
	steps.Run(t, func(t *testing.T) {
		d := detector(t)
		for _, piece := range []string{"a", "é", "中", "```", "``", " ", "a b ", "\xff", "\u0301", "por qué "} {
			t.Run(piece, func(t *testing.T) {
				const small, factor = 16 << 10, 16
				work := func(n int) func() {
					text := strings.Repeat(piece, n/len(piece))
					return func() { d.Detect(text) }
				}
				steps.Linear(t, factor, work(small), work(small*factor))
			})
		}
	})
}

// FuzzDetect holds that every text has one of the languages or none, and that what
// stands far in front of its end does not matter.
func FuzzDetect(f *testing.F) {
	for _, m := range messages(f, "testdata/later.txt") {
		f.Add(m.text)
	}
	d := detector(f)
	codes := language.Codes()
	f.Fuzz(func(t *testing.T, text string) {
		got := d.Detect(text)
		if got != "" && !slices.Contains(codes, got) {
			t.Errorf("got %q, want one of the codes", got)
		}
		if len(text) < language.MaxText || !utf8.ValidString(text) || strings.Contains(text, "`") {
			return
		}
		if again := d.Detect("A sentence in English, which is of no matter. " + text); again != got {
			t.Errorf("got %q with something far in front of the text, want %q", again, got)
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	d := detector(b)
	for _, n := range []int{60, 1024} {
		text := strings.Repeat("Resume este artículo en tres puntos y explica la diferencia. ", 20)[:n]
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Detect(text)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := language.New(); err != nil {
			b.Fatal(err)
		}
	}
}
