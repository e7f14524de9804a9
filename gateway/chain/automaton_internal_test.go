package chain

import (
	"strings"
	"testing"
)

// leftmostLongest is what the automaton must find, the slow way.
func leftmostLongest(literals []string, text string) (match, bool) {
	for i := range len(text) {
		n := longestPrefix(literals, []byte(text[i:]))
		if n > 0 {
			return match{i, i + n}, true
		}
	}
	return match{}, false
}

// FuzzScan checks every cut of a text in two against the slow search, and that
// what is held back is no more than could become a literal.
func FuzzScan(f *testing.F) {
	f.Add("<tool_call>|<|tool_call>|```|<function=", "a <|tool_call> b <tool_call>")
	f.Add("abcd|bc|c", "xabcabcd")
	f.Add("aa|aaaa", "aaab aaaa")
	f.Add("ab|bab|b", "bbabab")
	f.Add("a|0aa", "0aa")
	f.Fuzz(func(t *testing.T, list, text string) {
		var literals []string
		for l := range strings.SplitSeq(strings.ToValidUTF8(list, ""), "|") {
			if l != "" && len(l) < 20 && len(literals) < 8 {
				literals = append(literals, l)
			}
		}
		if len(text) > 64 {
			return
		}
		a := newAutomaton(literals)
		if len(a.next) != cap(a.next) || len(a.next) != len(a.depth)*a.classes {
			t.Fatalf("%q: got %d states and room for %d, want as many", literals, len(a.depth), cap(a.next)/a.classes)
		}
		want, wantOK := leftmostLongest(literals, text)
		for cut := 0; cut <= len(text); cut++ {
			s := scanner{a: a}
			got, ok := s.scan([]byte(text[:cut]), 0, false)
			if !ok {
				held := s.held(cut)
				if wantOK && want.start < cut-held {
					t.Fatalf("%q in %q cut at %d: literal at %d was let go, %d held", literals, text, cut, want.start, held)
				}
				got, ok = s.scan([]byte(text), cut, true)
			}
			if ok != wantOK || got != want {
				t.Fatalf("%q in %q cut at %d: got %v %v, want %v %v", literals, text, cut, got, ok, want, wantOK)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	plan := NewPlan([]Candidate{
		{Name: "hermes", Triggers: []string{"<tool_call>"}},
		{Name: "qwen3_coder", Triggers: []string{"<tool_call>", "<function="}},
		{Name: "tool_call_tags", Triggers: []string{"[TOOL_CALL]"}},
	}, PlanOptions{Reasoning: true})
	prose := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog, and then some. ", 18)[:1024])
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		s := scanner{a: plan.automaton}
		s.scan(prose, 0, false)
	}
}
