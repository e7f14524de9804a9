package prefix_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/usage"
)

// answersCase is a prompt that one target answers again and again.
type answersCase struct {
	Name   string
	Blocks int // 0 is 40
	Steps  []struct {
		Usage    json.RawMessage // as the provider writes it
		Times    int             // 0 is 1
		Drop     bool            // before it
		Expected *int            // blocks when it was asked; nil is what was known then
		Match    int             // known afterwards
		Caches   bool            // believed afterwards
	}
}

// TestAnswered holds what is learned from providers' counts, in testdata/answers.json.
func TestAnswered(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []answersCase
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("got %d cases, %v", len(cases), err)
	}
	for _, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			x := newIndex(newClock(), prefix.Target{Name: "a"}, prefix.Target{Name: "b"})
			chain := ids(0, 40)
			if tt.Blocks > 0 {
				chain = ids(0, tt.Blocks)
			}
			for i, s := range tt.Steps {
				if s.Drop {
					x.Drop("a")
				}
				for range max(1, s.Times) {
					expected := x.Match("a", chain)
					if s.Expected != nil {
						expected = *s.Expected
					}
					x.Answered("a", chain, expected, usage.Read(s.Usage))
				}
				wantMatch(t, x, "a", chain, s.Match)
				targets := x.Snapshot().Targets
				if got := targets[0].Caches; got != s.Caches {
					t.Errorf("step %d: got caches %v, want %v", i+1, got, s.Caches)
				}
				if !targets[1].Caches || targets[1].Entries > 0 {
					t.Errorf("step %d: got %+v of the other target, want nothing learned of it", i+1, targets[1])
				}
			}
		})
	}
}

// TestAnsweredTogether: prompts that were sent before the first answer of them came were
// not expected to be cached, so that they were not is no sign.
func TestAnsweredTogether(t *testing.T) {
	t.Parallel()
	x := newIndex(newClock(), prefix.Target{Name: "a"})
	miss := usage.Usage{Reported: true, CacheReported: true, Input: 10_000}
	expected := x.Match("a", ids(0, 40))
	for range 20 {
		x.Answered("a", ids(0, 40), expected, miss)
	}
	wantMatch(t, x, "a", ids(0, 40), 40)
	if s := x.Snapshot().Targets[0]; !s.Caches || s.Expected != 0 {
		t.Errorf("got %+v, want a target that caches", s)
	}
}
