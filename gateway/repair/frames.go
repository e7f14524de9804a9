package repair

import (
	"strconv"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// fewKeys is how many keys of an object are compared one by one. More are looked up
// in a set.
const fewKeys = 32

// frames are the objects and arrays that are open, with the keys that were read in
// each object.
type frames struct {
	stack []frame
	names []byte // the decoded keys of all open objects, one behind the other
	ends  []int  // where each ends in names
}

type frame struct {
	array bool
	done  int // elements of an array that are complete
	first int // the object's first key in ends
	set   map[string]struct{}
}

func (f *frames) reset() {
	clear(f.stack) // lets go of the sets
	f.stack, f.names, f.ends = f.stack[:0], f.names[:0], f.ends[:0]
}

// open notes an opening bracket.
func (f *frames) open(c byte) {
	f.stack = append(f.stack, frame{array: c == '[', first: len(f.ends)})
}

// close notes a closing bracket, and that the value it closes is complete.
func (f *frames) close() {
	last := len(f.stack) - 1
	f.ends = f.ends[:f.stack[last].first]
	f.names = f.names[:f.end(len(f.ends)-1)]
	f.stack[last].set = nil
	f.stack = f.stack[:last]
	f.value()
}

// value notes that a value is complete.
func (f *frames) value() {
	if n := len(f.stack); n > 0 {
		f.stack[n-1].done++
	}
}

// end is where a key ends in names.
func (f *frames) end(key int) int {
	if key < 0 {
		return 0
	}
	return f.ends[key]
}

func (f *frames) name(key int) []byte { return f.names[f.end(key-1):f.ends[key]] }

// key notes a key of the innermost object and reports whether it is its first.
func (f *frames) key(name []byte) bool {
	top := &f.stack[len(f.stack)-1]
	count := len(f.ends) - top.first
	fresh := true
	if count < fewKeys {
		for i := top.first; i < len(f.ends) && fresh; i++ {
			fresh = string(f.name(i)) != string(name)
		}
	} else {
		if top.set == nil {
			top.set = make(map[string]struct{}, 2*count)
			for i := top.first; i < len(f.ends); i++ {
				top.set[string(f.name(i))] = struct{}{}
			}
		}
		_, found := top.set[string(name)]
		if fresh = !found; fresh {
			top.set[string(name)] = struct{}{}
		}
	}
	f.names = append(f.names, name...)
	f.ends = append(f.ends, len(f.names))
	return fresh
}

// path names the place that was reached: the member whose value is read, or was read
// last, as in location.city or items[2].id.
func (f *frames) path() string {
	var b strings.Builder
	for i, fr := range f.stack {
		next := len(f.ends)
		if i+1 < len(f.stack) {
			next = f.stack[i+1].first
		}
		switch {
		case fr.array:
			b.WriteString("[" + strconv.Itoa(fr.done) + "]")
		case next > fr.first:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(excerpt(string(f.name(next - 1))))
		}
	}
	return longPath(b.String())
}

// longPath cuts a path that is too long for a message, at its front: its end says
// more.
func longPath(path string) string {
	const limit = 200
	if len(path) > limit {
		path = "…" + strings.ToValidUTF8(path[len(path)-limit:], "")
	}
	return path
}

// depthOr is maxDepth, or the default if it is less than 1.
func depthOr(maxDepth int) int {
	if maxDepth < 1 {
		return abi.DefaultMaxDepth
	}
	return maxDepth
}
