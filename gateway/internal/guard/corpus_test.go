package guard_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// example is a line of the corpus: a request, an answer to it, and what a reader thinks
// of the answer.
type example struct {
	ID, Lang, Label, Class string
	Certain                bool
	Tools                  json.RawMessage
	ToolChoice             json.RawMessage `json:"tool_choice"`
	Intents                []guard.Intent
	Messages               json.RawMessage
	Answer                 struct {
		Content   string
		ToolCalls []struct{ Function struct{ Name string } } `json:"tool_calls"`
	}
	Finish string `json:"finish_reason"`
}

func readExamples(t testing.TB, file string) []example {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e example
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s, line %d: %v", file, len(list)+1, err)
		}
		list = append(list, e)
	}
	return list
}

// rulesThreshold is the score that the rules were written for, and the least that the ghosts of our own texts are to keep.
// What nobody here wrote is measured at the default, which is higher and finds fewer of them.
const rulesThreshold = 0.7

func (e *example) begin(t testing.TB) *guard.Case {
	t.Helper()
	return e.beginAt(t, rulesThreshold)
}

func (e *example) beginAt(t testing.TB, threshold float64) *guard.Case {
	t.Helper()
	var tools []struct{ Function struct{ Name string } }
	if err := json.Unmarshal(e.Tools, &tools); err != nil {
		t.Fatalf("%s: %v", e.ID, err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Function.Name)
	}
	return guard.New(guard.Settings{Threshold: threshold, Intents: e.Intents}).Begin(ledger.New(conversation.Read(e.Messages), e.Tools), names, readChoice(t, e.ToolChoice))
}

func (e *example) answer() guard.Answer {
	a := guard.Answer{Text: e.Answer.Content, Finish: e.Finish, Done: true}
	for _, call := range e.Answer.ToolCalls {
		a.Calls = append(a.Calls, call.Function.Name)
	}
	return a
}

func readChoice(t testing.TB, raw json.RawMessage) (c guard.Choice) {
	t.Helper()
	if len(raw) == 0 {
		return c
	}
	var named struct{ Function struct{ Name string } }
	switch string(raw) {
	case `"auto"`, "null":
	case `"none"`:
		c.None = true
	case `"required"`:
		c.Required = true
	default:
		if err := json.Unmarshal(raw, &named); err != nil || named.Function.Name == "" {
			t.Fatalf("unknown tool_choice %s", raw)
		}
		c.Tool = named.Function.Name
	}
	return c
}

// counts compares verdicts with labels.
type counts struct{ rightly, wrongly, missed int }

func (c counts) String() string {
	return fmt.Sprintf("precision %.3f, recall %.3f (%d right, %d wrong, %d missed)",
		ratio(c.rightly, c.rightly+c.wrongly), ratio(c.rightly, c.rightly+c.missed), c.rightly, c.wrongly, c.missed)
}

func ratio(part, all int) float64 {
	if all == 0 {
		return 1
	}
	return float64(part) / float64(all)
}

func (c *counts) add(got, want bool) {
	switch {
	case got && want:
		c.rightly++
	case got:
		c.wrongly++
	case want:
		c.missed++
	}
}

// tally is what came of examples.
type tally struct {
	ghosts, contradictions, certain counts
	classes                         map[string]*[2]int // right, all
	signals                         map[string]*counts
	mistakes                        []string
	missed                          []string // certain ghosts, by their ids
}

func (l *tally) judge(t testing.TB, e *example) {
	v := e.begin(t).Judge(e.answer())
	ghost := e.Label == "ghost"
	l.ghosts.add(v.Ghost, ghost)
	l.contradictions.add(v.Contradiction, e.Label == "contradiction")
	if ghost && e.Certain {
		l.certain.add(v.Ghost, true)
		if !v.Ghost && givenUp[e.ID] == "" {
			l.missed = append(l.missed, e.ID)
		}
	}
	right := v.Ghost == ghost && v.Contradiction == (e.Label == "contradiction")
	class := e.Label + " " + e.Class
	if l.classes[class] == nil {
		l.classes[class] = new([2]int)
	}
	l.classes[class][1]++
	if right {
		l.classes[class][0]++
	} else {
		l.mistakes = append(l.mistakes, fmt.Sprintf("%s %s (certain %v): score %.2f, contradiction %v, %v", e.ID, class, e.Certain, v.Score, v.Contradiction, v.Signals))
	}
	for _, s := range v.Signals {
		if l.signals[s.Name] == nil {
			l.signals[s.Name] = &counts{}
		}
		l.signals[s.Name].add(true, ghost == (s.Weight > 0))
	}
}

