package guard_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/guard"
)

// blindCase is a case of the fourth blind set or a later one; the README of the fourth's folder explains it.
type blindCase struct {
	example
	Kind, Twin string
	Wanted     *[]string `json:"tools_wanted"`
}

// TestBlindSets prints the figures on the blind sets that have a folder. It fails only on cases that cannot be read: the
// sets are there to be measured by.
func TestBlindSets(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"blind4", "blind5", "blind6", "blind7", "blind8", "blind9", "blind10", "blind11", "blind12", "blind13", "blind14"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			f := &blindFigures{kinds: map[string]*[2]int{}, seen: map[string]bool{}}
			cases := readBlind(t, folder)
			for i := range cases {
				f.judge(t, &cases[i])
			}
			t.Log(f)
		})
	}
}

// readBlind reads all cases of a folder.
func readBlind(t *testing.T, folder string) (all []blindCase) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files of %s, %v", len(files), folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []blindCase
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatalf("%s: %v", filepath.Base(file), err)
		}
		all = append(all, cases...)
	}
	return all
}

// blindFigures are the figures of the set.
type blindFigures struct {
	ghosts, certain, contradictions counts
	fine, twins, flagged            int
	demanded, unwanted              int
	kinds                           map[string]*[2]int // right, all
	fineScores, ghostScores         []float64
	seen                            map[string]bool
}

func (f *blindFigures) judge(t *testing.T, c *blindCase) {
	t.Helper()
	if c.ID == "" || f.seen[c.ID] || !slices.Contains([]string{"ghost", "fine", "contradiction"}, c.Label) || c.Kind == "" || len(c.Messages) == 0 {
		t.Fatalf("case %q: no id, an id that is taken, or no label, kind or messages", c.ID)
	}
	f.seen[c.ID] = true
	v := c.beginAt(t, guard.DefaultThreshold).Judge(c.answer())
	ghost, contradiction := c.Label == "ghost", c.Label == "contradiction"
	f.ghosts.add(v.Ghost, ghost)
	f.contradictions.add(v.Contradiction, contradiction)
	if ghost && c.Certain {
		f.certain.add(v.Ghost, true)
	}
	switch c.Label {
	case "fine":
		f.fine++
		f.fineScores = append(f.fineScores, v.Score)
	case "ghost":
		f.ghostScores = append(f.ghostScores, v.Score)
	}
	if c.Twin != "" {
		f.twins++
		f.flagged += btoi(v.Ghost || v.Contradiction)
	}
	if v.Ghost && v.Tool != "" && c.Wanted != nil {
		f.demanded++
		f.unwanted += btoi(!slices.Contains(*c.Wanted, v.Tool))
	}
	kind := c.Label + " " + c.Kind
	if f.kinds[kind] == nil {
		f.kinds[kind] = new([2]int)
	}
	f.kinds[kind][1]++
	f.kinds[kind][0] += btoi(v.Ghost == ghost && v.Contradiction == contradiction)
}

func (f *blindFigures) String() string {
	text := fmt.Sprintf("ghosts: %v\ncertain ghosts: %v\ncontradictions: %v\n"+
		"twins flagged: %d of %d; tools named of those that nobody wanted: %d of %d\n",
		f.ghosts, f.certain, f.contradictions, f.flagged, f.twins, f.unwanted, f.demanded)
	const rate = 0.1 // of the answers are ghosts
	for _, threshold := range []float64{0.7, 0.75, 0.8, 0.85, 0.9} {
		alarms, found := atLeast(f.fineScores, threshold), atLeast(f.ghostScores, threshold)
		share, recall := ratio(alarms, f.fine), ratio(found, len(f.ghostScores))
		text += fmt.Sprintf("threshold %.2f: alarms on fine answers %d of %d, ghosts found %d of %d; precision where one answer in ten is a ghost: %.3f\n",
			threshold, alarms, f.fine, found, len(f.ghostScores), rate*recall/max(rate*recall+(1-rate)*share, 1e-9))
	}
	for _, kind := range slices.Sorted(maps.Keys(f.kinds)) {
		text += fmt.Sprintf("  %-40s %d of %d\n", kind, f.kinds[kind][0], f.kinds[kind][1])
	}
	return text
}

// mostEarlier is the number of earlier answers that may be called ghosts: one tells in Thai what a result says.
const mostEarlier = 1

// TestEarlierAnswers judges the answers in the earlier turns of the fourth and fifth blind sets. Their writers made
// them up as correct ones. Rules were changed by three of them, and by no other.
func TestEarlierAnswers(t *testing.T) {
	t.Parallel()
	all, alarms, seen := 0, 0, map[string]bool{}
	for _, folder := range []string{"blind4", "blind5"} {
		cases := readBlind(t, folder)
		for i := range cases {
			cases[i].eachEarlier(t, func(c *blindCase) {
				key := string(c.Messages) + c.Answer.Content
				if seen[key] {
					return
				}
				seen[key] = true
				all++
				if v := c.begin(t).Judge(c.answer()); v.Ghost {
					alarms++
					t.Logf("%s: %q is called a ghost by %.2f for %v", c.ID, c.Answer.Content, v.Score, v.Signals)
				}
			})
		}
	}
	t.Logf("%d of %d are called ghosts", alarms, all)
	if all < 200 || alarms > mostEarlier {
		t.Errorf("got %d of %d called ghosts, want at most %d of 200 or more", alarms, all, mostEarlier)
	}
}

// eachEarlier gives the answers without a call that the conversation has, each as a case.
func (c *blindCase) eachEarlier(t *testing.T, f func(*blindCase)) {
	t.Helper()
	var messages []json.RawMessage
	if err := json.Unmarshal(c.Messages, &messages); err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	for i, raw := range messages {
		var m struct {
			Role, Content string
			Calls         []json.RawMessage `json:"tool_calls"`
		}
		if err := json.Unmarshal(raw, &m); err != nil || m.Role != "assistant" || m.Content == "" || len(m.Calls) > 0 || i == 0 {
			continue
		}
		before, err := json.Marshal(messages[:i])
		if err != nil {
			t.Fatal(err)
		}
		e := blindCase{example: example{ID: c.ID, Tools: c.Tools, Messages: before, Finish: "stop"}}
		e.Answer.Content = m.Content
		f(&e)
	}
}

// TestRecorded judges answers that models gave behind real calls, recorded by another project (testdata/README.md).
func TestRecorded(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "recorded.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		var c struct {
			ID, Answer      string
			Messages, Tools json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		n++
		e := example{ID: c.ID, Tools: c.Tools, Messages: c.Messages, Finish: "stop"}
		e.Answer.Content = c.Answer
		if v := e.begin(t).Judge(e.answer()); v.Ghost || v.Contradiction {
			t.Errorf("%s: %q is called a ghost by %.2f for %v (contradiction %v), want fine", c.ID, c.Answer, v.Score, v.Signals, v.Contradiction)
		}
	}
	if n < 40 {
		t.Errorf("got %d answers, want at least 40", n)
	}
}

// atLeast counts the scores that are not below a threshold.
func atLeast(scores []float64, threshold float64) (n int) {
	for _, score := range scores {
		n += btoi(score >= threshold)
	}
	return n
}
