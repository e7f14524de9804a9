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

// expected says by the plainest means what becomes of an id: the value in its place,
// "" if it stays, or the class of a problem.
func expected(lists [][]task, id any) (value, class string) {
	var all []task
	latest := map[int]int{}
	for i := len(lists) - 1; i >= 0; i-- {
		for _, task := range lists[i] {
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
		func(title string) bool { return ratio([]rune(fold(title)), []rune(fold(text))) >= 0.6 },
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
	title := rapid.OneOf(rapid.StringMatching(`[abA]{2}`), rapid.StringMatching(`[abAB ]{0,2}[abéA ]{1,6}`))
	drawn := rapid.Custom(func(t *rapid.T) task {
		return task{rapid.IntRange(1, 6).Draw(t, "id"), title.Draw(t, "title")}
	})
	lists := rapid.SliceOfN(rapid.SliceOfN(drawn, 0, 4), 1, 3).Draw(t, "lists")
	var results []result
	for _, list := range lists {
		content, err := json.Marshal(map[string]any{"tasks": list})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, result{Content: content})
	}
	all := slices.Concat(lists...)
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
	value, wantClass := expected(lists, id)
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
