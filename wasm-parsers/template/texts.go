package template

import "github.com/callgate/callgate/sdk/chars"

// maxSpace is how much white space waits for the text behind it.
const maxSpace = 4 << 10

// texts gives out the texts of regions of one kind, which come in pieces. White
// space at the ends of a region is no text, as in transformers, which strips it;
// but two texts with markup between them stay as far apart as the model wrote the
// first gap.
type texts struct {
	wrote    bool
	start    bool   // of a region
	gap      bool   // white that waits is the gap, what follows the markup adds nothing
	verbatim bool   // white space counts
	long     bool   // there is more white space than waits
	white    []byte // waits for the text behind it
}

// begin begins a region of a field, nil if it is of none.
func (t *texts) begin(f *field) {
	t.start, t.long, t.verbatim = true, false, f != nil && f.content.name == contentText && f.content.verbatim
	if f != nil && f.joins {
		t.white = append(t.white[:0], f.join...)
		t.gap = true
		return
	}
	t.gap = len(t.white) > 0
}

// write gives text out with use, but for white space that has to wait.
func (t *texts) write(text []byte, use func([]byte)) {
	if t.verbatim {
		t.flush(use)
		use(text)
		t.wrote, t.start = true, false
		return
	}
	if t.start {
		n := 0
		for n < len(text) && chars.IsSpace(text[n]) {
			n++
		}
		if t.wrote && !t.gap { // what is too long for a gap is dropped
			t.white = append(t.white, text[:min(n, maxSpace-len(t.white))]...)
		}
		if text = text[n:]; len(text) == 0 {
			return
		}
		t.start = false
	}
	end := len(text)
	for end > 0 && chars.IsSpace(text[end-1]) {
		end--
	}
	if end > 0 {
		t.flush(use)
		use(text[:end])
		t.wrote, t.long = true, false
	}
	t.white = append(t.white, text[end:]...)
	if t.long = t.long || len(t.white) > maxSpace; t.long {
		t.flush(use)
	}
}

// flush gives out the white space that waits. In front of all text there is none.
func (t *texts) flush(use func([]byte)) {
	if t.wrote && len(t.white) > 0 {
		use(t.white)
	}
	t.white, t.gap = t.white[:0], false
}
