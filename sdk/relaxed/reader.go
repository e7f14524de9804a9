package relaxed

import "github.com/callgate/callgate/sdk/abi"

// Token is what a Reader has just read.
type Token uint8

// The tokens. Those that begin or end something are given when their last byte
// has been read; a number's when the byte after it has been seen.
const (
	More        Token = iota // all of the input was read and there is no new token
	ObjectOpen               // {
	ObjectClose              // }
	ArrayOpen                // [
	ArrayClose               // ]
	Key                      // a member's name and the colon behind it
	String                   // a string value
	Number                   // a number
	Bool                     // true or false
	Null                     // null
	Done                     // the value was already complete, nothing was read
	Bad                      // the next byte cannot be read; this is final
)

// Repairs is the set of slips that a Reader has repaired.
type Repairs uint8

// The slips that have one possible meaning.
const (
	TrailingComma Repairs = 1 << iota // {"a": 1,}
	SingleQuotes                      // {'a': 'b'}
	PythonWord                        // True, False, None
	ControlChar                       // a raw newline or the like inside a string
	BareKey                           // {a: 1}
	QuoteEscape                       // \' in any string
)

type state uint8

const (
	wantValue   state = iota // a value must follow: at the top or after a colon
	wantFirst                // after [: a value or ]
	wantNext                 // after a comma in an array: a value, or ] if it was trailing
	wantKey                  // after {: a key or }
	wantNextKey              // after a comma in an object: a key, or } if it was trailing
	wantColon                // after a key
	wantComma                // after a value inside an array or object
	inString
	inEscape // after a backslash
	inHex    // in the four digits of \uXXXX
	inNumber
	inWord
	inBareKey
	isDone
	isBad
)

// Reader turns one relaxed JSON value into strict JSON. It is made by NewReader or Init.
type Reader struct {
	// Out is the strict JSON so far, all of it certain. The caller may take it and
	// cut it to length 0 after any call. A key, a number, a word, a comma and an
	// opening brace are written when what follows has made them certain: {bad}
	// writes nothing.
	Out []byte

	maxDepth int
	stack    []byte // the open brackets
	held     []byte // read, in strict form, but not certain yet
	comma    int    // place in held of a comma that may be trailing, or -1
	keyAt    int    // place in held of the key
	keyEnd   int
	key      []byte
	repairs  Repairs
	state    state
	isKey    bool // the string that is being read is a key
	quote    byte // what ends the string
	hex      int  // digits of \uXXXX still to come
	number   numberState
}

// NewReader makes a reader for one value that may nest maxDepth deep; less than 1
// means abi.DefaultMaxDepth.
func NewReader(maxDepth int) *Reader {
	r := &Reader{}
	r.Init(maxDepth)
	return r
}

// Init makes a reader ready, also one that is not from NewReader: for a value that may nest
// maxDepth deep, as NewReader takes it. It keeps the reader's memory, Out's too.
func (r *Reader) Init(maxDepth int) {
	if maxDepth < 1 {
		maxDepth = abi.DefaultMaxDepth
	}
	r.maxDepth = maxDepth
	r.Reset()
}

// Reset makes the reader ready for another value. It keeps its memory, Out's too.
func (r *Reader) Reset() {
	r.Out, r.stack, r.held, r.key = r.Out[:0], r.stack[:0], r.held[:0], r.key[:0]
	r.comma, r.repairs, r.state = -1, 0, wantValue
}

// Depth is how many objects and arrays are open.
func (r *Reader) Depth() int { return len(r.stack) }

// Between reports whether the last member or element is complete, so that a comma comes next
// or the end of the object or array that is open.
func (r *Reader) Between() bool { return r.state == wantComma }

// Key is the decoded name of the member that the last Key token was for. It is
// valid until the next Feed.
func (r *Reader) Key() []byte { return r.key }

// MaxDepth is how deep the value may nest.
func (r *Reader) MaxDepth() int { return r.maxDepth }

// Repaired says what had to be repaired so far.
func (r *Reader) Repaired() Repairs { return r.repairs }

// Feed reads the next bytes of the value until a token is complete, and says how
// many it read. White space before the value is dropped. Once the value is
// complete nothing more is read, so the caller knows where it ended. The tokens
// and the bytes of Out do not depend on how the input was cut.
func (r *Reader) Feed(src []byte) (n int, tok Token) {
	for n < len(src) {
		used, tok := r.step(src[n:])
		n += used
		if tok != More {
			return n, tok
		}
	}
	return n, More
}

// End says that there is no more input. It gives Number if that completes a number
// at the top, Done if the value was complete, and Bad if it is not.
func (r *Reader) End() Token {
	switch {
	case r.state == isDone:
		return Done
	case r.state == inNumber && r.number.complete() && len(r.stack) == 0:
		r.flush()
		return r.end(Number)
	}
	return r.fail()
}

// step reads at least one byte of src, or changes the state.
func (r *Reader) step(src []byte) (int, Token) {
	switch r.state {
	case inString:
		return r.readString(src)
	case inEscape:
		return r.readEscape(src[0])
	case inHex:
		return r.readHex(src[0])
	case inNumber:
		return r.readNumber(src[0])
	case inWord:
		return r.readWord(src[0])
	case inBareKey:
		return r.readBareKey(src[0])
	case isDone:
		return 0, Done
	case isBad:
		return 0, Bad
	default:
		return r.readBetween(src)
	}
}
