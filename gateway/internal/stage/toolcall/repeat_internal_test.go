package toolcall

import "testing"

// TestDeed holds that how a call is written does not tell it from another, and what it says does.
func TestDeed(t *testing.T) {
	t.Parallel()
	first := newDeed("f", []byte(`{"a":1,"b":"é"}`))
	for args, same := range map[string]bool{`{ "b": "\u00e9", "a": 1 }`: true, `{"a":1,"b":"e"}`: false, `{"a":1}`: false, `{}`: false} {
		if got := newDeed("f", []byte(args)) == first; got != same {
			t.Errorf("%s: got the same %v, want %v", args, got, same)
		}
	}
	if newDeed("g", []byte(`{"a":1,"b":"é"}`)) == first {
		t.Error("calls of two tools are one")
	}
}
