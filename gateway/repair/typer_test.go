package repair_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// log is a Watcher that writes down what it is told.
type log struct{ strings.Builder }

func (l *log) Value(param *abi.Param, first byte) {
	name := "?"
	if param != nil {
		name = param.Name
	}
	fmt.Fprintf(l, "%s%c ", name, first)
}

func (l *log) BeginString() { l.WriteByte('<') }

func (l *log) String(piece []byte, end bool) {
	l.Write(piece)
	if end {
		l.WriteString("> ")
	}
}

func TestTyper(t *testing.T) {
	t.Parallel()
	tool := &abi.Tool{Params: []abi.Param{
		{Name: "n", Types: abi.Integer}, {Name: "o", Types: abi.Object}, {Name: "s", Types: abi.String}, {Name: "any"},
	}}
	for _, c := range []struct{ name, in, out, heard string }{
		{"strings get their types", `{"n": "3", "o":"{}"}`, `{"n": 3, "o":{}}`, `n" o" `},
		{"what fits no type stays", `{"n":"x","o":"[]"}`, `{"n":"x","o":"[]"}`, `n" o" `},
		{"strings that may be", `{"s":"3","any":"a\"b","x":"\\"}`, `{"s":"3","any":"a\"b","x":"\\"}`, `s" <3"> any" <a\"b"> ?" <\\"> `},
		{"other values", `{"n":3,"o":{"n":"3","s":["}\"{"]},"x":[{"n":"3"}],"s":null}`, `{"n":3,"o":{"n":"3","s":["}\"{"]},"x":[{"n":"3"}],"s":null}`, `n3 o{ ?[ sn `},
		{"a key of escapes", `{"\u006e":"3"}`, `{"\u006e":3}`, `n" `},
		{"white space", " { \"n\" : \"3\" } \n", " { \"n\" : 3 } \n", `n" `},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			readsAs(t, tool, nil, 0, c.in, c.out, c.heard)
		})
	}
}

// readsAs holds what a Typer makes of a text, and what it tells, in pieces of every size.
func readsAs(t *testing.T, tool *abi.Tool, root *repair.Shape, maxDepth int, in, want, told string) {
	t.Helper()
	for size := 1; size <= len(in); size++ {
		var typer repair.Typer
		var heard log
		var out []byte
		typer.Begin(tool, root, maxDepth)
		for _, piece := range cut(in, size, size) {
			out = append(out, typer.Read([]byte(piece), &heard)...)
		}
		if string(out) != want || typer.Changed() != (in != want) || heard.Builder.String() != told {
			t.Fatalf("%s in pieces of %d: got %s, %v, heard %q\nwant %s, heard %q", in, size, out, typer.Changed(), heard.Builder.String(), want, told)
		}
	}
}

// TestTyperInside: what is nested is given its type by a shape, and nobody watches it.
func TestTyperInside(t *testing.T) {
	t.Parallel()
	number := &repair.Shape{Types: abi.Integer}
	tree := &repair.Shape{Types: abi.Object, Members: map[string]*repair.Shape{"n": number}}
	tree.Members["more"] = &repair.Shape{Types: abi.Array, Elements: tree}
	root := &repair.Shape{Members: map[string]*repair.Shape{"n": number, "o": tree, "list": {Types: abi.Array, Elements: number},
		"pair": {Types: abi.Array, Prefix: []*repair.Shape{nil, number}, Elements: number},
		"any":  {Types: abi.Object, Others: number, Members: map[string]*repair.Shape{"s": {Types: abi.String}}}}}
	tool := &abi.Tool{Params: []abi.Param{{Name: "n", Types: abi.Integer}, {Name: "o", Types: abi.Object}, {Name: "list", Types: abi.Array}, {Name: "pair", Types: abi.Array}}}
	for _, c := range []struct{ name, in, out, heard string }{
		{"a member", `{"o":{"n":"3","s":"4"},"n":"5"}`, `{"o":{"n":3,"s":"4"},"n":5}`, `o{ n" `},
		{"elements", `{"list":["3", 4, "x", ["5"]], "n": 1}`, `{"list":[3, 4, "x", ["5"]], "n": 1}`, `list[ n1 `},
		{"as deep as it goes", `{"o":{"more":[{"n":"1","more":[{"n":"2"}]},{"n":"3"}],"n":"4"},"n":"5"}`, `{"o":{"more":[{"n":1,"more":[{"n":2}]},{"n":3}],"n":4},"n":5}`, `o{ n" `},
		{"what nobody describes", `{"x":{"n":"3"},"o":{"x":{"n":"3"},"n":"4"}}`, `{"x":{"n":"3"},"o":{"x":{"n":"3"},"n":4}}`, `?{ o{ `},
		{"another value than was said", `{"o":["3"],"list":{"n":"3"},"n":"4"}`, `{"o":["3"],"list":{"n":"3"},"n":4}`, `o[ list{ n" `},
		{"strings with brackets", `{"o":{"s":"}","n":"3"},"s":"a"}`, `{"o":{"s":"}","n":3},"s":"a"}`, `o{ ?" <a"> `},
		{"a string that holds the value", `{"o":"{\"n\":\"3\",\"s\":\"4\"}","n":"4"}`, `{"o":{"n":3,"s":"4"},"n":4}`, `o" n" `},
		{"strings within strings", `{"o":"{\"more\":\"[{\\\"n\\\":\\\"3\\\"}]\"}","list":"[\"1\", 2]"}`, `{"o":{"more":[{"n":3}]},"list":[1, 2]}`, `o" list" `},
		{"a string with another value", `{"o":"[{\"n\":\"3\"}]","list":"{\"n\":\"3\"}"}`, `{"o":"[{\"n\":\"3\"}]","list":"{\"n\":\"3\"}"}`, `o" list" `},
		{"by place", `{"pair":["1","2","3",["4"]],"n":"5"}`, `{"pair":["1",2,3,["4"]],"n":5}`, `pair[ n" `},
		{"by place, in a string", `{"pair":"[\"1\",\"2\"]","n":"5"}`, `{"pair":["1",2],"n":5}`, `pair" n" `},
		{"members of any name", `{"any":{"x":"3","s":"4","y":"z"},"x":"5"}`, `{"any":{"x":3,"s":"4","y":"z"},"x":"5"}`, `?{ ?" <5"> `},
		{"an array", `["3"]`, `["3"]`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			readsAs(t, tool, root, 128, c.in, c.out, c.heard)
		})
	}
}
