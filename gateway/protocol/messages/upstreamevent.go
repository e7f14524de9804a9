package messages

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway/wire"
)

// upstreamEvent is an event of an upstream of the Messages API, as it came.
type upstreamEvent struct {
	block   []byte // on one line
	data    []byte // JSON on one line
	at      int    // where that is in the block; -1: on several lines
	kind    string
	index   int // of the block that it is of; -1: it has none
	place   wire.Span
	named   bool // it has the name of its type, and nothing but name and data
	comment bool // it is no event
}

// readEvent reads a block of an upstream's stream that is on one line.
func readEvent(block []byte) upstreamEvent {
	e := upstreamEvent{block: block, at: -1, index: -1}
	names, lines, comments, others := 0, 0, 0, 0
	var name []byte
	for rest := block; len(rest) > 0; {
		var line []byte
		from := len(block) - len(rest)
		line, rest = wire.CutFlat(rest)
		field, value, _ := bytes.Cut(line, []byte{':'})
		from += len(line) - len(value)
		value = bytes.TrimPrefix(value, []byte{' '})
		switch {
		case len(line) == 0:
		case len(field) == 0:
			comments++
		case string(field) == "event":
			name, names = value, names+1
		case string(field) != "data":
			others++
		default:
			trimmed := bytes.TrimLeft(value, " \t")
			from += bytes.Index(block[from:], trimmed)
			if lines++; lines == 1 {
				e.data, e.at = bytes.TrimRight(trimmed, " \t"), from
			} else {
				e.data, e.at = slices.Concat(e.data, []byte{' '}, trimmed), -1
			}
		}
	}
	e.comment = comments > 0 && names+lines+others == 0
	wire.Members(e.data, 0, func(key []byte, at wire.Span) bool {
		switch string(wire.Key(key)) {
		case "type":
			e.kind = text(at.Of(e.data))
		case "index":
			e.index, e.place = number(at.Of(e.data)), at
		}
		return true
	})
	e.named = names == 1 && comments+others == 0 && string(name) == e.kind
	return e
}

// number is a place among blocks, -1 if v is none.
func number(v value) int {
	if len(v) == 0 || len(v) > 9 {
		return -1
	}
	n := 0
	for _, c := range v {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// find is the place of a member of the event; of several it is the last one, as with clients.
func (e *upstreamEvent) find(name string) wire.Span {
	return e.within(wire.Span{End: len(e.data)}, name)
}

// within is the place of a member of an object in the event.
func (e *upstreamEvent) within(object wire.Span, name string) (found wire.Span) {
	if object.Empty() {
		return found
	}
	wire.Members(e.data[:object.End], object.Start, func(key []byte, at wire.Span) bool {
		if string(wire.Key(key)) == name {
			found = at
		}
		return true
	})
	return found
}

// append writes the event with edits of its data: as it came, or with its name in front and its data on one line.
func (e *upstreamEvent) append(dst []byte, edits []wire.Edit) []byte {
	switch {
	case e.comment, e.named && len(edits) == 0:
		return wire.AppendUnflat(dst, e.block)
	case e.named && e.at >= 0:
		dst = wire.AppendUnflat(dst, e.block[:e.at])
		dst = append(dst, wire.Splice(e.data, edits)...)
		return wire.AppendUnflat(dst, e.block[e.at+len(e.data):])
	}
	dst = append(append(append(dst, "event: "...), e.kind...), "\ndata: "...)
	return append(append(dst, wire.Splice(e.data, edits)...), "\n\n"...)
}
