package toolcall

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzHasBlank holds that no string of white space alone is overlooked: how it is written does not matter.
func FuzzHasBlank(f *testing.F) {
	for _, text := range []string{`{"city":"Oslo","n":1}`, `{"a":""}`, `{"a": "  "}`, `{"a":"\n\t"}`, `{"a":"\u3000"}`, `{"a":"　"}`, `{"a\"":"x\\","b":""}`, `{"a":["x",{"b":"\u00a0"}]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			t.Skip()
		}
		if anyBlank(value) && !hasBlank(text) {
			t.Errorf("%q has a string of white space alone", text)
		}
	})
}

// TestHasBlank holds that usual arguments are not read any further.
func TestHasBlank(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `[1, true]`, `{"city": "Oslo", "note": "a \"quoted\" \\", "days": [1, "Mon day"], "名": "東京"}`, `{"a":"`, `{"a":"\`} {
		if blank := text == `{"a":"\`; hasBlank(text) != blank {
			t.Errorf("%q: got %v, want %v", text, !blank, blank)
		}
	}
}

func anyBlank(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		for _, e := range v {
			if anyBlank(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if anyBlank(e) {
				return true
			}
		}
	}
	return false
}
