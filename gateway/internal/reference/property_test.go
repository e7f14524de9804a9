package reference_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/reference"
)

// task is what the drawn results list.
type task struct {
	ID    int    `json:"id"`
	Title string `json:"title"`
}

// list is a result, of a page.
type list struct {
	Page  int
	Tasks []task
}

// latest leaves the tasks of each page's last list, as lists of their own.
func latest(lists []list) (tasks [][]task) {
	for i, l := range lists {
		if !slices.ContainsFunc(lists[i+1:], func(later list) bool { return later.Page == l.Page }) {
			tasks = append(tasks, l.Tasks)
		}
	}
	return tasks
}

// expected says by the plainest means what becomes of an id: the value in its place,
// "" if it stays, or the class of a problem.
func expected(lists [][]task, id any) (value, class string) {
	var all []task
	latest := map[int]int{}
	for i, list := range slices.Backward(lists) {
		for _, task := range list {
			if n, found := latest[task.ID]; found && n != i {
				continue
			}
			latest[task.ID] = i
			all = append(all, task)
		}
	}
	if n, ok := id.(int); ok {
		if _, known := latest[n]; !known {
			return "", reference.Unresolved
		}
		return "", ""
	}
	text := id.(string)
	fold := func(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }
	for _, fits := range []func(string) bool{
		func(title string) bool { return title == text },
		func(title string) bool { return fold(title) == fold(text) },
		func(title string) bool {
			return ratio([]rune(fold(title)), []rune(fold(text))) >= 0.6 && likeWords(strings.Fields(fold(title)), strings.Fields(fold(text)))
		},
	} {
		var ids []int
		for _, task := range all {
			if fold(task.Title) != "" && fits(task.Title) && !slices.Contains(ids, task.ID) {
				ids = append(ids, task.ID)
			}
		}
		if len(ids) == 1 {
			return fmt.Sprint(ids[0]), ""
		} else if len(ids) > 1 {
			return "", reference.Ambiguous
		}
	}
	return "", reference.Unresolved
}

// likeWords says whether the words of one text are near those of the other, in their
// order and with some left out.
func likeWords(a, b []string) bool {
	var within func(short, long []string) bool
	within = func(short, long []string) bool {
		switch {
		case len(short) == 0:
			return true
		case len(long) == 0:
			return false
		}
		return near(short[0], long[0]) && within(short[1:], long[1:]) || within(short, long[1:])
	}
	return len(a) > 0 && len(b) > 0 && (len(a) <= len(b) && within(a, b) || len(b) <= len(a) && within(b, a))
}

// near says whether two words, of the letters that are drawn, are taken for the same.
func near(s, t string) bool {
	plain := strings.NewReplacer("é", "e")
	p, q := plain.Replace(s), plain.Replace(t)
	if s == t || p == q && (p == s || q == t) {
		return true
	}
	lost := func(long, short string) bool { // one of four letters, within
		return len(long) == 4 && (long[:1]+long[2:] == short || long[:2]+long[3:] == short)
	}
	if lost(p, q) || lost(q, p) {
		return true
	}
	if min(len(p), len(q)) < 4 || p[0] != q[0] {
		return false
	}
	for i := range len(p) - 1 {
		if p[:i]+p[i+1:i+2]+p[i:i+1]+p[i+2:] == q {
			return true
		}
	}
	longer := max(len(p), len(q))
	for i := 5; i <= min(len(p), len(q)); i++ {
		if i*10 >= longer*6 && p[:i] == q[:i] {
			return true
		}
	}
	return ratio([]rune(p), []rune(q))*float64(longer) > float64(longer)-1.5 // one change
}

// ratio is 1 less the share of the longer text that has to change, by the textbook's
// table of distances.
func ratio(a, b []rune) float64 {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			}
		}
	}
	longer := max(len(a), len(b))
	return float64(longer-d[len(a)][len(b)]) / float64(longer)
}

// TestResolveProperties compares with what the plainest means say.
func TestResolveProperties(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	missing := func(what string) bool { return seen[what] == 0 }
	kinds := []string{reference.Unresolved, reference.Ambiguous, "exact", "folded", "fuzzy", "known", "none"}
	for range 20 { // a hundred draws may leave one out
		rapid.Check(t, func(t *rapid.T) { checkResolve(t, seen) })
		if !slices.ContainsFunc(kinds, missing) {
			return
		}
	}
	t.Errorf("got the kinds %v, want all of %v", seen, kinds)
}

// checkResolve draws results and an argument, and counts what came of it.
func checkResolve(t *rapid.T, seen map[string]int) {
	title := rapid.OneOf(rapid.StringMatching(`[abA]{2}`), rapid.StringMatching(`[abAB ]{0,2}[abéA ]{1,8}`))
	drawn := rapid.Custom(func(t *rapid.T) task {
		return task{rapid.IntRange(1, 6).Draw(t, "id"), title.Draw(t, "title")}
	})
	lists := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) list {
		return list{rapid.IntRange(1, 2).Draw(t, "page"), rapid.SliceOfN(drawn, 0, 4).Draw(t, "tasks")}
	}), 1, 4).Draw(t, "lists")
	var results []result
	for _, l := range lists {
		content, err := json.Marshal(map[string]any{"tasks": l.Tasks})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, result{Args: fmt.Appendf(nil, `{"page":%d}`, l.Page), Content: content})
	}
	current := latest(lists)
	all := slices.Concat(current...)
	id := drawArgument(t, title, all)
	argument, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	args := `{"a":"x", "id": ` + string(argument) + `}`
	out, done, problem, checked := reference.New([]reference.Rule{taskRule}, conversation.Read(talk(results))).Resolve("complete_task", args)
	if len(all) == 0 {
		if seen["none"]++; out != args || problem != nil || checked {
			t.Fatalf("got %s, %v and checked %v with no candidates, want the arguments unchecked", out, problem, checked)
		}
		return
	}
	value, wantClass := expected(current, id)
	want, kind := args, cmp.Or(wantClass, "known")
	if value != "" {
		want = `{"a":"x", "id": ` + value + `}`
	}
	if out != want || class(problem) != wantClass || !checked || (len(done) > 0) != (value != "") {
		t.Fatalf("got %s, %v, %v, checked %v, want %s and the class %q", out, done, problem, checked, want, wantClass)
	}
	if len(done) > 0 {
		kind = string(done[0].How)
	}
	seen[kind]++
}

// drawArgument draws a number, a text, or a title that is there, as it is or changed.
func drawArgument(t *rapid.T, title *rapid.Generator[string], all []task) any {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	switch {
	case kind == 0:
		return rapid.IntRange(1, 8).Draw(t, "number")
	case kind == 1 || len(all) == 0:
		return title.Draw(t, "text")
	}
	text := rapid.SampledFrom(all).Draw(t, "task").Title
	switch kind {
	case 2:
		text = strings.ToUpper(text)
	case 3:
		text += "x"
	}
	return text
}
