package repair

import (
	"bytes"
	"strconv"

	"github.com/callgate/callgate/sdk/relaxed"
)

// mend reads what is not strict JSON. The reader is given a piece of a string or a
// single byte at a time, so that it is known of every byte that it writes which
// bytes of the text it stands for.
func (o *object) mend(text []byte) {
	if !o.mending {
		o.beginMending(text)
	}
	for o.at < len(text) && !o.closed && o.fault == nil {
		c := text[o.at]
		switch {
		case o.quote == 0:
			if c == '"' || c == '\'' {
				o.quote = c
			}
			o.feed(text, o.at+1)
		case c == o.quote:
			o.quote = 0
			o.feed(text, o.at+1)
		default:
			if !o.mendString(text) {
				return
			}
		}
	}
}

// beginMending has the reader read again what strict has read. That was strict JSON
// and has gone out, so nothing of it is written a second time.
func (o *object) beginMending(text []byte) {
	if o.reader == nil || o.reader.MaxDepth() != o.maxDepth {
		o.reader = relaxed.NewReader(o.maxDepth)
	}
	o.reader.Reset()
	o.frames.reset()
	o.mending, o.skip, o.at = true, o.sent-o.start, o.start
	inside := o.state == inString || o.state == inKey
	o.feed(text, o.sent)
	if inside {
		o.quote = '"'
	}
}

// mendString reads some of a string. It reports false if more text is needed.
func (o *object) mendString(text []byte) bool {
	n, kind := nextUnit(text[o.at:])
	switch kind {
	case unitCut:
		return false
	case unitUTF8, unitHalf:
		o.refuseUnit(kind)
	case unitOK, unitEscape, unitOther:
		o.feed(text, o.at+n)
	}
	return true
}

// feed gives the reader the text up to end.
func (o *object) feed(text []byte, end int) {
	for o.at < end && o.fault == nil {
		n, tok := o.reader.Feed(text[o.at:end])
		o.at += n
		o.note(text, tok)
	}
}

// note deals with what the reader has just read.
func (o *object) note(text []byte, tok relaxed.Token) {
	certain := o.at
	switch tok {
	case relaxed.Bad:
		o.refuseByte(text[o.at])
		return
	case relaxed.Key:
		if !o.frames.key(o.reader.Key()) {
			o.refuseKey(o.at - 1)
			return
		}
	case relaxed.ObjectOpen:
		o.frames.open('{')
		certain-- // the reader holds the brace
	case relaxed.ArrayOpen:
		o.frames.open('[')
	case relaxed.ObjectClose, relaxed.ArrayClose:
		o.frames.close()
		o.closed = len(o.frames.stack) == 0
	case relaxed.String, relaxed.Number, relaxed.Bool, relaxed.Null:
		o.frames.value()
	case relaxed.More, relaxed.Done:
		if o.quote == 0 {
			certain-- // the first byte of a number or a word, which the reader holds
		}
	}
	o.take(text, certain)
}

// take gives out what the reader has written, which stands for the text up to
// certain.
func (o *object) take(text []byte, certain int) {
	piece := o.reader.Out
	if len(piece) == 0 {
		return
	}
	o.reader.Out = piece[:0]
	skip := min(o.skip, len(piece))
	o.skip -= skip
	piece = piece[skip:]
	if certain <= o.sent {
		return
	}
	o.same = o.same && bytes.Equal(piece, text[o.sent:certain])
	o.sent = certain
	if !o.typing {
		o.out = append(o.out, piece...)
		return
	}
	held := o.typer.holding()
	o.out = append(o.out, o.typer.Read(piece, nil)...)
	if !held && o.typer.holding() {
		o.heldAt = certain - 1 // a string begins with one byte
	}
}

// refuseByte notes a byte that cannot be read.
func (o *object) refuseByte(c byte) {
	if (c == '{' || c == '[') && o.reader.Depth() == o.maxDepth {
		o.refuseDepth()
		return
	}
	o.refuse(o.at, describe(c)+" cannot stand here.", hintStrict)
}

func (o *object) refuseDepth() {
	o.refuse(o.at, "the text nests deeper than "+strconv.Itoa(o.maxDepth)+" levels.", hintDeep)
}

// describe names a byte.
func describe(c byte) string {
	switch {
	case c == '\n' || c == '\r':
		return "a new line"
	case c > ' ' && c < 0x7f:
		return strconv.QuoteRune(rune(c))
	}
	return "this character"
}
