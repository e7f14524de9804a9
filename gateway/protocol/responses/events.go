package responses

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/wire"
)

// events writes events, each whole and with the next number. It writes nothing of an answer
// that is not streamed.
type events struct {
	out    []byte
	number int
	quiet  bool
}

// eventHead begins an event up to where its further members follow.
func (e *events) eventHead(kind string) {
	e.out = append(append(append(e.out, "event: "...), kind...), "\ndata: {\"type\":\""...)
	e.out = append(append(e.out, kind...), `","sequence_number":`...)
	e.out = strconv.AppendInt(e.out, int64(e.number), 10)
	e.number++
}

// eventEnd ends it.
func (e *events) eventEnd() { e.out = append(e.out, "}\n\n"...) }

// raw writes an event whose members are JSON as it is, each with a comma in front.
func (e *events) raw(kind string, members ...[]byte) {
	if e.quiet {
		return
	}
	e.eventHead(kind)
	for _, m := range members {
		e.out = append(e.out, m...)
	}
	e.eventEnd()
}

// text writes an event that ends in a member with a text, of which piece is what stands
// between the quotes: behind before and in front of after.
func (e *events) text(kind string, before, piece []byte, after string) {
	if e.quiet {
		return
	}
	e.eventHead(kind)
	e.out = append(append(append(e.out, before...), piece...), after...)
	e.eventEnd()
}

// pass writes an event that is there already.
func (e *events) pass(kind string, event []byte) {
	e.out = append(append(append(e.out, "event: "...), kind...), "\ndata: "...)
	e.out = append(append(e.out, event...), "\n\n"...)
	e.number++
}

// numbering gives an event, whose own number stands at a place or nowhere, the next number.
func (e *events) numbering(event object, at wire.Span) []wire.Edit {
	next := wire.AppendInt(nil, e.number)
	switch {
	case at.Empty(): // an upstream that does not count
		begin := bytes.IndexByte(event, '{') + 1
		return []wire.Edit{{At: wire.Span{Start: begin, End: begin}, With: slices.Concat([]byte(`"sequence_number":`), next, []byte{','})}}
	case bytes.Equal(at.Of(event), next):
		return nil
	}
	return []wire.Edit{{At: at, With: next}}
}

// appendText appends a text as JSON.
func appendText(b []byte, text string) []byte { return append(wire.AppendQuoted(b, text), '}') }

// clean is the inside of a JSON string as it may stand on one line of a stream. What upstreams
// send is nearly always that already.
func clean(piece []byte) []byte {
	ascii := true
	for i := 0; i < len(piece); i++ {
		switch c := piece[i]; {
		case c >= utf8.RuneSelf:
			ascii = false
		case c < ' ':
			return cleaned(piece)
		case c == '\\':
			n := escape(piece[i:])
			if n == 0 {
				return cleaned(piece)
			}
			i += n - 1
		}
	}
	if !ascii && !utf8.Valid(piece) {
		return cleaned(piece)
	}
	return piece
}

// escape is how many bytes the escape has that b begins with, 0 if it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		const size = len(`\u0000`)
		if len(b) < size {
			return 0
		}
		for _, c := range b[2:size] {
			if (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'f') {
				return 0
			}
		}
		return size
	}
	return 0
}

func cleaned(piece []byte) []byte {
	quoted := make([]byte, 0, len(piece)+2)
	quoted = append(append(append(quoted, '"'), piece...), '"')
	return inner(wire.AppendQuoted(nil, wire.AppendDecoded(nil, quoted)))
}

// replacement is what stands in the place of half a surrogate pair: the other half is nowhere.
const replacement = `\ufffd`

// half is the kind of surrogate that an escape writes: 'h' is the first of a pair, 'l' the
// last, 0 is none.
func half(escape []byte) byte {
	if len(escape) < len(replacement) || escape[1] != 'u' || escape[2]|' ' != 'd' {
		return 0
	}
	switch escape[3] | ' ' {
	case '8', '9', 'a', 'b':
		return 'h'
	case 'c', 'd', 'e', 'f':
		return 'l'
	}
	return 0
}

// hasHalf reports whether there is an escape of a surrogate in the inside of a JSON string.
func hasHalf(piece []byte) bool {
	for i := bytes.IndexByte(piece, '\\'); i >= 0 && i < len(piece); {
		if half(piece[i:]) != 0 {
			return true
		}
		i += max(escape(piece[i:]), 1)
		next := bytes.IndexByte(piece[i:], '\\')
		if next < 0 {
			break
		}
		i += next
	}
	return false
}

// whole is the inside of a JSON string with whole surrogate pairs alone, and the first half of
// one that it ends in.
func whole(piece []byte) (text, rest []byte) {
	for i := 0; i < len(piece); {
		n := 1
		if piece[i] == '\\' {
			n = max(escape(piece[i:]), 1)
		}
		kind := half(piece[i : i+n])
		switch {
		case kind == 'h' && i+n == len(piece):
			return text, piece[i:]
		case kind == 'h' && half(piece[i+n:min(i+2*n, len(piece))]) == 'l' && piece[i+n] == '\\':
			text = append(text, piece[i:i+2*n]...)
			i += 2 * n
			continue
		case kind != 0:
			text = append(text, replacement...)
		default:
			text = append(text, piece[i:i+n]...)
		}
		i += n
	}
	return text, nil
}
