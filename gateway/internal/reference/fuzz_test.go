package reference_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

func class(p *repair.Problem) string {
	if p == nil {
		return ""
	}
	return p.Class
}

// FuzzFromSchema reads any schema without a panic, and what it reads are valid rules.
func FuzzFromSchema(f *testing.F) {
	for _, s := range []string{
		`{"properties":{"id":{"x-reference":{"tool":"l","match":"title","value":"id","min_ratio":0.7}}}}`,
		`{"$defs":{"a":{"$ref":"#/$defs/a","x-reference":{"tool":"l","match":"t","value":"v"}}},"properties":{"p":{"$ref":"#/$defs/a"},"q":{"items":{"anyOf":[{"$ref":"#"}]}}}}`,
		`{"x-reference":5}`, `{"properties":{"a":{"x-reference":{"tool":1}},"b":{"items":[{"x-reference":null}]}}}`, `["x-reference"]`, `{"x-reference"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		rules, problems := reference.FromSchema("f", schema)
		for i, r := range rules {
			if err := r.Validate(); err != nil || r.Tool != "f" {
				t.Errorf("got the rule %+v, %v, want a valid one of f", r, err)
			}
			if i > 0 && rules[i-1].Argument >= r.Argument {
				t.Errorf("got %q behind %q, want each argument once and in order", r.Argument, rules[i-1].Argument)
			}
		}
		if len(problems) > 11 {
			t.Errorf("got %d problems, want few", len(problems))
		}
		again, _ := reference.FromSchema("f", schema)
		if !slices.Equal(rules, again) {
			t.Errorf("got %v at first and %v then, want the same", rules, again)
		}
	})
}

// FuzzStrip checks with a reader of its own that nothing goes but the keyword in
// schemas, and all of that does.
func FuzzStrip(f *testing.F) {
	for _, s := range []string{
		`[{"function":{"parameters":{"properties":{"id":{"x-reference":{"tool":"l"},"type":"integer"}}}}}]`,
		`[{"parameters":{"x-reference":1 , "x-reference":2,"properties":{"x-reference":{"enum":["x-reference"], "x-reference":[]}}}}]`,
		`[{"parameters":{"items":[{"x-reference":1}],"const":{"x-reference":1}}},{"x-reference":1}]`,
		` { "parameters" : { "x-reference" : { } , "anyOf" : [ { "a" : 1 , "x-reference" : "}" } ] } } `, `[{"parameters":{"x-reference"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, tools []byte) {
		out := stripped(t, tools)
		_, deep := wire.Depth(tools, 128)
		if !bytes.Contains(tools, []byte(`"x-reference"`)) || deep >= 0 || !valid(tools) {
			if out != string(tools) {
				t.Errorf("got %s, want %s as it is", out, tools)
			}
			return
		}
		if !valid([]byte(out)) {
			t.Fatalf("got %s from %s, want JSON", out, tools)
		}
		if want, got := without(t, tools, true), without(t, []byte(out), false); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %s, want %v", tools, out, want)
		}
	})
}

func valid(text []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	if d.SkipValue() != nil {
		return false
	}
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF)
}

// without reads JSON into trees of members in their order, and leaves the keyword out of
// schemas if cut is true. Strings and numbers are as they stand in the text.
func without(t *testing.T, text []byte, cut bool) any {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	var read func(in string) any
	read = func(in string) any {
		switch d.PeekKind() {
		case '{':
			mustToken(t, d)
			object := []any{"object"}
			for d.PeekKind() != '}' {
				name := mustToken(t, d).String()
				value := read(below(in, name))
				if !cut || in != "schema" || name != "x-reference" {
					object = append(object, name, value)
				}
			}
			mustToken(t, d)
			return object
		case '[':
			mustToken(t, d)
			array := []any{"array"}
			if in == "schemas" {
				in = "data"
			}
			for d.PeekKind() != ']' {
				array = append(array, read(in))
			}
			mustToken(t, d)
			return array
		}
		v, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		return string(v)
	}
	return read("tools")
}