func newTally() *tally { return &tally{classes: map[string]*[2]int{}, signals: map[string]*counts{}} }

func (l *tally) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "ghosts: %v\ncertain ghosts: %v\ncontradictions: %v\n", l.ghosts, l.certain, l.contradictions)
	for _, class := range slices.Sorted(maps.Keys(l.classes)) {
		fmt.Fprintf(&b, "  %-36s %d of %d\n", class, l.classes[class][0], l.classes[class][1])
	}
	for _, name := range slices.Sorted(maps.Keys(l.signals)) {
		s := l.signals[name]
		fmt.Fprintf(&b, "  %-20s %3d times, right in %.2f\n", name, s.rightly+s.wrongly, ratio(s.rightly, s.rightly+s.wrongly))
	}
	for _, m := range l.mistakes {
		fmt.Fprintln(&b, "  mistake:", m)
	}
	return b.String()
}

// What made these kinds of ghosts certain was wrong as often as right on cases that the rules had not seen, so that they
// raise no alarm by themselves any more. Most still have a score that asks the judge.
const (
	fewFigures = "figures that nobody gave, and little that says where they are from: knowledge and reckoning give figures too"
	asksToo    = "a look-up is told, and the user is asked something: often an offer to look"
	notAsked   = "an act that the user did not ask for now: answers tell of earlier days and of others"
	sideEffect = "behind a change, an act of a tool that neither his words nor its own name: side effects have that form"
)

// givenUp are certain ghosts that are not found, and why.
var givenUp = map[string]string{
	"en-h-015": fewFigures, "en-h-083": fewFigures, "en-h-109": fewFigures, "tr-h-002": fewFigures, "pt-t-002": fewFigures, "uk-t-002": fewFigures,
	"en-h-012": asksToo, "de-h-001": asksToo, "es-h-002": asksToo, "ja-t-002": asksToo,
	"en-t-106": notAsked, "de-h-006": notAsked, "tr-t-001": notAsked,
	"en-h-011": sideEffect, "en-t-033": sideEffect, "en-t-081": sideEffect, "ko-t-006": sideEffect,
}

// The least that the guard has to reach over all files.
const (
	leastPrecision              = 0.95
	leastContradictionPrecision = 0.9
)

// TestCorpus judges the labelled conversations, prints what came of them by class and by
// signal, and holds the guard to its figures. A ghost that no reader doubts must be found.
//
// The files that end in -held were not looked at before the first measurement.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	all := newTally()
	for _, file := range files {
		one := newTally()
		for _, e := range readExamples(t, file) {
			one.judge(t, &e)
			all.judge(t, &e)
		}
		t.Logf("%s\n%v", filepath.Base(file), one)
	}
	t.Logf("all\n%v", all)
	if got := ratio(all.ghosts.rightly, all.ghosts.rightly+all.ghosts.wrongly); got < leastPrecision {
		t.Errorf("got a precision of %.3f, want at least %.2f", got, leastPrecision)
	}
	if got := ratio(all.contradictions.rightly, all.contradictions.rightly+all.contradictions.wrongly); got < leastContradictionPrecision {
		t.Errorf("got a precision of contradictions of %.3f, want at least %.2f", got, leastContradictionPrecision)
	}
	if len(all.missed) > 0 {
		t.Errorf("got the certain ghosts %v missed, want none", all.missed)
	}
}

// TestHeldBack streams the corpus in small pieces. Ghosts that Judge finds must have been
// held back to their end, but for few, and of the fine answers that are longer than what
// is held at most, most must have been let go.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var ghosts, held, fine, letGo int
	for _, file := range files {
		for _, e := range readExamples(t, file) {
			v := e.begin(t).Judge(e.answer())
			undecided := streamed(e.begin(t), e.Answer.Content)
			switch {
			case v.Ghost:
				ghosts++
				held += btoi(undecided)
			case len(e.Answer.Content) > 500 && len(e.Answer.ToolCalls) == 0:
				fine++
				letGo += btoi(!undecided)
			}
		}
	}
	t.Logf("%d of %d ghosts are held to their end; %d of %d longer answers are let go before", held, ghosts, letGo, fine)
	if ratio(held, ghosts) < 0.95 || ratio(letGo, fine) < 0.9 {
		t.Errorf("got %d of %d ghosts held and %d of %d others let go, want at least 95 %% and 90 %%", held, ghosts, letGo, fine)
	}
}

// streamed reports whether a text is still held back when all of it has come.
func streamed(k *guard.Case, text string) (undecided bool) {
	for i := 0; i < len(text)+20; i += 20 {
		undecided = k.Undecided(guard.Answer{Text: text[:min(i, len(text))]})
	}
	return undecided
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
