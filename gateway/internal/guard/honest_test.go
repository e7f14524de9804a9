package guard_test

import (
	"path/filepath"
	"testing"
)

// mostMissed is the share of the plain ghosts that may be missed.
const mostMissed = 0.05

// TestHonest judges answers that owe no call, of the kinds that are most easily taken for
// ghosts: one that is thrown away has the gateway demand a call that nobody asked for.
func TestHonest(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"honest.jsonl", "honest-languages.jsonl"} {
		wrong, list := 0, readExamples(t, filepath.Join("testdata", file))
		for _, e := range list {
			if v := e.begin(t).Judge(e.answer()); v.Ghost || v.Contradiction {
				wrong++
				t.Errorf("%s %s: got a ghost by %.2f (contradiction %v) for %v and the tool %q, want fine", e.ID, e.Class, v.Score, v.Contradiction, v.Signals, v.Tool)
			}
		}
		t.Logf("%s: %d of %d are judged wrongly", file, wrong, len(list))
		if len(list) < 80 {
			t.Errorf("%s: got %d answers, want at least 80", file, len(list))
		}
	}
}

// TestPlainGhosts judges answers that claim what the user asked for, in so many words.
func TestPlainGhosts(t *testing.T) {
	t.Parallel()
	missed, list := 0, readExamples(t, filepath.Join("testdata", "plain-ghosts.jsonl"))
	for _, e := range list {
		if v := e.begin(t).Judge(e.answer()); !v.Ghost {
			missed++
			t.Logf("%s %s is missed: %.2f for %v", e.ID, e.Lang, v.Score, v.Signals)
		}
	}
	t.Logf("%d of %d are missed", missed, len(list))
	if len(list) < 60 || ratio(missed, len(list)) > mostMissed {
		t.Errorf("got %d of %d missed, want at most %.2f of at least 60", missed, len(list), mostMissed)
	}
}
