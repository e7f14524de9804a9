package abi

import (
	"errors"
	"strconv"
)

// Kind says what an Event is.
type Kind uint8

// The kinds of events. Their numbers are part of the ABI.
const (
	Content   Kind = 1 // Text for the answer
	Reasoning Kind = 2 // Text of the model's reasoning
	CallStart Kind = 3 // a call begins: Index, Name, and ID if the model wrote one
	Args      Kind = 4 // the next bytes (Text) of the arguments of call Index
	CallEnd   Kind = 5 // call Index is complete and sure
	Malformed Kind = 6 // bytes From to To of the region are not this parser's; an open call is void
	End       Kind = 7 // the region ends at byte To; what was fed beyond it is not this parser's
	Cut       Kind = 8 // the output ended inside call Index; the call is void and its text is lost
	Repair    Kind = 9 // the parser changed what the model wrote: Name says how (args_json, …)
)

// String gives the name that test cases and logs use.
func (k Kind) String() string {
	names := [...]string{"", "content", "reasoning", "call_start", "args", "call_end", "malformed", "end", "cut", "repair"}
	if int(k) < len(names) && k != 0 {
		return names[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Event is one thing that a parser found, in the order of the text. Which fields
// are set depends on the kind. The joined Text of a call's Args events is exactly
// its final JSON. Offsets count bytes from the start of the region.
type Event struct {
	Kind     Kind
	Index    int
	Name, ID string
	Text     string
	From, To int
}

// AppendEvent appends the encoding of e to b: the kind in one byte, then the
// fields of that kind, numbers as unsigned LEB128 and strings behind their length.
func AppendEvent(b []byte, e Event) []byte {
	b = append(b, byte(e.Kind))
	switch e.Kind {
	case Content, Reasoning:
		b = appendString(b, e.Text)
	case CallStart:
		b = appendInt(b, e.Index)
		b = appendString(appendString(b, e.Name), e.ID)
	case Args:
		b = appendString(appendInt(b, e.Index), e.Text)
	case CallEnd, Cut:
		b = appendInt(b, e.Index)
	case Malformed:
		b = appendInt(b, e.From)
		b = appendInt(b, e.To)
	case End:
		b = appendInt(b, e.To)
	case Repair:
		b = appendString(b, e.Name)
	}
	return b
}

// AppendText appends a Content or Reasoning event without a copy of its text.
func AppendText(b []byte, kind Kind, text []byte) []byte {
	return append(appendInt(append(b, byte(kind)), len(text)), text...)
}

// AppendArgs appends an Args event without a copy of its text.
func AppendArgs(b []byte, index int, text []byte) []byte {
	return append(appendInt(appendInt(append(b, byte(Args)), index), len(text)), text...)
}

// DecodeEvents decodes all of b, which comes from an untrusted guest, and appends
// the events to dst. The events share no memory with b.
func DecodeEvents(dst []Event, b []byte) ([]Event, error) {
	d := decoder{b: b}
	for d.err == nil && len(d.b) > 0 {
		e := Event{Kind: Kind(d.b[0])}
		d.b = d.b[1:]
		switch e.Kind {
		case Content, Reasoning:
			e.Text = d.string()
		case CallStart:
			e.Index, e.Name, e.ID = d.int(), d.string(), d.string()
		case Args:
			e.Index, e.Text = d.int(), d.string()
		case CallEnd, Cut:
			e.Index = d.int()
		case Malformed:
			e.From, e.To = d.int(), d.int()
		case End:
			e.To = d.int()
		case Repair:
			e.Name = d.string()
		default:
			return dst, errors.New("abi: unknown event " + e.Kind.String())
		}
		if d.err == nil {
			dst = append(dst, e)
		}
	}
	return dst, d.err
}

func appendString(b []byte, s string) []byte {
	return append(appendInt(b, len(s)), s...)
}

// appendInt appends n, which is not negative, as unsigned LEB128. encoding/binary
// could do it, but brings package reflect into every guest.
func appendInt(b []byte, n int) []byte {
	v := uint64(n)
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

var errShort = errors.New("abi: encoding ends early or holds a number that is too large")

// decoder reads fields off the front of b and remembers the first error.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) int() int {
	v := uint64(0)
	for i, c := range d.b[:min(len(d.b), 5)] {
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if v > 1<<31-1 {
				break
			}
			d.b = d.b[i+1:]
			return int(v)
		}
	}
	d.err, d.b = errShort, nil
	return 0
}

func (d *decoder) string() string {
	n := d.int()
	if n > len(d.b) {
		d.err, d.b = errShort, nil
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}
