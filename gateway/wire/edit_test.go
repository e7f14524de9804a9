package wire_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/wire"
)

func TestRemove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`{}`, `{}`},
		{`{"x":1}`, `{"x":1}`},
		{`{"a":1}`, `{}`},
		{`{"a":1,"b":[2]}`, `{}`},
		{`{"a":1,"x":{"a":1}}`, `{"x":{"a":1}}`},
		{`{"x":1,"a":1}`, `{"x":1}`},
		{`{"x":1,"a":1,"b":2}`, `{"x":1}`},
		{`{ "x" : 1 , "a" : "," , "y" : 2 , "b":3 }`, `{ "x" : 1 , "y" : 2}`},
		{`{"a":1,"x":1,"b":2,"y":"\"a\":","a":4}`, `{"x":1,"y":"\"a\":"}`},
		{"{\"x\":1,\n\"a\":null,\n\"y\":1.0}", "{\"x\":1,\n\"y\":1.0}"},
		{`{"x":1,"\u0061":2}`, `{"x":1}`},
		{`{"x":"a"}`, `{"x":"a"}`},
		{`["a"]`, `["a"]`},
	} {
		if got := string(wire.Splice([]byte(c.in), wire.Remove([]byte(c.in), "a", "b"))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

func TestDisjoint(t *testing.T) {
	t.Parallel()
	at := func(from, to int) []wire.Edit { return []wire.Edit{{At: wire.Span{Start: from, End: to}}} }
	for _, c := range []struct {
		a, b []wire.Edit
		want bool
	}{
		{at(1, 3), at(3, 5), true},
		{at(1, 4), at(3, 5), false},
		{at(2, 2), at(2, 2), true}, // two insertions at one place
		{at(2, 2), at(1, 3), false},
		{at(2, 2), at(2, 3), true},
		{at(3, 3), at(2, 3), true},
	} {
		if wire.Disjoint(c.a, c.b) != c.want || wire.Disjoint(c.b, c.a) != c.want {
			t.Errorf("%v and %v: want %t", c.a[0].At, c.b[0].At, c.want)
		}
	}
}
