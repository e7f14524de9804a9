package responses

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// strictByTree is what isStrict says, of a schema as a tree.
func strictByTree(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !strictByTree(e) })
	case map[string]any:
		properties, has := v["properties"].(map[string]any)
		if has || v["type"] == "object" {
			required, _ := v["required"].([]any)
			for name := range properties {
				if !slices.Contains(required, any(name)) {
					return false
				}
			}
			if v["additionalProperties"] != false {
				return false
			}
		}
		for name, e := range v {
			if !slices.Contains([]string{"enum", "const", "default", "examples", "required"}, name) && !strictByTree(e) {
				return false
			}
		}
	}
	return true
}

// schemas are such as are strict, nearly strict and nothing of the kind.
func schemas(depth int) *rapid.Generator[any] {
	leaf := rapid.SampledFrom([]any{nil, true, false, 1.5, "object", "a\"b\\", []any{}, map[string]any{}})
	if depth == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) any {
		below := schemas(depth - 1)
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return rapid.SliceOfN(below, 0, 3).Draw(t, "list")
		case 1:
			name := rapid.SampledFrom([]string{"type", "properties", "required", "additionalProperties", "items", "enum", "default", "a"})
			return rapid.MapOfN(name, below, 0, 4).Draw(t, "object")
		case 2:
			names := []string{"a", "type", "x\"y", "properties"}
			properties, required := map[string]any{}, []any{}
			for _, n := range names[:rapid.IntRange(0, len(names)).Draw(t, "properties")] {
				properties[n], required = below.Draw(t, n), append(required, n)
			}
			return map[string]any{"type": "object", "properties": properties, "required": required[rapid.IntRange(0, min(1, len(required))).Draw(t, "missing"):], "additionalProperties": false}
		}
		return leaf.Draw(t, "leaf")
	})
}

// TestIsStrict holds that a schema which is read once is judged as its tree, and that all of a strict one is read.
func TestIsStrict(t *testing.T) {
	t.Parallel()
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		tree := schemas(4).Draw(t, "schema")
		text, err := json.MarshalIndent(tree, "", rapid.SampledFrom([]string{"", " \t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		want := strictByTree(tree)
		seen[want]++
		if got := isStrict(text); got != want {
			t.Fatalf("got %v of %s", got, text)
		}
		if s := (strictScan{text: text}); want && (!s.value(nil) || s.at != len(text)) {
			t.Fatalf("read %d bytes of %d of %s", s.at, len(text), text)
		}
	})
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("got %v", seen)
	}
}

// TestIsStrictDeep has a schema as deep as one may be, all of which has to be read to judge it.
func TestIsStrictDeep(t *testing.T) {
	t.Parallel()
	const levels = maxDepth / 2
	text := strings.Repeat(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":`, levels) + strings.Repeat(" ", 1<<20) + "%s" + strings.Repeat("}}", levels)
	for inside, want := range map[string]bool{"1": true, `{"type":"object"}`: false} {
		s := strictScan{text: []byte(strings.Replace(text, "%s", inside, 1))}
		if got := s.value(nil); got != want || want && s.at != len(s.text) {
			t.Errorf("got %v behind %d bytes of %d", got, s.at, len(s.text))
		}
	}
}