func mustToken(t *testing.T, d *jsontext.Decoder) jsontext.Token {
	t.Helper()
	token, err := d.ReadToken()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// below is what a member of something is: tools, schema, schemas (by name) or data.
func below(in, name string) string {
	switch {
	case in == "tools" && name == "function":
		return "tools"
	case in == "tools" && name == "parameters", in == "schemas":
		return "schema"
	case in == "schema" && slices.Contains(strings.Fields("properties patternProperties $defs definitions dependentSchemas dependencies"), name):
		return "schemas"
	case in == "schema" && slices.Contains(strings.Fields("items prefixItems additionalItems unevaluatedItems contains additionalProperties "+
		"unevaluatedProperties propertyNames anyOf oneOf allOf not if then else"), name):
		return "schema"
	}
	return "data"
}

// FuzzResolve resolves any arguments against any result without a panic. What comes out
// differs at the reference alone, and is a value that the result holds.
func FuzzResolve(f *testing.F) {
	for _, s := range [][2]string{
		{`[{"id":17,"title":"Buy milk"}]`, `{"id":"Buy Milk","x":"Buy milk"}`},
		{`{"tasks":[{"id":"a\"b","title":"Straße"},{"id":1.50,"title":"\u00e9"}]}`, ` {"x":[{"id":1}], "\u0069d" : "STRASSE" } `},
		{"```\n{\"r\":\"[{\\\"id\\\":true,\\\"title\\\":\\\"x\\\"}]\"}\n```", `{"id":["x","X"]}`},
		{`[{"id":2,"title":"Don’t buy milk","x":[{"id":3,"title":"mіlk"}],"note":"[{\"id\":4,\"title\":\"milk\"}]"}]`, `{"id":"Don't buy milk"}`},
		{`[{"id":5,"title":"去超市买牛奶 C++ XVII"}]`, `{"id":"超市买牛奶 c++ xvii"}`},
		{`[{"id":1,"title":"a"},{"id":2,"title":"A"}]`, `{"id":"a","id":"b"}`}, {`[{"id":`, `{"id":`}, {`Created 42`, `{"id":42}`},
	} {
		f.Add([]byte(s[0]), s[1])
	}
	rules := []reference.Rule{taskRule, taskRule}
	rules[1].Argument, rules[1].Match = "id[]", "task.title"
	f.Fuzz(func(t *testing.T, content []byte, args string) {
		for _, rule := range rules {
			text := wire.AppendQuoted(nil, content)
			c := conversation.Read(talk([]result{{Content: text}}))
			out, done, problem, checked := reference.New([]reference.Rule{rule}, c).Resolve("complete_task", args)
			if !json.Valid([]byte(args)) && (checked || out != args || problem != nil) {
				t.Fatalf("got %s, %v, checked %v of no JSON, want it as it is", out, problem, checked)
			}
			if len(done) == 0 {
				if out != args {
					t.Fatalf("got %s from %s without a word", out, args)
				}
				continue
			}
			if problem != nil && !strings.HasPrefix(problem.Path, "id") {
				t.Errorf("got a problem at %q, want it at the argument", problem.Path)
			}
			if err := sameButID(out, args, string(content), len(done)); err != nil {
				t.Fatalf("%s from %s: %v", out, args, err)
			}
		}
	})
}

// sameButID checks that two objects are the same byte for byte but for the scalars
// of the member id, of which n differ, and that these stand in the result.
func sameButID(out, args, content string, n int) error {
	a, b := fields(out), fields(args)
	if len(a) != len(b) {
		return fmt.Errorf("got %d pieces, want %d", len(a), len(b))
	}
	differ := 0
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		differ++
		if i%2 == 0 {
			return fmt.Errorf("got %q outside of the reference, want %q", a[i], b[i])
		}
		typed := `"`+a[i]+`"` == b[i] // 17 for "17", which the result may have as 1.7e1
		if !json.Valid([]byte(a[i])) || a[i][0] != '"' && !typed && !strings.Contains(content, a[i]) {
			return fmt.Errorf("got the value %s, which the result does not hold", a[i])
		}
	}
	if differ != n {
		return fmt.Errorf("got %d changes, want %d", differ, n)
	}
	return nil
}

// fields cuts an object into text and the scalars of its member id, by turns.
func fields(object string) []string {
	text := []byte(object)
	root, _ := wire.Value(text, 0)
	id := conversation.Member(text, root, "id")
	places := []wire.Span{id}
	if !id.Empty() && text[id.Start] == '[' {
		places = nil
		wire.Elements(text[:id.End], id.Start, func(_ int, at wire.Span) bool {
			places = append(places, at)
			return true
		})
	}
	var pieces []string
	from := 0
	for _, p := range places {
		pieces = append(pieces, object[from:p.Start], object[p.Start:p.End])
		from = p.End
	}
	return append(pieces, object[from:])
}
