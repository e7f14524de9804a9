package reference_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/reference"
)

// listed is a conversation in which tools gave texts.
func listed(texts ...string) *conversation.Conversation {
	var results []result
	for _, text := range texts {
		content, _ := json.Marshal(text) //nolint:errchkjson // a string cannot fail
		results = append(results, result{Content: content})
	}
	return conversation.Read(talk(results))
}

// tasks is a list of n tasks, "task a", "task b" and so on, with the values 1 to n.
func tasks(n int) string {
	return "[" + repeat(n, func(i int) string { return fmt.Sprintf(`{"id":%d,"title":"task %s"}`, i+1, letters(i)) }) + "]"
}

// letters writes a number without digits.
func letters(n int) string {
	s := string(rune('a' + n%26))
	if n >= 26 {
		return letters(n/26-1) + s
	}
	return s
}

// repeat writes f of 0 to n-1, with commas between.
func repeat(n int, f func(int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(f(i))
	}
	return b.String()
}

func TestNoRules(t *testing.T) {
	t.Parallel()
	r := reference.New(nil, listed(tasks(3)))
	if r.Covers("complete_task") {
		t.Error("got that a resolver without rules covers a tool, want that it does not")
	}
	const args = `{"id":"task a"}`
	if out, done, problem, checked := r.Resolve("complete_task", args); out != args || done != nil || problem != nil || !checked {
		t.Errorf("got %s, %v, %v, %v, want the arguments as they are", out, done, problem, checked)
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	r := reference.New([]reference.Rule{taskRule}, listed())
	for tool, want := range map[string]bool{"complete_task": true, "list_tasks": false, "": false} {
		if got := r.Covers(tool); got != want {
			t.Errorf("%q: got %v, want %v", tool, got, want)
		}
	}
}

// TestBounds is about what is too much to look at: nothing is said about it.
func TestBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("äbcd ", 40) // 199 runes without the last blank
	for _, tt := range []struct {
		name, result, args, want string
		class                    string
		unchecked                bool
	}{
		{name: "as many candidates as are compared", result: tasks(10_000), args: `{"id":"Task A"}`, want: `{"id":1}`},
		{name: "more candidates", result: tasks(10_001), args: `{"id":"Task A"}`, unchecked: true},
		{name: "more candidates, and a known value", result: tasks(10_001), args: `{"id":5}`},
		{name: "more objects than are held", result: "[" + repeat(100_001, func(int) string { return `{"id":1}` }) + "]", args: `{"id":"task a"}`, unchecked: true},
		{name: "a deep result", result: strings.Repeat("[", 127) + `{"id":17,"title":"Buy milk"}` + strings.Repeat("]", 127), args: `{"id":"Buy milk"}`, want: `{"id":17}`},
		{name: "a result that is too deep", result: strings.Repeat("[", 128) + `{"id":17,"title":"Buy milk"}` + strings.Repeat("]", 128), args: `{"id":"Buy milk"}`, unchecked: true},
		{name: "arguments that are too deep", result: tasks(1), args: `{"id":"task a","x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`, unchecked: true},
		{name: "the longest text for likeness", result: `{"id":17,"title":"` + long + `"}`, args: `{"id":"` + long[:len(long)-1] + `e"}`, want: `{"id":17}`},
		{name: "a longer text", result: `{"id":17,"title":"` + long[:len(long)-1] + `ee"}`, args: `{"id":"` + long[:len(long)-1] + `e"}`, class: reference.Unresolved},
		{name: "a longer text in another case", result: `{"id":17,"title":"` + long + long + `c"}`, args: `{"id":"` + long + long + `C"}`, want: `{"id":17}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.want == "" {
				tt.want = tt.args
			}
			out, _, problem, checked := reference.New([]reference.Rule{taskRule}, listed(tt.result)).Resolve("complete_task", tt.args)
			if out != tt.want {
				t.Errorf("got %.200s, want %.200s", out, tt.want)
			}
			if checked == tt.unchecked {
				t.Errorf("got checked %v, want %v", checked, !tt.unchecked)
			}
			if got := class(problem); got != tt.class {
				t.Errorf("got the class %q, want %q", got, tt.class)
			}
		})
	}
}

// TestManyPlaces: the first thousand references of a call are resolved.
func TestManyPlaces(t *testing.T) {
	t.Parallel()
	rule := taskRule
	rule.Argument = "ids[]"
	for _, tt := range []struct {
		n       int
		checked bool
	}{{1000, true}, {1001, false}} {
		args := func(value string) string {
			return `{"ids":[` + repeat(tt.n, func(i int) string {
				if i < 1000 {
					return value
				}
				return `"task b"`
			}) + `]}`
		}
		out, done, problem, checked := reference.New([]reference.Rule{rule}, listed(tasks(3))).Resolve("complete_task", args(`"task b"`))
		if want := args("2"); out != want || len(done) != 1000 {
			t.Errorf("%d: got %d resolutions in %.100s…, want 1000 in %.100s…", tt.n, len(done), out, want)
		}
		if problem != nil || checked != tt.checked {
			t.Errorf("%d: got the problem %v and checked %v, want none and %v", tt.n, problem, checked, tt.checked)
		}
	}
}

// TestManyProblems: a message about many references stays short and says so.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	rule := taskRule
	rule.Argument = "ids[]"
	args := `{"ids":[` + repeat(500, func(int) string { return `"paint the fence"` }) + `]}`
	_, _, problem, checked := reference.New([]reference.Rule{rule}, listed(tasks(3))).Resolve("complete_task", args)
	if class(problem) != reference.Unresolved || problem.Path != "ids[0]" || !checked {
		t.Fatalf("got %+v and checked %v, want a problem with ids[0]", problem, checked)
	}
	if n := len(problem.Message); n > 2100 || strings.Count(problem.Message, "ids[") < 2 || !strings.HasSuffix(problem.Message, " more.") {
		t.Errorf("got a message of %d bytes, want at most 2100 that end with how many there are: %s", n, problem.Message)
	}
	if strings.Count(problem.Hint, "list_tasks") != 1 {
		t.Errorf("got the hint %q, want it once", problem.Hint)
	}
}

// TestManySources: rules with a 65th source leave their arguments unchecked.
func TestManySources(t *testing.T) {
	t.Parallel()
	var rules []reference.Rule
	for i := range 66 {
		rule := taskRule
		rule.Argument, rule.Match = letters(i), "title"+letters(min(i, 64))
		rules = append(rules, rule)
	}
	rules[65].Match = rules[0].Match // a source that is there already
	results := listed(`{"id":17,` + repeat(66, func(i int) string { return fmt.Sprintf(`"title%s":"Buy milk"`, letters(i)) }) + `}`)
	r := reference.New(rules, results)
	for _, tt := range []struct {
		rule    int
		checked bool
	}{{0, true}, {63, true}, {64, false}, {65, true}} {
		args := `{"` + rules[tt.rule].Argument + `":"Buy milk"}`
		want := args
		if tt.checked {
			want = `{"` + rules[tt.rule].Argument + `":17}`
		}
		if out, _, _, checked := r.Resolve("complete_task", args); out != want || checked != tt.checked {
			t.Errorf("rule %d: got %s and checked %v, want %s and %v", tt.rule, out, checked, want, tt.checked)
		}
	}
}

// TestManyRules: the first hundred of a tool count, and the others are not forgotten.
func TestManyRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n       int
		checked bool
	}{{100, true}, {101, false}, {300, false}} {
		var rules []reference.Rule
		for i := range tt.n {
			rule := taskRule
			rule.Argument = letters(i)
			rules = append(rules, rule)
		}
		r := reference.New(rules, listed(tasks(3)))
		last := letters(99)
		if out, _, _, checked := r.Resolve("complete_task", `{"`+last+`":"task b"}`); out != `{"`+last+`":2}` || checked != tt.checked {
			t.Errorf("%d rules: got %s and checked %v, want the hundredth resolved and %v", tt.n, out, checked, tt.checked)
		}
		schema := `{"properties":{` + repeat(tt.n, func(i int) string {
			return `"` + letters(i) + `":{"x-reference":{"tool":"list_tasks","match":"title","value":"id"}}`
		}) + `}}`
		read, problems := reference.FromSchema("complete_task", []byte(schema))
		if len(read) != 100 || (len(problems) == 0) != tt.checked {
			t.Errorf("%d declarations: got %d rules and %q, want 100 and a problem if there are more", tt.n, len(read), problems)
		}
	}
}

// TestResolveIsLazy: arguments without a reference in them cost no look at the results.
func TestResolveIsLazy(t *testing.T) { // not parallel: it counts allocations
	c := listed(tasks(1000))
	r := reference.New([]reference.Rule{taskRule}, c)
	without, with := func() { r.Resolve("complete_task", `{"note":"x"}`) }, func() {
		reference.New([]reference.Rule{taskRule}, c).Resolve("complete_task", `{"id":"x"}`)
	}
	if lazy, eager := testing.AllocsPerRun(10, without), testing.AllocsPerRun(3, with); lazy > 20 || eager < 1000 {
		t.Errorf("got %v allocations without a reference and %v with one, want few and many", lazy, eager)
	}
}
