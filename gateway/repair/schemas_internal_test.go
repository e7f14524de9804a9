package repair

import (
	"fmt"
	"strings"
	"testing"
)

// TestSchemasKept checks that large schemas do not add up, and that the count of what
// is kept stays right.
func TestSchemasKept(t *testing.T) {
	t.Parallel()
	s := NewSchemas(1000)
	var list []string
	for range mostNodes - 8 {
		list = append(list, "{}")
	}
	for i := range 2 * keptNodes / mostNodes {
		large := fmt.Sprintf(`{"title":"%d","allOf":[%s]}`, i, strings.Join(list, ","))
		for _, schema := range []string{large, fmt.Sprintf(`{"minProperties":%d}`, i), "{"} {
			s.Check([]byte(schema), []byte(`{}`))
		}
		nodes := 0
		for _, c := range s.kept.Values() {
			nodes += c.kept
		}
		if nodes != s.nodes || nodes > keptNodes {
			t.Fatalf("behind %d large schemas: %d nodes are kept, counted %d, want at most %d", i+1, nodes, s.nodes, keptNodes)
		}
	}
	few := NewSchemas(2)
	for i := range 5 {
		few.Check(fmt.Appendf(nil, `{"minProperties":%d}`, i), []byte(`{}`))
	}
	if got := few.kept.Len(); got != 2 || few.nodes != 2 {
		t.Errorf("kept %d schemas of %d nodes, want 2 of 2", got, few.nodes)
	}
}
