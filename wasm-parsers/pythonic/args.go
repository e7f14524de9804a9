package pythonic

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// status is how far an argReader has come.
type status uint8

const (
	more status = iota // the input was read
	done               // the closing parenthesis was read
	bad                // the next byte cannot be read
)

// place is what an argReader expects next.
type place uint8

const (
	wantArg    place = iota // a keyword, or the closing parenthesis
	inKey                   // the rest of a keyword
	wantValue               // a value must follow
	wantItem                // a value, or what closes the list
	wantMember              // a key of a dict, or what closes it
	inMember                // a prefix of a key
	wantColon
	afterValue
	atText // behind the first quote of a string
	atTriple
	inText
	inQuotes // behind quotes that may end a triple-quoted string
	inEscape
	inRawEscape
	inHex
	inOctal
	afterText // a string may go on in another pair of quotes
	inPrefix  // letters behind a string: a prefix of its next part, or a keyword
	inToken   // a number, a word, or a prefix of a string
	afterToken
	inBare // text without quotes
)

// argReader turns the arguments of one call, from behind its opening parenthesis,
// into a JSON object. It never reads a byte twice.
type argReader struct {
	// out is the object so far, without its last brace. See flush.
	out      []byte
	repaired bool // what was written is no Python
	quoted   bool // a text without quotes is code, not a call

	maxDepth int
	tool     *sdk.Tool // nil if it was not offered
	place    place
	stack    []byte // the open brackets: ( of the call, [ { and t of a tuple, p of what may be one, s of a set, q of a dict or a set
	parens   []int  // places in out of the brackets of p and q, which wait until it is known what they are
	first    bool   // nothing stands in the innermost bracket yet
	seen     region.Keys
	param    *sdk.Param // whose value is read
	token    []byte     // a keyword, number, word or bare text, as far as it was read
	text     text
	gap      []byte // white space behind the quote that may end the string
	bare     bareText
}

// begin makes the reader ready for the arguments of a call of tool, which is nil if
// it was not offered.
func (a *argReader) begin(tool *sdk.Tool, maxDepth int) {
	*a = argReader{
		out: append(a.out[:0], '{'), maxDepth: maxDepth, tool: tool, first: true, quoted: a.quoted,
		stack: append(a.stack[:0], '('), parens: a.parens[:0], token: a.token[:0], gap: a.gap[:0], seen: a.seen,
	}
	a.seen.Clear()
}

// flush passes on what is certain.
func (a *argReader) flush(out *sdk.Out) {
	n := len(a.out)
	if len(a.parens) > 0 {
		n = a.parens[0]
	}
	if n == 0 {
		return
	}
	out.Args(a.out[:n])
	a.out = a.out[:copy(a.out, a.out[n:])]
	for i := range a.parens {
		a.parens[i] -= n
	}
}

// feed reads from src and says how much.
func (a *argReader) feed(src []byte) (n int, s status) {
	for n < len(src) && s == more {
		var used int
		if a.place == inText {
			used, s = a.readText(src[n:])
		} else {
			used, s = a.step(src[n])
		}
		n += used
	}
	return n, s
}

// step reads the byte c, or only changes the place.
func (a *argReader) step(c byte) (int, status) {
	switch a.place {
	case inKey:
		return a.readKey(c)
	case inToken:
		return a.readToken(c)
	case afterToken:
		return a.readAfterToken(c)
	case inBare:
		return a.readBare(c)
	case atText, atTriple, inQuotes, inEscape, inRawEscape, inHex, inOctal:
		return a.stepText(c)
	case inPrefix:
		return a.readPrefix(c)
	case inMember:
		return a.readMemberPrefix(c)
	}
	if chars.IsSpace(c) {
		a.space(c)
		return 1, more
	}
	switch a.place {
	case wantArg:
		return a.readArg(c)
	case wantValue, wantItem:
		return a.readValue(c)
	case wantMember:
		return a.readMember(c)
	case wantColon:
		return a.readColon(c)
	case afterText:
		return a.readAfterText(c)
	default:
		return a.readAfterValue(c)
	}
}

// space keeps white space that may be text.
func (a *argReader) space(c byte) {
	if a.place == afterText && len(a.gap) < maxName {
		a.gap = append(a.gap, c)
	}
}

// atTop reports whether the innermost bracket is the call's.
func (a *argReader) atTop() bool { return len(a.stack) == 1 }

func (a *argReader) top() byte { return a.stack[len(a.stack)-1] }

func (a *argReader) readArg(c byte) (int, status) {
	switch {
	case c == ')':
		return a.closeBracket(c)
	case keyStart(c):
		a.place, a.token = inKey, a.token[:0]
		return 0, more
	}
	return 0, bad // an argument without a keyword, whose parameter would be a guess
}

// keyStart tells what a keyword may begin with.
func keyStart(c byte) bool { return nameStart(c) || c == '$' || c == '@' }

// readKey reads a keyword up to its =. A parameter may have any name in a schema.
func (a *argReader) readKey(c byte) (int, status) {
	switch c {
	case '=':
		return a.endKey()
	case '"', '\'', '(', ')', '{', '}', ',', ';':
		return 0, bad
	}
	if c < ' ' && !chars.IsSpace(c) || len(a.token) == maxName {
		return 0, bad
	}
	a.token = append(a.token, c)
	return 1, more
}

func (a *argReader) endKey() (int, status) {
	key := chars.TrimSpace(a.token)
	param := sdk.FindParam(a.tool, string(key))
	if len(key) == 0 || a.seen.Has(key) || param == nil && bytes.ContainsAny(key, " \t\r\n") {
		return 0, bad
	}
	a.seen.Add(key)
	a.param = param
	a.item()
	a.out = append(relaxed.AppendString(a.out, key), ": "...)
	a.place = wantValue
	return 1, more
}

