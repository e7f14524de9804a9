package wire

import (
	"bytes"
	"slices"
	"strconv"
)

// Origin is an event of an upstream with another API that a frame was made of. It stands in a comment in
// front of the frame's data, so that it goes where the frame goes and what reads chunks does not see it.
type Origin struct {
	Number int    // of the event in its stream, from 1 on
	Data   []byte // on one line, as it came; nil: the frame is another one of the same event
}

// originField begins the line of an origin.
const originField = ":from "

// AppendOrigin appends the line of an origin.
func AppendOrigin(dst []byte, o Origin) []byte {
	dst = strconv.AppendInt(append(dst, originField...), int64(o.Number), 10)
	if o.Data != nil {
		dst = append(append(dst, ' '), o.Data...)
	}
	return append(dst, '\n')
}

// EventFrom is a frame with a chunk, behind the lines of what it was made of.
func EventFrom(origins, data []byte) Frame {
	const field = "data: "
	raw := slices.Concat(origins, []byte(field), data, []byte("\n\n"))
	at := len(origins) + len(field)
	return Frame{Raw: raw, Data: raw[at : at+len(data)]}
}

// Origins are what the frame was made of, in their order; nil for most frames. They are valid as long as it.
func (f *Frame) Origins() []Origin { return f.AppendOrigins(nil) }

// AppendOrigins appends [Frame.Origins] to a list.
func (f *Frame) AppendOrigins(list []Origin) []Origin {
	for rest := f.Raw; ; {
		o, size := readOrigin(rest)
		if size == 0 {
			return list
		}
		list, rest = append(list, o), rest[size:]
	}
}

// Chunk is the frame as it came, without the lines of what it was made of.
func (f *Frame) Chunk() []byte {
	rest := f.Raw
	for {
		_, size := readOrigin(rest)
		if size == 0 {
			return rest
		}
		rest = rest[size:]
	}
}

// What stands for line ends in a block that is on one line. JSON has them nowhere.
const (
	lineFeed       = '\x1e'
	carriageReturn = '\x1d'
)

// AppendFlat appends a block of a stream on one line. ok is false for one that holds what stands for line ends there.
func AppendFlat(dst, block []byte) (flat []byte, ok bool) {
	if bytes.IndexByte(block, lineFeed) >= 0 || bytes.IndexByte(block, carriageReturn) >= 0 {
		return dst, false
	}
	from := len(dst)
	dst = append(dst, block...)
	replace(dst[from:], '\n', lineFeed)
	replace(dst[from:], '\r', carriageReturn)
	return dst, true
}

// AppendUnflat appends what AppendFlat has put on one line, or a part of it.
func AppendUnflat(dst, flat []byte) []byte {
	from := len(dst)
	dst = append(dst, flat...)
	replace(dst[from:], lineFeed, '\n')
	replace(dst[from:], carriageReturn, '\r')
	return dst
}

// CutFlat cuts a block that is on one line behind its first line, whose line end belongs to neither part.
func CutFlat(flat []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(flat, []byte{lineFeed})
	return bytes.TrimSuffix(line, []byte{carriageReturn}), rest
}

func replace(b []byte, what, with byte) {
	for {
		at := bytes.IndexByte(b, what)
		if at < 0 {
			return
		}
		b[at] = with
		b = b[at+1:]
	}
}

// originsSize is how many bytes the lines of origins have that a block begins with.
func originsSize(raw []byte) (size int) {
	for {
		_, n := readOrigin(raw[size:])
		if n == 0 {
			return size
		}
		size += n
	}
}

// readOrigin reads the line of an origin that b begins with. size is that of the line; 0: it is none.
func readOrigin(b []byte) (o Origin, size int) {
	rest, ok := bytes.CutPrefix(b, []byte(originField))
	if !ok {
		return o, 0
	}
	line, _, ok := bytes.Cut(rest, []byte{'\n'})
	if !ok {
		return o, 0
	}
	digits, data, has := bytes.Cut(line, []byte{' '})
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		return o, 0
	}
	if !has {
		data = nil
	}
	return Origin{n, data}, len(originField) + len(line) + len("\n")
}
