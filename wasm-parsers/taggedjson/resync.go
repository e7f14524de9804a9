package taggedjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk/chars"
)

// resync finds the end of a block inside of what is read as JSON, for the case that
// the JSON turns out to be bad. If a string of the first of two blocks lacks its
// end, then the second block lies inside that string. A block ends at an end marker
// that a start marker follows; an end marker alone may be text about the format.
type resync struct {
	end, start string
	matched    int // bytes of end, and then of start
	at         int // place behind the end marker that was read last
	found      int // place behind the end marker of a block, or 0
}

// read reads b, which begins at byte pos of the region.
func (r *resync) read(b []byte, pos int) {
	for i := 0; i < len(b) && r.found == 0; i++ {
		if r.matched == 0 {
			n := bytes.IndexByte(b[i:], r.end[0])
			if n < 0 {
				return
			}
			i += n
		}
		r.readByte(b[i], pos+i)
	}
}

func (r *resync) readByte(c byte, pos int) {
	n := r.matched - len(r.end) // bytes of start
	switch {
	case n < 0 && c == r.end[r.matched]:
		if r.matched++; r.matched == len(r.end) {
			r.at = pos + 1
		}
	case n >= 0 && c == r.start[n]:
		if r.matched++; n+1 == len(r.start) {
			r.found = r.at
		}
	case n == 0 && chars.IsSpace(c):
	case n == 1 && r.start[0] == r.end[0] && c == r.end[1]:
		r.matched = 2 // the end marker once more
	case c == r.end[0]:
		r.matched = 1
	default:
		r.matched = 0
	}
}
