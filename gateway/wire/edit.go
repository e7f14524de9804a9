package wire

import "slices"

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
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.At.Start - b.At.Start })
	out := make([]byte, 0, len(text)+Growth(edits))
	from := 0
	for _, e := range edits {
		out = append(append(out, text[from:e.At.Start]...), e.With...)
		from = e.At.End
	}
	return append(out, text[from:]...)
}
