package wire

import (
	"bytes"
	"sync"
)

// Frame is one piece of an answer in OpenAI's chat form: a block of a stream, or a whole
// completion. It goes out as it came unless PutText, PutCalls or one of their like was
// called. What is asked of it is looked up once, in one descent, when it is first asked.
//
// A frame is borrowed: it is valid until the next one is asked for. Who keeps it longer
// keeps what [Frame.Own] gives, and who drops that calls [Frame.Free].
type Frame struct {
	// Raw is the frame exactly as it came, of a stream with the blank line that ends it.
	Raw []byte
	// Data is the JSON in it: one chunk, or the completion. It is nil for a block that
	// carries none, such as a comment, and for the end marker.
	Data []byte
	// Whole says that Data is a completion and not a chunk.
	Whole bool
	// Done marks the end of a stream, "data: [DONE]".
	Done bool
	// More says that the next frame is already here, so that a writer need not flush yet.
	More bool

	shape  *Shape // of the chunks before; nil: there are none to compare with
	looked bool
	table
	decoded
	changes []Change // by choice; empty: nothing is changed
	extra   bool     // only what is put goes out: Data is another chunk, to write it by
	owned   bool
	pooled  []byte // the memory of an owned frame
}

// decoded is the text of a choice, where it had escapes.
type decoded struct {
	text []byte
	of   int // the place of the choice, from 1 on; 0: of none
}

// Choice is one choice of a frame, by the places in Data of what may change. Spans of what
// is not there are empty.
type Choice struct {
	Index     int  // as it came, or else the place in the list
	Object    Span // the choice itself
	Body      Span // its delta or message
	Content   Span
	Calls     Span // tool_calls
	Reasoning Span // the value of reasoning_content, reasoning or reasoning_text
	Finish    Span // finish_reason
	// Reason is the finish reason, "" if there is none yet.
	Reason string
	// Says reports that the body has something in it that a client would act on: text,
	// reasoning, a call.
	Says bool
	// Thinks reports that there is reasoning with a text.
	Thinks bool
	// Acts reports a call in the form of before tool_calls, or what a tool of the
	// upstream's own has found.
	Acts bool

	// SaysText reports whether the content is more than white space.
	SaysText bool

	calls, beside bool // they say something: the calls, another member
}

// MaxChoices is how many choices of an answer are read; OpenAI's limit for n.
const MaxChoices = 128

// look finds what the frame holds.
func (f *Frame) look() *table {
	if f.looked {
		return &f.table
	}
	f.looked, f.of = true, 0
	if f.shape != nil && f.shape.matches(f) {
		return &f.table
	}
	f.locate(f.Data, f.Whole)
	if f.shape != nil {
		f.shape.learn(f)
	}
	return &f.table
}

// IsChunk reports whether the frame is a chunk or a completion; false for JSON of another
// kind, such as an error, and for a block without data.
func (f *Frame) IsChunk() bool { return f.Data != nil && f.look().ok }

// Choices are those of the frame, none if it is no chunk. They are not to be changed.
func (f *Frame) Choices() []Choice {
	if !f.IsChunk() {
		return nil
	}
	return f.choices
}

// Usage is the upstream's count of tokens, an object, or nil.
func (f *Frame) Usage() []byte {
	if f.Data == nil {
		return nil
	}
	f.look()
	for _, v := range [...]Span{f.usage, f.inner} {
		if !v.IsNull(f.Data) && f.Data[v.Start] == '{' {
			return v.Of(f.Data)
		}
	}
	return nil
}

// Failed reports whether the frame is an error in the place of a chunk.
func (f *Frame) Failed() bool { return f.Data != nil && !f.look().failure.Empty() }

// Finishes reports whether a choice has a finish reason.
func (f *Frame) Finishes() bool {
	for i := range f.Choices() {
		if f.choices[i].Reason != "" {
			return true
		}
	}
	return false
}

// Says reports whether a client would act on the frame as it goes out. Of what is no object
// nobody knows what it says.
func (f *Frame) Says() bool {
	if !f.IsChunk() {
		return len(f.Data) > 0 && f.Data[0] != '{'
	}
	for i := range f.choices {
		says := f.choices[i].Says
		if i < len(f.changes) {
			says = f.changes[i].says(&f.choices[i])
		}
		if says {
			return true
		}
	}
	return false
}

// Text is the content of a choice, by its place, decoded. ok is false if it is neither a
// string nor null. It is valid as long as the frame is.
func (f *Frame) Text(place int) (text []byte, ok bool) {
	at := f.choices[place].Content
	if at.IsNull(f.Data) || f.Data[at.Start] != '"' {
		return nil, at.IsNull(f.Data)
	}
	raw := at.Of(f.Data)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	if f.of != place+1 {
		if cap(f.text) < len(raw) {
			room := len(raw)
			if !f.Whole { // the next chunk may be longer, and has the same room
				room += room / 4
			}
			f.text = make([]byte, 0, room)
		}
		text, err := unquote(f.text[:0], raw)
		if err != nil {
			f.of = 0
			return nil, false
		}
		f.text, f.of = text, place+1
	}
	return f.text, true
}

