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
			for size := 1; size <= len(c.in); size++ {
				var typer repair.Typer
				var heard log
				var out []byte
				typer.Begin(tool, 0)
				for _, piece := range cut(c.in, size, size) {
					out = append(out, typer.Read([]byte(piece), &heard)...)
				}
				if string(out) != c.out || typer.Changed() != (c.in != c.out) {
					t.Fatalf("%s in pieces of %d: got %s, %v, want %s", c.in, size, out, typer.Changed(), c.out)
				}
				if heard.Builder.String() != c.heard {
					t.Fatalf("%s in pieces of %d: heard %q, want %q", c.in, size, heard.Builder.String(), c.heard)
				}
			}
		})
	}
}
