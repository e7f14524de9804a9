package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/callgate/callgate/gateway/wire"
)

// FuzzMembers walks any text without a panic, and finds in valid objects what
// encoding/json finds.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` { "a" : [1,{"b":"\"}"}] , "c":null } `, `{"a":"\\"}`, `{"a":`, `{"a"}`, `{"a":"`, `[1,2`, `{"a":1,}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := map[string]string{}
		ok := wire.Members(b, 0, func(key []byte, v wire.Span) bool {
			if v.Start < 0 || v.End > len(b) || v.Start > v.End {
				t.Fatalf("span %v of %d bytes", v, len(b))
			}
			wire.Elements(b[:v.End], v.Start, func(int, wire.Span) bool { return true })
			var k string
			if json.Unmarshal(append(append([]byte{'"'}, key...), '"'), &k) == nil {
				got[k] = string(v.Of(b))
			}
			return true
		})
		wire.Depth(b, 10)
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) != nil || want == nil {
			return
		}
		if !ok {
			t.Fatalf("valid object %q was not walked", b)
		}
		for k, v := range want {
			if got[k] != string(v) {
				t.Fatalf("%q: member %q is %q, want %q", b, k, got[k], v)
			}
		}
	})
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		depth int
		at    int
	}{
		{`1`, 1, 0, -1},
		{`{"a":[1]}`, 2, 2, -1},
		{`{"a":[1]}`, 1, 2, 5},
		{`"[[[["`, 1, 0, -1},
		{`"\"[[["`, 1, 0, -1},
		{`[[`, 5, 2, -1},
	} {
		if depth, at := wire.Depth([]byte(c.text), c.limit); depth != c.depth || at != c.at {
			t.Errorf("Depth(%s, %d) = %d, %d, want %d, %d", c.text, c.limit, depth, at, c.depth, c.at)
		}
	}
}