// pieceSize is how many bytes of a text are decoded at once where it is read in pieces.
const pieceSize = 32 << 10

// Pieces calls take for the content of a choice piece by piece, until that returns false: a
// whole answer may be large, and need not be there a second time, decoded. ok is false where
// Text's is; that is known only at the end, but it is the same every time. A piece is valid
// until the next one.
func (f *Frame) Pieces(place int, take func(piece []byte) bool) (ok bool) {
	raw := f.choices[place].Content.Of(f.Data)
	if !f.Whole && len(raw) <= pieceSize || len(raw) == 0 || raw[0] != '"' || f.of == place+1 {
		text, ok := f.Text(place)
		if len(text) > 0 {
			take(text)
		}
		return ok
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		for text := raw[1 : len(raw)-1]; len(text) > 0; {
			piece := text[:Units(text, pieceSize)]
			if text = text[len(piece):]; !take(piece) {
				return true
			}
		}
		return true
	}
	room := pieceRoom.Get().(*[]byte)
	defer pieceRoom.Put(room)
	if len(raw) <= pieceSize {
		text, err := unquote((*room)[:0], raw)
		*room = text[:0]
		if err == nil && len(text) > 0 {
			take(text)
		}
		return err == nil
	}
	return decodePieces(raw, room, take)
}

// decodePieces hands over the text of a long JSON string in pieces, which it decodes into room.
func decodePieces(raw []byte, room *[]byte, take func(piece []byte) bool) (ok bool) {
	var quoted []byte
	for text := raw[1 : len(raw)-1]; len(text) > 0; {
		piece := text[:Units(text, pieceSize)]
		text = text[len(piece):]
		quoted = append(append(append(quoted[:0], '"'), piece...), '"')
		decoded, err := unquote((*room)[:0], quoted)
		if *room = decoded[:0]; err != nil {
			return false
		}
		if !take(decoded) {
			return true
		}
	}
	return true
}

// pieceRoom is memory that whole texts are decoded into, at most a piece each.
var pieceRoom = sync.Pool{New: func() any { return new([]byte) }}

// Hole is the one string in which chunks like this one differ, and the number of the shape
// that they have; 0 if there is none. The number changes with every chunk that has another
// shape, so that what was learned of one chunk holds for all that have its number.
func (f *Frame) Hole() (at Span, shape int) {
	if f.Data == nil || f.shape == nil {
		return Span{}, 0
	}
	f.look()
	s := f.shape
	return Span{s.hole.Start, s.hole.End + len(f.Data) - s.size}, s.number
}

// Own returns a copy that stays valid until its Free is called. An owned frame is its own: who
// gives the frame on as well takes a [Frame.Copy].
func (f *Frame) Own() *Frame {
	if f.owned {
		return f
	}
	return f.Copy()
}

// Copy returns a copy that stays valid until its Free is called, whatever becomes of the frame.
func (f *Frame) Copy() *Frame {
	own := frames.Get().(*Frame)
	raw, data := own.pooled[:0], f.Data
	at := bytes.Index(f.Raw, data)
	raw = append(raw, f.Raw...)
	if data != nil && at < 0 { // it came on several lines
		at = len(raw)
		raw = append(raw, data...)
	}
	own.choices, own.changes = append(own.choices[:0], f.choices...), append(own.changes[:0], f.changes...)
	choices, changes := own.choices, own.changes
	*own = Frame{Raw: raw[:len(f.Raw):len(f.Raw)], Whole: f.Whole, Done: f.Done, looked: f.looked, table: f.table,
		decoded: decoded{text: own.text}, changes: changes, extra: f.extra, owned: true, pooled: raw}
	own.choices = choices
	for i := range changes {
		changes[i].own()
	}
	if data != nil {
		own.Data = raw[at : at+len(data) : at+len(data)]
	}
	return own
}

// Like returns a further chunk of a choice, of which nothing goes out but what is put into it:
// with the frame's members, and no usage. The frame stays valid as long as it does.
func (f *Frame) Like(index int) *Frame {
	f.look()
	like := &Frame{Raw: f.Raw, Data: f.Data, looked: true, table: f.table, extra: true, owned: true}
	like.choices = []Choice{{Index: index}}
	return like
}

// frames are those that were owned and are free.
var frames = sync.Pool{New: func() any { return new(Frame) }}

// maxPooled is how large the memory of a frame may be that is kept for the next one.
const maxPooled = 64 << 10

// Free gives the memory of an owned frame back. It must not be used any more. For a borrowed
// one it does nothing.
func (f *Frame) Free() {
	if !f.owned {
		return
	}
	if poison {
		for i := range f.pooled {
			f.pooled[i] = '!'
		}
	}
	if cap(f.pooled) <= maxPooled && cap(f.text) <= maxPooled {
		frames.Put(f)
	}
}
