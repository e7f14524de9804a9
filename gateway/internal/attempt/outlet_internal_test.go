package attempt

import (
	"testing"

	"github.com/callgate/callgate/gateway/wire"
)

// TestOutlet gives out what came through the stages.
func TestOutlet(t *testing.T) {
	var o outlet
	if !o.empty() {
		t.Error("there is something in a new one")
	}
	a, b := &wire.Frame{Raw: []byte("a")}, &wire.Frame{Raw: []byte("b")}
	o.put(a)
	o.put(b)
	if place := o.own(1); place != 2 {
		t.Errorf("got the place %d behind two frames", place)
	}
	if f, last := o.next(); f != a || last || o.empty() {
		t.Errorf("got %q, last %v", f.Raw, last)
	}
	o.free()
	if f, last := o.next(); string(f.Raw) != "b" || !last {
		t.Errorf("got %q, last %v", f.Raw, last)
	}
	if !o.empty() || o.given != 0 {
		t.Errorf("all was given out, and it is not empty: %+v", o)
	}
	o.free()
}
