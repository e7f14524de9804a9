package guard_test

import (
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/callgate/callgate/gateway/internal/guard"
)

// TestReuse judges the corpus again and again in any order, each case in what another one has left, with answers of
// other cases between: what is used again changes no verdict.
func TestReuse(t *testing.T) {
	t.Parallel()
	var all []example
	for _, file := range []string{"english-tune.jsonl", "english-held.jsonl", "languages-tune.jsonl", "languages-held.jsonl"} {
		all = append(all, readExamples(t, filepath.Join("testdata", "corpus", file))...)
	}
	want := make([]guard.Verdict, len(all))
	for i := range all {
		want[i] = all[i].begin(t).Judge(all[i].answer())
	}
	random := rand.New(rand.NewPCG(7, 11))
	for range 2000 {
		i := random.IntN(len(all))
		other := all[random.IntN(len(all))].begin(t)
		other.Judge(all[random.IntN(len(all))].answer())
		other.Free()
		k := all[i].begin(t)
		if got := k.Judge(all[i].answer()); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%s: got %+v, want %+v", all[i].ID, got, want[i])
		}
		k.Free()
	}
}
