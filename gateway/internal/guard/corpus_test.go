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
)

// example is a line of the corpus: a request, an answer to it, and what a reader thinks
// of the answer.
type example struct {
	ID, Lang, Label, Class string
	Certain                bool
	Tools                  []struct{ Function struct{ Name string } }
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

func (e *example) begin(t testing.TB) *guard.Case {
	t.Helper()
	var names []string
	for _, tool := range e.Tools {
		names = append(names, tool.Function.Name)
	}
	return guard.New(guard.Settings{Intents: e.Intents}).Begin(conversation.Read(e.Messages), names, readChoice(t, e.ToolChoice))
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
	said                            map[string]bool // of one example
	mistakes                        []string
}

func (l *tally) judge(t testing.TB, e *example) {
	v := e.begin(t).Judge(e.answer())
	ghost := e.Label == "ghost"
	l.ghosts.add(v.Ghost, ghost)
	l.contradictions.add(v.Contradiction, e.Label == "contradiction")
	if ghost && e.Certain {
		l.certain.add(v.Ghost, true)
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

func TestCorpus(t *testing.T) {
	t.Parallel()
	pattern := "*.jsonl"
	if p := os.Getenv("CORPUS"); p != "" {
		pattern = p
	}
	files, err := filepath.Glob(filepath.Join("testdata", "corpus", pattern))
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
}
