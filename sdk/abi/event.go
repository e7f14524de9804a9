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

// MaxText is how long the text of an event may become that OpenText has begun.
const MaxText = 1<<21 - 1

// OpenText appends a Content, Reasoning or Args event without its text, which begins at
// the second result. The caller appends it, in as many pieces as it likes, and calls
// CloseText behind the last. index counts for Args alone.
func OpenText(b []byte, kind Kind, index int) (open []byte, at int) {
	b = append(b, byte(kind))
	if kind == Args {
		b = appendInt(b, index)
	}
	b = append(b, 0, 0, 0)
	return b, len(b)
}

// CloseText sets the length of the text of the last event in b, which begins at byte at.
// The length always takes three bytes, so that the text need not be moved.
func CloseText(b []byte, at int) {
	n := len(b) - at
	b[at-3], b[at-2], b[at-1] = byte(n)|0x80, byte(n>>7)|0x80, byte(n>>14)
}

// DecodeEvents decodes all of b, which comes from an untrusted guest, and appends
// the events to dst. The events share no memory with b; their strings share one copy of it.
func DecodeEvents(dst []Event, b []byte) ([]Event, error) {
	d := decoder{s: string(b)}
	for d.err == nil && len(d.s) > 0 {
		e := Event{Kind: Kind(d.byte())}
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

// decoder reads fields off the front of s and remembers the first error. What it reads
// are parts of s, so that decoding copies nothing.
type decoder struct {
	s   string
	err error
}

func (d *decoder) fail() { d.err, d.s = errShort, "" }

func (d *decoder) byte() byte {
	if d.s == "" {
		d.fail()
		return 0
	}
	c := d.s[0]
	d.s = d.s[1:]
	return c
}

func (d *decoder) int() int {
	if len(d.s) > 0 && d.s[0] < 0x80 { // nearly always
		return int(d.byte())
	}
	v := uint64(0)
	for i := range min(len(d.s), 5) {
		c := d.s[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if v > 1<<31-1 {
				break
			}
			d.s = d.s[i+1:]
			return int(v)
		}
	}
	d.fail()
	return 0
}

func (d *decoder) string() string {
	n := d.int()
	if n > len(d.s) {
		d.fail()
		return ""
	}
	s := d.s[:n]
	d.s = d.s[n:]
	return s
}

// count reads how many entries of at least size bytes follow. More than can be there are
// an error, so that a caller may make room for all of them.
func (d *decoder) count(size int) int {
	n := d.int()
	if n > len(d.s)/size {
		d.fail()
		return 0
	}
	return n
}
