package wire

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// Measures are the sizes of JSON text that decide what reading it costs.
type Measures struct {
	// Depth is how deep it nests, counting the outermost value as 1, and TooDeep where a
	// nesting beyond the limit begins, or -1. Behind that place nothing is measured.
	Depth, TooDeep int
	// Values is about how many values there are: members, elements, objects and lists.
	Values int
	// Open is how many names the objects have, at most, that are open at one place.
	Open int
}

// maxMeasured is the deepest nesting that is measured.
const maxMeasured = 255

// Measure measures text, which need not be JSON, in one pass and without memory.
func Measure(b []byte, limit int) (m Measures) {
	limit = min(limit, maxMeasured)
	m.TooDeep = -1
	var names [maxMeasured + 1]int // by depth
	depth, open := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := stringEnd(b, i)
			if end < 0 {
				return m
			}
			i = end - 1
		case '{', '[':
			if m.Values++; depth == limit {
				m.Depth, m.TooDeep = depth+1, i
				return m
			}
			depth++
			m.Depth = max(m.Depth, depth)
		case '}', ']':
			open -= names[depth]
			names[depth] = 0
			depth = max(depth-1, 0)
		case ':':
			names[depth]++
			if open++; open > m.Open {
				m.Open = open
			}
		case ',':
			m.Values++
		}
	}
	return m
}

// seed is that of the names' hashes, so that nobody can choose names that have the same.
var seed = maphash.MakeSeed()

// Repeated returns where a name stands that its object has twice, or -1. The text is JSON, nests
// no deeper than limit, and open is what Measure says of it. It takes eight bytes for each name
// that is open, and none for a few: who keeps the names themselves takes twenty times that.
func Repeated(b []byte, limit, open int) int {
	type object struct{ at, from int }
	var few [128]uint64
	var outer [maxMeasured + 1]object
	hashes := few[:0]
	if open > len(few) {
		hashes = make([]uint64, 0, open)
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := stringEnd(b, i)
			if after := space(b, end); after < len(b) && b[after] == ':' {
				hashes = append(hashes, hashOf(b[i+1:end-1]))
			}
			i = end - 1
		case '{', '[':
			depth++
			outer[depth] = object{i, len(hashes)}
		case '}', ']':
			o := outer[depth]
			if h, twice := twin(hashes[o.from:]); twice {
				if at := second(b, o.at, h); at >= 0 {
					return at
				}
			}
			hashes = hashes[:o.from]
			depth--
		}
	}
	return -1
}

// hashOf is the hash of a name, whose escapes do not matter.
func hashOf(name []byte) uint64 {
	return maphash.Bytes(seed, Key(name))
}

// twin finds a hash that is there twice. It changes the order.
func twin(hashes []uint64) (h uint64, found bool) {
	if len(hashes) <= 8 {
		for i, h := range hashes {
			if slices.Contains(hashes[:i], h) {
				return h, true
			}
		}
		return 0, false
	}
	slices.Sort(hashes)
	for i := 1; i < len(hashes); i++ {
		if hashes[i] == hashes[i-1] {
			return hashes[i], true
		}
	}
	return 0, false
}

// second returns the place of the second name with a hash in the object at a place, or -1 if
// another name has the same.
func second(b []byte, at int, hash uint64) int {
	place, first := -1, ""
	seen := false
	Members(b, at, func(key []byte, v Span) bool {
		if hashOf(key) != hash {
			return true
		}
		name := string(Key(key))
		if seen && name == first {
			place = bytes.LastIndexByte(b[:v.Start], ':') // behind the name
			for place--; b[place] != '"'; place-- {       // white space
			}
			place -= len(key) + 1
			return false
		}
		first, seen = name, true
		return true
	})
	return place
}
