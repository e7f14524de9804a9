package guard

import (
	"fmt"
	"maps"
	"sync"
	"testing"
)

// TestToolboxes reads tools that were not offered in many requests at once: what one
// learns from their names the others do not see.
func TestToolboxes(t *testing.T) {
	t.Parallel()
	var boxes toolboxes
	l := loadLexicons()
	names := []string{"delete_task", "plan.publish"}
	want := newToolbox(l, names)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			b := boxes.get(l, names)
			b.get(fmt.Sprintf("frobnicate_%c", 'a'+i))
			if _, known := b.local.words["frobnicate"]; !known {
				t.Error("got no word of a tool that was not offered, want one")
			}
		})
	}
	group.Wait()
	got := boxes.get(l, names)
	if !maps.Equal(got.local.words, want.local.words) || got.bits != want.bits || len(got.tools) != len(want.tools) {
		t.Errorf("got the words %v, want %v", got.local.words, want.local.words)
	}
	for i := range 3 * maxToolboxes {
		boxes.get(l, []string{fmt.Sprint("tool", i)})
		if len(boxes.known) > maxToolboxes {
			t.Fatalf("got %d lists of tools kept, want at most %d", len(boxes.known), maxToolboxes)
		}
	}
}

// A name may hold any character, and two lists of names are not taken for each other.
func TestToolboxKeys(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, names := range [][]string{
		{"delete_task", "get_weather"}, {"delete_task\x00get_weather"}, {"delete_task", "get", "weather"}, {"delete_taskget_weather"},
		{"\x01a"}, {"", "a"}, {"a", ""}, {"a"}, {}, {""},
	} {
		key := string(appendKey(nil, names))
		if other, taken := seen[key]; taken {
			t.Errorf("%q and %q have the same key", names, other)
		}
		seen[key] = names
	}
}
