package prefix_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/prefix"
)

// spreadCase is a line of testdata/spread.txt.
type spreadCase struct {
	targets, conversations, common, own, turns int
	most                                       float64
}

func spreadCases(t *testing.T) (out []spreadCase) {
	t.Helper()
	f, err := os.Open("testdata/spread.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var c spreadCase
		if _, err := fmt.Sscan(lines.Text(), &c.targets, &c.conversations, &c.common, &c.own, &c.turns, &c.most); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		out = append(out, c)
	}
	if err := lines.Err(); err != nil || len(out) == 0 {
		t.Fatalf("got %d cases, %v", len(out), err)
	}
	return out
}

// TestSpread holds that conversations which begin one after the other, with a system
// prompt in common, come to be spread over the targets from the start, though nothing runs
// that would be load, and that each stays where it began.
func TestSpread(t *testing.T) {
	t.Parallel()
	for _, s := range spreadCases(t) {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			t.Parallel()
			o, targets := candidates(s.targets)
			x := newIndex(newClock(), targets...)
			served, moved := map[string]int{}, 0
			for i := range s.conversations {
				first := ""
				for turn := range s.turns {
					chain := s.chain(i, turn)
					d := x.Choose(chain, o)
					x.Add(d.Target, chain)
					if turn == 0 {
						first = d.Target
						served[first]++
					} else if d.Target != first {
						moved++
					}
				}
			}
			most := 0
			for _, n := range served {
				most = max(most, n)
			}
			got := float64(most) * float64(s.targets) / float64(s.conversations)
			t.Logf("%v: %.2f times the mean at most", served, got)
			if got > s.most {
				t.Errorf("got %v, %.2f times the mean at one target, want at most %.2f", served, got, s.most)
			}
			if moved > 0 {
				t.Errorf("got %d turns elsewhere than where their conversation began, want none", moved)
			}
		})
	}
}

// chain is the prompt of a conversation's turn: each has two more blocks.
func (s spreadCase) chain(conversation, turn int) prefix.Chain {
	var blocks []int64
	for i := range s.common {
		blocks = append(blocks, int64(i))
	}
	for i := range s.own + 2*turn {
		blocks = append(blocks, int64(1_000_000+1000*conversation+i))
	}
	return prefix.OfIDs(key(), blocks)
}

// TestNotHot holds that a conversation alone is not taken for what everybody sends, however
// often it is in the requests.
func TestNotHot(t *testing.T) {
	t.Parallel()
	branch := func(turns int, name int64) prefix.Chain { // 20 blocks, then those of one of the answers
		blocks := make([]int64, 0, 20+2*turns)
		for i := range int64(20) {
			blocks = append(blocks, i)
		}
		for i := range int64(2 * turns) {
			blocks = append(blocks, 1000*name+i)
		}
		return prefix.OfIDs(key(), blocks)
	}
	for name, prompt := range map[string]func(i int) prefix.Chain{
		"grows":                    func(i int) prefix.Chain { return branch(i, 1) },
		"each turn five times":     func(i int) prefix.Chain { return branch(i/5, 1) },
		"two answers":              func(i int) prefix.Chain { return branch(i/2, int64(1+i%2)) },
		"two answers, much slower": func(i int) prefix.Chain { return branch(i/40, int64(1+i%2)) },
		"another in between": func(i int) prefix.Chain {
			if i%2 == 0 {
				return ids(1_000_000, 10+i)
			}
			return branch(i, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, targets := candidates(8)
			x := newIndex(newClock(), targets...)
			for i := range 3000 { // past the windows of the sketch
				d := x.Choose(prompt(i), o)
				if d.Hot > 0 {
					t.Fatalf("request %d: got %d of %d blocks hot, want none", i, d.Hot, d.Blocks)
				}
				x.Add(d.Target, prompt(i))
			}
		})
	}
}

// TestKnownToAFew holds that a document which a small part of all requests asks about stays
// where it is, though each asks something else.
func TestKnownToAFew(t *testing.T) {
	t.Parallel()
	o, targets := candidates(8)
	x := newIndex(newClock(), targets...)
	first := ""
	for i := range 2000 {
		chain := ids(1_000_000+100*i, 12)
		about := i%20 == 19 // a sixteenth would be many
		if about {
			chain = spreadCase{common: 20, own: 2}.chain(i, 0)
		}
		d := x.Choose(chain, o)
		x.Add(d.Target, chain)
		if !about || i < 100 {
			continue
		}
		if first == "" {
			first = d.Target
		}
		if d.Target != first || d.Hot != 0 {
			t.Fatalf("request %d: got %v, want %s and nothing hot", i, d, first)
		}
	}
}
