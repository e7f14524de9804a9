package responsetemplate

import (
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func compileOne(tb testing.TB, source string) *program {
	tb.Helper()
	b := budget{maxPrograms, maxRunes}
	p, err := b.expression(source)
	if err != nil {
		tb.Fatalf("%s: %v", source, err)
	}
	return join([]*pattern{p})
}

// all finds what regexp.FindAllSubmatchIndex finds, in text that comes in pieces
// of the given size.
func all(m *machine, text string, size int) [][]int {
	var found [][]int
	m.reset(0, -1)
	for n := 0; ; n = min(n+size, len(text)) {
		for m.search([]byte(text[:n]), 0, n == len(text)) {
			places := append([]int{m.best[0], m.end}, m.best[1:]...)
			found = append(found, places)
			prev, _ := utf8.DecodeLastRuneInString(text[:m.end])
			m.reset(m.end, prev)
		}
		if n == len(text) {
			return found
		}
	}
}

// TestMachine compares the machine with package regexp.
func TestMachine(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4)) // a repeatable test
	for _, source := range []string{
		"a", "ab|a", "a|ab", "abc|b", "(?P<x>a+)(?P<y>b*)", "(?P<x>a+?)(?P<y>b*?)c", "a(?:.*b)?", "(?i)ab", `\bab\b`, "^a", "a$", `a\z|b`,
		"(?m)^b$", "[^a]b", "é+", "(?P<x>a|ab)(?P<y>c|bcd)?", `(?P<x>\w)\s*(?P<y>\W)`, "(?:a*)*b", "(?:x+x+)+y", "(?:a|a)*b", "(?i)k", "a{2,3}", `\Bb`,
	} {
		prog := compileOne(t, source)
		want := regexp.MustCompile("(?s)" + source)
		for range 300 {
			var b strings.Builder
			for range random.IntN(16) {
				b.WriteString([]string{"a", "b", "c", "d", "x", "y", "é", " ", "\n", "K", "\u212a", "\xff"}[random.IntN(12)])
			}
			input := b.String()
			for _, size := range []int{1, 3, 100} {
				if got, want := all(newMachine(prog), input, size), want.FindAllStringSubmatchIndex(input, -1); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s in %q in pieces of %d: %v, want %v", source, input, size, got, want)
				}
			}
		}
	}
}

// TestMachineLinear holds every search to a number of steps for each byte and
// instruction that does not grow with the text.
func TestMachineLinear(t *testing.T) {
	t.Parallel()
	for i, source := range []string{
		"(a*)*b", "(x+x+)+y", "(a|a)*b", "a(?:.*b)?", "a.*b|a", "(?:a?){30}a{30}", "(?P<x>.*)(?P<y>.*)b", "a|aa*b", `\ba(?:.*c)?`, "(?:a|aaaa*b)",
	} {
		for _, unit := range []string{"a", "xa "} {
			length := 1 << 17
			if i < 3 {
				length = 1 << 20
			}
			input := strings.Repeat(unit, length/len(unit))
			prog := compileOne(t, source)
			m := newMachine(prog)
			m.maxAge = maxMarker
			all(m, input, length)
			// A byte is read once, and again behind a match: twice freely, and
			// minAhead times when the waste is used up.
			if limit := 2 * (3 + minAhead) * len(prog.insts) * length; m.steps > limit {
				t.Errorf("%s in %q…: %d steps, want at most %d", source, unit, m.steps, limit)
			}
			t.Logf("%s in %q…: %d steps a byte, %d instructions", source, unit, m.steps/length, len(prog.insts))
		}
	}
}

// TestHold shows that only what may become a match is held back.
func TestHold(t *testing.T) {
	t.Parallel()
	m := newMachine(compileOne(t, "</think>|<tool_call>"))
	text := []byte("a < b </thin")
	if m.search(text, 0, false) || m.hold() != len("a < b ") {
		t.Errorf("held from %d, want from %d", m.hold(), len("a < b "))
	}
	text = append(text, " g"...)
	if m.search(text, 0, false) || m.hold() != len(text) {
		t.Errorf("held from %d, want nothing held", m.hold())
	}
}

func BenchmarkMachine(b *testing.B) {
	text := []byte(strings.Repeat("Some prose with a < sign and a [bracket].\n", 1000))
	prog := compileOne(b, `<think>|<tool_call>\s*<function=(?P<name>[^>]+)>|\[TOOL_CALLS\]`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		newMachine(prog).search(text, 0, true)
	}
}
