package tools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/repair"
)

// paths lists what a shape says, as far as a depth.
func paths(s *repair.Shape, at string, depth int) (list []string) {
	if s == nil || depth == 0 {
		return nil
	}
	if s.Typed() && at != "" {
		list = append(list, fmt.Sprintf("%s=%d", at, s.Types))
	}
	for name, member := range s.Members {
		list = append(list, paths(member, at+"."+name, depth-1)...)
	}
	for i, element := range s.Prefix {
		list = append(list, paths(element, fmt.Sprintf("%s[%d]", at, i), depth-1)...)
	}
	list = append(list, paths(s.Elements, at+"[]", depth-1)...)
	list = append(list, paths(s.Others, at+".*", depth-1)...)
	slices.Sort(list)
	return list
}

// TestShape reads what schemas say of nested values: 2 is an integer, 16 an object, 32 an array, 64 null.
func TestShape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"nothing nested", `{"type":"object","properties":{"n":{"type":"integer"}}}`, ""},
		{"a member", `{"properties":{"o":{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}}}}}`, ".o.n=2 .o=16"},
		{"elements", `{"properties":{"l":{"type":"array","items":{"type":"integer"}}}}`, ".l=32 .l[]=2"},
		{"an array itself", `{"type":"array","items":{"properties":{"n":{"type":["integer","null"]}}}}`, "[].n=66 []=16"},
		{"nullable", `{"properties":{"o":{"properties":{"n":{"type":"integer","nullable":true}}}}}`, ".o.n=66 .o=16"},
		{"a reference", `{"properties":{"o":{"$ref":"#/$defs/o"}},"$defs":{"o":{"type":"object","properties":{"n":{"type":"integer"}}}}}`, ".o.n=2 .o=16"},
		{"one of two", `{"properties":{"o":{"anyOf":[{"type":"object","properties":{"n":{"type":"integer"}}},{"type":"null"}]}}}`, ".o.n=2 .o=80"},
		{"two that differ", `{"properties":{"o":{"anyOf":[{"properties":{"n":{"type":"integer"}}},{"properties":{"n":{"type":"string"}}}]}}}`, ".o=16"},
		{"two that say different things of what is in it", `{"properties":{"o":{"oneOf":[{"properties":{"p":{"properties":{"n":{"type":"integer"}}}}},{"properties":{"p":{"properties":{"n":{}}}}}]}}}`, ".o.p=16 .o=16"},
		{"itself", `{"properties":{"n":{"type":"integer"},"more":{"type":"array","items":{"$ref":"#"}}}}`, ".more=32 .more[].more=32 .more[].more[].more=32 .more[].more[].n=2 .more[].more[]=16 .more[].n=2 .more[]=16 .n=2"},
		{"by place", `{"properties":{"s":{"type":"string"},"l":{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}}`, ".l[]=2"},
		{"by place, nothing behind", `{"properties":{"l":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false}}}`, ".l=32 .l[1]=4"},
		{"by place, as it was", `{"properties":{"l":{"items":[{"type":"integer"},{"type":"string"},true],"additionalItems":{"type":"boolean"}}}}`, ".l[0]=2 .l[]=8"},
		{"by place, strings", `{"properties":{"l":{"prefixItems":[{"type":"string"},{"type":"string"}]}}}`, ""},
		{"by place, or nothing", `{"properties":{"l":{"anyOf":[{"type":"array","prefixItems":[{"type":"integer"}]},{"type":"null"}]}}}`, ".l=96 .l[0]=2"},
		{"by place, or any", `{"properties":{"l":{"anyOf":[{"type":"array","prefixItems":[{"type":"integer"}]},{"type":"array"}]}}}`, ".l=32"},
		{"by place, or as one", `{"properties":{"l":{"oneOf":[{"type":"array","prefixItems":[{"type":"integer"}]},{"type":"array","items":{"type":"string"}}]}}}`, ".l=32"},
		{"by place, twice", `{"properties":{"l":{"oneOf":[{"type":"array","prefixItems":[{"type":"integer"}]},{"type":"array","prefixItems":[{"type":"string"}]}]}}}`, ".l=32"},
		{"by place, of a reference", `{"properties":{"l":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","prefixItems":[{"properties":{"n":{"type":"integer"}},"type":"object"}]}}}`, ".l=32 .l[0].n=2 .l[0]=16"},
		{"members of any name", `{"properties":{"o":{"type":"object","additionalProperties":{"type":"integer"}}}}`, ".o.*=2 .o=16"},
		{"all members", `{"type":"object","additionalProperties":{"type":"array","items":{"type":"number"}}}`, ".*=32 .*[]=4"},
		{"others beside a string", `{"type":"object","properties":{"s":{"type":"string"},"o":{"properties":{"s":{"type":"string"}}}},"additionalProperties":{"type":"integer"}}`, ".*=2 .o=16"},
		{"none or members of any name", `{"properties":{"o":{"anyOf":[{"type":"object","additionalProperties":{"type":"integer"}},{"type":"null"}]}}}`, ".o.*=2 .o=80"},
		{"two that differ in the others", `{"properties":{"o":{"anyOf":[{"type":"object","additionalProperties":{"type":"integer"}},{"type":"object","additionalProperties":{"type":"string"}}]}}}`, ".o=16"},
		{"others that only one of two has", `{"properties":{"o":{"anyOf":[{"type":"object","additionalProperties":{"type":"integer"}},{"type":"object"}]}}}`, ".o=16"},
		{"others that may be anything", `{"properties":{"o":{"allOf":[{"type":"object","additionalProperties":{"type":"integer"}},{"additionalProperties":true}]}}}`, ".o.*=2 .o=16"},
		{"others and patterns", `{"properties":{"o":{"type":"object","patternProperties":{"^s":{"type":"string"}},"additionalProperties":{"type":"integer"}}}}`, ".o=16"},
		{"an alternative with any others", `{"properties":{"o":{"oneOf":[{"type":"object","additionalProperties":{"type":"integer"}},{"type":"object","additionalProperties":true}]}}}`, ".o=16"},
		{"an alternative without others", `{"properties":{"o":{"oneOf":[{"type":"object","additionalProperties":{"type":"integer"}},{"type":"object","additionalProperties":false}]}}}`, ".o.*=2 .o=16"},
		{"no others", `{"properties":{"o":{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}}}`, ".o.n=2 .o=16"},
		{"strings", `{"properties":{"o":{"type":["object","string"],"properties":{"s":{"type":"string"}}}}}`, ""},
		{"a part that is odd", `{"properties":{"o":{"type":"object","properties":[{"type":"integer"}]},"l":{"items":{"type":"integer"}}}}`, ".l[]=2 .o=16"},
		{"no schema", `["properties","properties"]`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(paths(tools.Shape([]byte(tt.schema)), "", 6), " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestShapeIsBounded: a schema that describes more places than anyone can look into says nothing.
func TestShapeIsBounded(t *testing.T) {
	t.Parallel()
	var defs []string
	for i := range 64 { // sets of places without number
		defs = append(defs, fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},"n":{"type":"integer"}}}`, i, (i*7+1)%64, (i*3+2)%64, (i*5+3)%64))
	}
	schema := `{"anyOf":[{"$ref":"#/$defs/d0"},{"$ref":"#/$defs/d1"}],"$defs":{` + strings.Join(defs, ",") + `}}`
	if tools.Shape([]byte(schema)) == nil {
		t.Log("nothing is said") // either is right: it ends
	}
	circle := `"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/d"},`, 99) + `{"$ref":"#/$defs/d"}]`
	tools.Shape([]byte(`{"required":1,"items":{},` + circle + `,"$defs":{"d":{` + circle + `}}}`)) // 100⁴ ways
	deep := strings.Repeat(`{"properties":{"a":`, 5000) + `{"type":"integer"}` + strings.Repeat(`}}`, 5000)
	tools.Shape([]byte(deep))
}
