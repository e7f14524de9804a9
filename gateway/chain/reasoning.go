package chain

import "github.com/callgate/callgate/sdk/abi"

// reasoning knows whether the text is inside of the model's reasoning.
type reasoning struct {
	begins  Reasoning // how the output begins, as long as that may still turn out
	open    bool
	opened  *marker // how it began; nil if the prompt did that
	classes uint16  // classes of markers that were read
	spoken  uint16  // classes of markers that were text
}

// kind is what text is at present.
func (r *reasoning) kind() abi.Kind {
	if r.open {
		return abi.Reasoning
	}
	return abi.Content
}

// opening is the marker that a literal, read now, begins reasoning with, or nil. edge says that
// it stands right behind markup, begun that text came before it.
func (r *reasoning) opening(m *meaning, at *place, edge, begun bool) *marker {
	for _, k := range m.opens {
		switch {
		case r.open && r.ends(k), !r.open && !k.first && (at.lineBlank || edge || r.classes&(1<<k.class) != 0 && !at.quoted()), !r.open && k.first && !begun:
			return k
		}
	}
	return nil
}

// closing reports whether a literal ends reasoning here, or has lost what it ends.
func (r *reasoning) closing(m *meaning, inCode bool) bool {
	for _, k := range m.closes {
		switch {
		case r.open && r.ends(k):
			return true
		case !r.open && !k.bound && !inCode && r.spoken&(1<<k.class) == 0:
			return true
		}
	}
	return false
}

// ends reports whether the markers of k are those of the open reasoning. Where the
// prompt began it, all are but those that are ordinary text.
func (r *reasoning) ends(k *marker) bool {
	if r.opened == nil {
		return !k.bound
	}
	return k.class == r.opened.class
}

// begin opens reasoning with a marker: an end marker is no surprise any more.
func (r *reasoning) begin(k *marker) {
	r.open, r.opened, r.begins = true, k, Closed
	r.classes |= 1 << k.class
}

// mention takes note of markers that are text: the end marker of such a class is text too.
func (r *reasoning) mention(m *meaning) {
	for _, k := range m.opens {
		r.spoken |= 1 << k.class
	}
}

// leave ends the reasoning.
func (r *reasoning) leave() { r.open, r.opened = false, nil }