// item begins something inside the innermost bracket.
func (a *argReader) item() {
	if !a.first {
		a.out = append(a.out, ", "...)
	}
	a.first = false
}

// readValue reads the first byte of a value.
func (a *argReader) readValue(c byte) (int, status) {
	item := a.place == wantItem
	switch c {
	case ']', ')', '}':
		if !item || c == '}' && a.top() != 's' {
			return 0, bad
		}
		return a.closeBracket(c)
	case '[', '{', '(':
		if item {
			a.item()
		}
		return a.openBracket(c)
	case '"', '\'':
		if item {
			a.item()
		}
		a.beginText(false)
		return a.openText(c)
	case '=', ',', ':', ';':
		return 0, bad
	}
	if !tokenByte(c) && c != '-' && c != '+' && !a.mayBare() {
		return 0, bad
	}
	if item {
		a.item()
	}
	a.place, a.token = inToken, a.token[:0]
	return 0, more
}

// openBracket begins a list, a dict, or what is a tuple if a comma follows.
func (a *argReader) openBracket(c byte) (int, status) {
	if len(a.stack) == a.maxDepth {
		return 0, bad
	}
	a.place, a.first = wantItem, true
	switch c {
	case '{':
		a.place = wantMember
		a.parens = append(a.parens, len(a.out))
		c = 'q'
	case '(':
		a.parens = append(a.parens, len(a.out))
		a.out = append(a.out, ' ')
		a.stack = append(a.stack, 'p')
		return 1, more
	}
	if a.stack = append(a.stack, c); c == 'q' {
		c = '{'
	}
	a.out = append(a.out, c)
	return 1, more
}

// closeBracket reads c, which must close the innermost bracket.
func (a *argReader) closeBracket(c byte) (int, status) {
	open := a.top()
	switch {
	case open == '(' && c == ')':
		return 1, done
	case open == '[' && c == ']':
		a.out = append(a.out, c)
	case c == '}':
		if !a.closeBrace(open) {
			return 0, bad
		}
	case open == 't' && c == ')':
		a.out = append(a.out, ']')
	case open == 'p' && c == ')' && a.first:
		a.tuple()
		a.out = append(a.out, ']')
	case open == 'p' && c == ')': // mere parentheses
		a.parens = a.parens[:len(a.parens)-1]
	default:
		return 0, bad
	}
	a.stack = a.stack[:len(a.stack)-1]
	a.place, a.first = afterValue, false
	return 1, more
}

// closeBrace closes a dict or a set.
func (a *argReader) closeBrace(open byte) bool {
	switch {
	case open == 's':
		a.out = append(a.out, ']')
		return true
	case open == 'q' && a.first: // an empty dict
		a.parens = a.parens[:len(a.parens)-1]
	case open != '{':
		return false
	}
	a.out = append(a.out, '}')
	return true
}

// tuple makes the innermost parentheses a tuple.
func (a *argReader) tuple() {
	last := len(a.parens) - 1
	a.out[a.parens[last]] = '['
	a.parens = a.parens[:last]
	a.stack[len(a.stack)-1] = 't'
}

// set makes the innermost bracket that of a set, which JSON writes as a list.
func (a *argReader) set() bool {
	if p := a.param; len(a.stack) == 2 && p != nil && p.Types != 0 && p.Types&abi.Array == 0 {
		return false // the schema takes none
	}
	last := len(a.parens) - 1
	a.out[a.parens[last]] = '['
	a.parens = a.parens[:last]
	a.stack[len(a.stack)-1] = 's'
	a.repaired = true
	return true
}

func (a *argReader) readMember(c byte) (int, status) {
	if a.top() == 'q' && (chars.IsDigit(c) || c == '-') {
		a.place = wantItem
		if !a.set() {
			return 0, bad
		}
		return 0, more
	}
	switch c {
	case '}':
		return a.closeBracket(c)
	case '"', '\'':
		a.item()
		a.beginText(true)
		return a.openText(c)
	}
	a.place, a.token = inMember, a.token[:0]
	return 0, more
}

// readMemberPrefix reads letters before a key of a dict, which must be a prefix of
// its string.
func (a *argReader) readMemberPrefix(c byte) (int, status) {
	switch {
	case (c == '"' || c == '\'') && isPrefix(a.token):
		a.item()
		a.beginText(true)
		return a.openPrefixed(a.token, c)
	case len(a.token) < 2 && nameStart(c):
		a.token = append(a.token, c)
		return 1, more
	}
	return 0, bad
}

func (a *argReader) readColon(c byte) (int, status) {
	if a.top() == 'q' {
		if c == ',' || c == '}' {
			a.place = afterValue
			if !a.set() {
				return 0, bad
			}
			return 0, more
		}
		a.parens, a.stack[len(a.stack)-1] = a.parens[:len(a.parens)-1], '{'
	}
	if c != ':' {
		return 0, bad
	}
	a.out = append(a.out, ": "...)
	a.place = wantValue
	return 1, more
}

// readAfterValue reads a comma or what closes the innermost bracket. Between the
// arguments of a call the comma may be missing, as in a template of Gemma 3.
func (a *argReader) readAfterValue(c byte) (int, status) {
	switch {
	case c == ')' || c == ']' || c == '}':
		return a.closeBracket(c)
	case c == ',' && a.top() == 'p':
		a.tuple()
		a.place = wantItem
	case c == ',':
		a.place = wantItem
		if a.top() == '{' {
			a.place = wantMember
		}
		if a.atTop() {
			a.place = wantArg
		}
	case a.atTop() && keyStart(c):
		a.place, a.token, a.repaired = inKey, a.token[:0], true
		return 0, more
	default:
		return 0, bad
	}
	return 1, more
}
