package reference_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/sdk/abi"
)

type schemaCase struct {
	Name     string
	Schema   json.RawMessage
	Rules    []string
	Problems []string
}

var typeNames = []struct {
	t    abi.Types
	name string
}{{abi.String, "string"}, {abi.Integer, "integer"}, {abi.Number, "number"}, {abi.Boolean, "boolean"}}

// write writes a rule as the cases do.
func write(r reference.Rule) string {
	var types []string
	for _, n := range typeNames {
		if r.Types&n.t != 0 {
			types = append(types, n.name)
		}
	}
	if types == nil {
		types = []string{"any"}
	}
	return fmt.Sprintf("%s %s %s %s %v %s", r.Argument, r.From, r.Match, r.Value, r.MinRatio, strings.Join(types, ","))
}

func TestFromSchema(t *testing.T) {
	t.Parallel()
	eachCase(t, "testdata/schema", func(t *testing.T, c *schemaCase) {
		schema := []byte(literal(c.Schema))
		rules, problems := reference.FromSchema("complete_task", schema)
		var got []string
		for _, r := range rules {
			got = append(got, write(r))
			if r.Tool != "complete_task" {
				t.Errorf("got a rule of %q, want one of complete_task", r.Tool)
			}
			if err := r.Validate(); err != nil {
				t.Errorf("got the rule %v, which is not valid: %v", r, err)
			}
			plain := r
			plain.Types = 0
			if typed := plain.Typed(schema); typed != r {
				t.Errorf("Typed: got the types of %s, want those of %s", write(typed), write(r))
			}
		}
		if !slices.Equal(got, c.Rules) {
			t.Errorf("got the rules %q, want %q", got, c.Rules)
		}
		if !slices.Equal(problems, c.Problems) {
			t.Errorf("got the problems %q, want %q", problems, c.Problems)
		}
	})
}

func TestTyped(t *testing.T) {
	t.Parallel()
	schema := `{"properties":{"id":{"type":"integer"},"ids":{"type":"array","items":{"$ref":"#/$defs/id"}}},"$defs":{"id":{"type":["string","null"]}}}`
	for _, tt := range []struct {
		name, argument, schema string
		want                   abi.Types
	}{
		{"a property", "id", schema, abi.Integer},
		{"elements", "ids[]", schema, abi.String},
		{"an array", "ids", schema, 0},
		{"another property", "i", schema, 0},
		{"no such path", "id.x", schema, 0},
		{"no schema", "id", ``, 0},
		{"no object", "id", `true`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule := reference.Rule{Tool: "f", Argument: tt.argument, From: "l", Match: "title", Value: "id"}
			if got := rule.Typed([]byte(tt.schema)).Types; got != tt.want {
				t.Errorf("got the types %b, want %b", got, tt.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*reference.Rule)
		want   string // part of the error; "" for none
	}{
		{"valid", func(*reference.Rule) {}, ""},
		{"long paths", func(r *reference.Rule) { r.Argument, r.Match, r.Value = "a[][].b", "a.b.c", "ä ö" }, ""},
		{"the least ratio", func(r *reference.Rule) { r.MinRatio = 0.1 }, ""},
		{"the largest ratio", func(r *reference.Rule) { r.MinRatio = 1 }, ""},
		{"too low a ratio", func(r *reference.Rule) { r.MinRatio = 0.09 }, "0.09 is not between 0.1 and 1"},
		{"too high a ratio", func(r *reference.Rule) { r.MinRatio = 1.1 }, "1.1 is not between"},
		{"a negative ratio", func(r *reference.Rule) { r.MinRatio = -1 }, "-1 is not between"},
		{"no number", func(r *reference.Rule) { r.MinRatio = math.NaN() }, "NaN is not between"},
		{"no tool", func(r *reference.Rule) { r.Tool = "" }, "the tool that has the argument"},
		{"no source", func(r *reference.Rule) { r.From = "" }, "the tool whose results"},
		{"no argument", func(r *reference.Rule) { r.Argument = "" }, "a name is empty"},
		{"an argument of elements alone", func(r *reference.Rule) { r.Argument = "[]" }, "a name is empty"},
		{"an open bracket", func(r *reference.Rule) { r.Argument = "a[" }, "brackets"},
		{"a closing bracket", func(r *reference.Rule) { r.Argument = "a]" }, "brackets"},
		{"brackets that are turned", func(r *reference.Rule) { r.Argument = "a][" }, "brackets"},
		{"brackets within each other", func(r *reference.Rule) { r.Argument = "a[[]]" }, "brackets"},
		{"an index", func(r *reference.Rule) { r.Argument = "a[0]" }, "brackets"},
		{"brackets in front", func(r *reference.Rule) { r.Argument = "[]a" }, "brackets"},
		{"a long argument", func(r *reference.Rule) { r.Argument = strings.Repeat("a.", 16) + "a" }, "more than 16 steps"},
		{"no match", func(r *reference.Rule) { r.Match = "" }, "the member to match"},
		{"a match that ends in a dot", func(r *reference.Rule) { r.Match = "a." }, "the member to match"},
		{"a value that begins with a dot", func(r *reference.Rule) { r.Value = ".a" }, "the member with the value"},
		{"a long value", func(r *reference.Rule) { r.Value = strings.Repeat("a.", 16) + "a" }, "more than 16 steps"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := taskRule
			tt.change(&r)
			err := r.Validate()
			if tt.want == "" && err != nil {
				t.Errorf("got %v, want no error", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
