package repair

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawSchema draws a schema of those keywords that a quick knows, with some that it does not.
func drawSchema(t *rapid.T, depth int) any {
	kinds := []string{"string", "integer", "number", "boolean", "null", "enum", "true", "ref", "anyOf", "limits"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array", "object")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "enum":
		return map[string]any{"enum": []any{"a", "b", nil}}
	case "true":
		return true
	case "ref":
		return map[string]any{"$ref": "#/$defs/d"}
	case "limits":
		return map[string]any{"type": "string", "minLength": 1}
	case "anyOf":
		return map[string]any{"anyOf": []any{drawSchema(t, depth-1), map[string]any{"type": "null"}}}
	case "array":
		return map[string]any{"type": "array", "items": drawSchema(t, depth-1)}
	case "object":
		s := map[string]any{"type": "object", "properties": map[string]any{"a": drawSchema(t, depth-1), "b": drawSchema(t, depth-1)}}
		if rapid.Bool().Draw(t, "required") {
			s["required"] = []any{"a"}
		}
		switch rapid.IntRange(0, 2).Draw(t, "others") {
		case 0:
			s["additionalProperties"] = false
		case 1:
			s["additionalProperties"] = drawSchema(t, depth-1)
		}
		return s
	default:
		if rapid.IntRange(0, 4).Draw(t, "list") == 0 {
			return map[string]any{"type": []any{kind, "null"}}
		}
		return map[string]any{"type": kind}
	}
}

func drawValue(t *rapid.T, depth int) string {
	kinds := []string{`"a"`, `"b"`, `"\u00e9 c"`, `""`, "1", "1.0", "-2.5e3", "true", "false", "null", "{}", "[]"}
	if depth == 0 {
		return rapid.SampledFrom(kinds).Draw(t, "value")
	}
	switch rapid.IntRange(0, 3).Draw(t, "nested") {
	case 0:
		return "[" + drawValue(t, depth-1) + " , " + drawValue(t, depth-1) + "]"
	case 1:
		return `{"a": ` + drawValue(t, depth-1) + `, "b":` + drawValue(t, depth-1) + `}`
	case 2:
		return `{ "a":` + drawValue(t, depth-1) + `,"other" : ` + drawValue(t, depth-1) + ` }`
	}
	return rapid.SampledFrom(kinds).Draw(t, "value")
}

// TestQuick holds that what the quick way takes the library takes too, and counts that it is of use.
func TestQuick(t *testing.T) {
	t.Parallel()
	took, fit := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		schema := map[string]any{"$defs": map[string]any{"d": drawSchema(t, 2)}}
		if s, ok := drawSchema(t, 3).(map[string]any); ok {
			maps.Copy(schema, s)
		}
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSchemas(0)
		c := s.schema(text)
		for range 20 {
			value := []byte(drawValue(t, 3))
			quickly := c.quick != nil && c.quick.fits(value)
			quick := c.quick
			c.quick = nil
			problem, checked := s.Check(text, value)
			c.quick = quick
			if quickly && (problem != nil || !checked) {
				t.Fatalf("%s: %s is taken the quick way, and the library says %v, %v", text, value, problem, checked)
			}
			if problem == nil && checked {
				fit++
			}
			if quickly {
				took++
			}
		}
	})
	if took*2 < fit {
		t.Errorf("the quick way takes %d of %d values that fit", took, fit)
	}
}

// TestQuickRefuses holds that the quick way takes no text that is no JSON.
func TestQuickRefuses(t *testing.T) {
	t.Parallel()
	var doc any
	if err := json.Unmarshal([]byte(`{"type":"object","properties":{"a":{}}}`), &doc); err != nil {
		t.Fatal(err)
	}
	q := newQuick(doc)
	for _, text := range []string{"", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":1, }`, `{,}`, `{"a":01}`, `{"a":--1}`, `{"a":"\x"}`, `{"a":"\u12"}`, "{\"a\":\"\n\"}",
		`{"a":[1,]}`, `{"a":[1`, `{"a":tru}`, `{"a":nul`, `{"a":1}}`, `{"a":1} x`, `{a:1}`, `{"a":'x'}`, `{"a":` + strings.Repeat("[", 1000)} {
		if q.fits([]byte(text)) {
			t.Errorf("%s is taken", text)
		}
	}
}
