package plugins

import (
	"encoding/binary"
	"fmt"

	"github.com/callgate/callgate/sdk/abi"
)

// fields are those of each kind of event in its encoding: n is a number and s a
// string.
var fields = [...]string{
	abi.Content: "s", abi.Reasoning: "s", abi.CallStart: "nss", abi.Args: "ns",
	abi.CallEnd: "n", abi.Malformed: "nn", abi.End: "n", abi.Cut: "n", abi.Repair: "s",
}

// countEvents counts encoded events without allocating, up to the first that is
// not one, so that their number can be bounded before they are decoded.
func countEvents(b []byte) int {
	count := 0
	for len(b) > 0 && int(b[0]) < len(fields) {
		kind := b[0]
		b = b[1:]
		for _, f := range fields[kind] {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return count
			}
			b = b[n:]
			if f == 's' {
				if v > uint64(len(b)) {
					return count
				}
				b = b[v:]
			}
		}
		count++
	}
	return count
}

// grammar holds the events of a run to what the ABI says of offsets and indexes.
// What events mean the chain of parsers checks.
type grammar struct {
	fed   int  // bytes of the region so far
	next  int  // index of the next call
	open  bool // call next-1 is open
	ended bool // by End or Malformed
}

// check looks at the next event.
func (g *grammar) check(e *abi.Event) error {
	if g.ended {
		return fmt.Errorf("event %v after the end of the region", e.Kind)
	}
	switch e.Kind {
	case abi.CallStart:
		if g.open || e.Index != g.next {
			return fmt.Errorf("call %d begins, want %d and no other open", e.Index, g.next)
		}
		if e.Name == "" {
			return fmt.Errorf("call %d has no name", e.Index)
		}
		g.next++
		g.open = true
	case abi.Args, abi.CallEnd:
		if !g.open || e.Index != g.next-1 {
			return fmt.Errorf("event %v of call %d, which is not open", e.Kind, e.Index)
		}
		g.open = e.Kind == abi.Args
	case abi.Cut:
		if g.open && e.Index != g.next-1 {
			return fmt.Errorf("event %v of call %d, which is not open", e.Kind, e.Index)
		}
		g.open = false
	case abi.Malformed, abi.End:
		return g.end(e)
	}
	return nil
}

// end looks at the event that ends the region. From is 0 in End.
func (g *grammar) end(e *abi.Event) error {
	if e.From > e.To || e.To > g.fed {
		return fmt.Errorf("event %v of bytes %d to %d, but %d were fed", e.Kind, e.From, e.To, g.fed)
	}
	g.ended = true
	if e.Kind == abi.Malformed { // an open call is void
		return nil
	}
	return g.finish()
}

// finish looks at what is left open when the region has ended: what went out of a call would
// stay half a call.
func (g *grammar) finish() error {
	if g.open {
		return fmt.Errorf("the region ends inside call %d", g.next-1)
	}
	return nil
}
