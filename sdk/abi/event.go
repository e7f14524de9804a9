package abi

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	return fmt.Sprintf("kind(%d)", uint8(k))
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
		b = binary.AppendUvarint(b, uint64(e.Index))
		b = appendString(appendString(b, e.Name), e.ID)
	case Args:
		b = appendString(binary.AppendUvarint(b, uint64(e.Index)), e.Text)
	case CallEnd, Cut:
		b = binary.AppendUvarint(b, uint64(e.Index))
	case Malformed:
		b = binary.AppendUvarint(b, uint64(e.From))
		b = binary.AppendUvarint(b, uint64(e.To))
	case End:
		b = binary.AppendUvarint(b, uint64(e.To))
	case Repair:
		b = appendString(b, e.Name)
	}
	return b
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
			return dst, fmt.Errorf("abi: unknown event kind %d", uint8(e.Kind))
		}
		if d.err == nil {
			dst = append(dst, e)
		}
	}
	return dst, d.err
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

var errShort = errors.New("abi: encoding ends early or holds a number that is too large")

// decoder reads fields off the front of b and remembers the first error.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) int() int {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > 1<<31-1 {
		d.err, d.b = errShort, nil
		return 0
	}
	d.b = d.b[n:]
	return int(v)
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
