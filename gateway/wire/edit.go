package wire

import (
	"bytes"
	"cmp"
	"slices"
)

// Edit replaces a part of a text. An empty span inserts.
type Edit struct {
	At   Span
	With []byte
}

// Shifted returns the edits for a text that has the edited one at offset by.
func Shifted(edits []Edit, by int) []Edit {
	out := make([]Edit, len(edits))
	for i, e := range edits {
		out[i] = Edit{Span{e.At.Start + by, e.At.End + by}, e.With}
	}
	return out
}

// Growth is by how much the edits lengthen a text.
func Growth(edits []Edit) (n int) {
	for _, e := range edits {
		n += len(e.With) - (e.At.End - e.At.Start)
	}
	return n
}

// Splice returns text with the edits, which must not overlap. Edits at one place are put
// in in their order. text is not changed; edits is sorted.
func Splice(text []byte, edits []Edit) []byte {
	sortEdits(edits)
	out := make([]byte, 0, len(text)+Growth(edits))
	from := 0
	for _, e := range edits {
		out = append(append(out, text[from:e.At.Start]...), e.With...)
		from = e.At.End
	}
	return append(out, text[from:]...)
}

func sortEdits(edits []Edit) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Or(a.At.Start-b.At.Start, a.At.End-b.At.End) })
}

// Disjoint reports whether edits leave each other's places alone.
func Disjoint(a, b []Edit) bool {
	for _, x := range a {
		for _, y := range b {
			if x.At.Start < y.At.End && y.At.Start < x.At.End || inside(x.At, y.At) || inside(y.At, x.At) {
				return false
			}
		}
	}
	return true
}

// inside reports whether an insertion is within what another edit replaces.
func inside(insertion, replaced Span) bool {
	return insertion.Empty() && replaced.Start < insertion.Start && insertion.Start < replaced.End
}

// Remove are the edits that take members out of an object that fills the text, each with one
// of the commas around it. Names are compared as they are meant, without their escapes.
func Remove(object []byte, members ...string) (edits []Edit) {
	kept, from := -1, -1 // where the last member ends that stays, and where those begin that go behind it
	c := cursor{b: object}
	c.each('{', func(_ int, key []byte) bool {
		start, gone := c.key, slices.Contains(members, string(Key(key)))
		end := c.value().End
		switch {
		case gone && from < 0:
			from = start
		case !gone && from >= 0: // with the comma behind them
			edits = append(edits, Edit{At: Span{from, start}})
			from = -1
		}
		if !gone {
			kept = end
		}
		return true
	})
	if from >= 0 {
		if kept >= 0 { // with the comma in front
			from = kept
		}
		edits = append(edits, Edit{At: Span{from, bytes.LastIndexByte(object, '}')}})
	}
	return edits
}
