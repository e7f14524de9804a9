package heuristic

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// stage is how far a block has come.
type stage uint8

const (
	atForm      stage = iota // its first bytes, which say what it is
	atBody                   // behind the literal
	atCallee                 // in the name behind [Calling tool:
	atArguments              // behind a name: the object of arguments
	inJSON
	inArrows
	inPython
	atEnd // in front of the literals that end it
)

// block reads one block: a JSON value, or one of the forms in brackets.
type block struct {
	forms forms
	tools []sdk.Tool
	read  *relaxed.Reader // what json, or arrows, reads with

	stage  stage
	form   forms   // what the block is
	head   []byte  // what was read and is not decided
	json   *reader // nil until there is some
	reader reader
	arrows *arrows
	calls  []call
	ends   []string // the literals that must follow
	start  string   // the literal of the form, which may follow where an end is missing
	tail   []byte   // the beginning of one of them
	over   int      // bytes behind the block that were read
	fenced bool     // it stands in a block of code
	python code
}

// begin makes b ready for another block. read is ready too, and is used by no other one.
func (b *block) begin(f forms, tools []sdk.Tool, read *relaxed.Reader) {
	*b = block{forms: f, tools: tools, read: read, head: b.head[:0], tail: b.tail[:0], python: b.python}
}

// step reads some of src.
func (b *block) step(src []byte) (int, status) {
	switch b.stage {
	case inJSON:
		n, s := b.json.step(src)
		if s != done {
			return n, s
		}
		return n, b.body(b.json.result())
	case inArrows:
		n, s := b.arrows.step(src)
		if s != done {
			return n, s
		}
		return n, b.body([]call{b.arrows.call})
	case inPython:
		return b.readPython(src)
	case atForm:
		return 1, b.readForm(src[0])
	case atCallee:
		return 1, b.readCallee(src[0])
	case atBody:
		return 1, b.readBody(src[0])
	case atArguments:
		return 1, b.readArguments(src[0])
	default:
		return 1, b.readEnd(src[0])
	}
}

// readForm reads up to where the form is certain.
func (b *block) readForm(c byte) status {
	b.head = append(b.head, c)
	head := string(b.head)
	switch {
	case head == "{" && b.forms&object != 0:
		return b.readJSON(object)
	case head[0] == '<' && b.forms&element != 0:
		return b.readTag(c)
	case isLetter(head[0]) && b.forms&pythonCall != 0:
		return b.readFunction(c)
	case head[0] != '[':
		return bad
	}
	return b.readBracket(c, head)
}

// readBracket goes on behind a bracket.
func (b *block) readBracket(c byte, head string) status {
	switch {
	case b.forms&pythonList != 0 && listedCall(b.head) != nil:
		return b.readFunction(c)
	case len(head) > maxName+maxSpace:
		return bad
	case head == "[":
		return more
	case c == '{' && b.forms&array != 0 && blank(head[1:len(head)-1]):
		return b.readJSON(array)
	case c == ']' && !b.literal(head) && b.forms&header != 0:
		return b.callee(header, head[1:len(head)-1], endRequest)
	}
	return b.readLiteral(head)
}

// literal reports whether head is the literal of a form that the block may have.
func (b *block) literal(head string) bool {
	return head == startRequest && b.forms&request != 0 || head == startTags && b.forms&tags != 0
}

// readLiteral goes on behind the literal of a form, or waits for the rest of it.
func (b *block) readLiteral(head string) status {
	switch {
	case head == startRequest && b.forms&request != 0:
		return b.tagged(request, startRequest, endRequest)
	case head == startTags && b.forms&tags != 0:
		return b.tagged(tags, startTags, endTags)
	case head == startCalling && b.forms&calling != 0:
		b.form, b.stage, b.start, b.head = calling, atCallee, startCalling, b.head[:0]
		return next
	}
	return b.undecided(head[1:])
}

// undecided tells whether what was read behind a bracket may still become a form.
func (b *block) undecided(text string) status {
	switch {
	case b.forms&array != 0 && blank(text),
		b.forms&request != 0 && strings.HasPrefix(startRequest[1:], text),
		b.forms&tags != 0 && strings.HasPrefix(startTags[1:], text),
		b.forms&calling != 0 && strings.HasPrefix(startCalling[1:], text),
		b.forms&header != 0 && isNameByte(text[len(text)-1]) && !strings.Contains(text, " "):
		return more
	}
	return bad
}

// blank reports whether there is nothing but white space.
func blank(text string) bool { return len(chars.SkipSpace([]byte(text))) == 0 }

// readJSON begins the JSON that head is the beginning of.
func (b *block) readJSON(f forms) status {
	if b.form == 0 {
		b.form = f
	}
	b.stage = inJSON
	if b.json == nil {
		b.use(newReader(b.forms, b.tools, b.read))
	}
	for src := b.head; len(src) > 0; {
		n, s := b.json.step(src)
		if src = src[n:]; s == bad {
			return bad
		}
	}
	return next
}

// use makes r the reader of the block's JSON.
func (b *block) use(r reader) {
	b.reader = r
	b.json = &b.reader
}

func (b *block) tagged(f forms, start, end string) status {
	b.form, b.stage, b.start, b.ends = f, atBody, start, []string{end}
	b.use(newReader(object|array, b.tools, b.read))
	b.json.sure = true
	b.head = b.head[:0]
	return next
}

// readBody reads between a tag and the body behind it.
func (b *block) readBody(c byte) status {
	b.head = append(b.head, c)
	text := chars.SkipSpace(b.head)
	switch {
	case len(b.head) > maxSpace+maxName:
		return bad
	case len(text) == 0:
		return more
	case text[0] == '[', text[0] == '{' && b.form != tags:
		return b.readJSON(b.form)
	case text[0] != '{':
		return bad
	}
	key := chars.SkipSpace(text[1:])
	for len(key) > 0 && isLetter(key[0]) {
		key = key[1:]
	}
	switch key = chars.SkipSpace(key); {
	case len(key) == 0:
		return more
	case key[0] != '=':
		return b.readJSON(b.form)
	}
	b.stage, b.arrows = inArrows, newArrows(b.tools, b.read)
	for src := text; len(src) > 0; {
		n, s := b.arrows.step(src)
		if src = src[n:]; s == bad {
			return bad
		}
	}
	return next
}

// readCallee reads the name of a tool up to its parenthesis.
func (b *block) readCallee(c byte) status {
	switch {
	case c == '(' && len(b.head) > 0:
		return b.callee(calling, string(b.head), ")", "]")
	case chars.IsSpace(c) && len(b.head) == 0 && b.over < maxSpace:
		b.over++
		return next
	case !isNameByte(c), len(b.head) == maxName:
		return bad
	}
	b.head = append(b.head, c)
	return next
}

// callee begins the arguments of the tool called name.
func (b *block) callee(f forms, name string, ends ...string) status {
	tool := sdk.FindTool(b.tools, name)
	if tool == nil && len(b.tools) > 0 || len(name) > maxName {
		return bad
	}
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return bad
		}
	}
	if name == "" {
		return bad
	}
	b.form, b.stage, b.ends, b.over = f, atArguments, ends, 0
	b.use(newArgs(name, tool, b.read))
	b.head = b.head[:0]
	return next
}

func (b *block) readArguments(c byte) status {
	switch {
	case c == '{':
		b.head = append(b.head[:0], c)
		return b.readJSON(b.form)
	case c == ')' && b.form == calling:
		b.calls = []call{{Name: b.json.cur.Name, Args: []byte("{}")}}
		b.stage, b.ends = atEnd, b.ends[1:]
		return next
	case !chars.IsSpace(c):
		return bad
	}
	return next
}

// body takes the calls of the body.
func (b *block) body(calls []call) status {
	if b.form == element {
		if !b.accepted(calls, formElement) {
			return bad
		}
	}
	b.calls, b.stage = calls, atEnd
	if len(b.ends) == 0 {
		return done
	}
	return next
}

// readEnd reads the literals behind the body.
func (b *block) readEnd(c byte) status {
	if len(b.tail) == 0 && chars.IsSpace(c) {
		return next
	}
	b.tail = append(b.tail, c)
	switch tail := string(b.tail); {
	case tail == b.ends[0]:
		b.tail = b.tail[:0]
		if b.ends = b.ends[1:]; len(b.ends) == 0 {
			return done
		}
		return next
	case tail == b.start && b.form != calling:
		b.over = len(tail)
		return done
	case strings.HasPrefix(b.ends[0], tail), b.start != "" && strings.HasPrefix(b.start, tail):
		return more
	}
	return bad
}

// finish reports whether the block may end here, with the output: the literal that
// ends it may be missing, but not where nothing else shows what it is.
func (b *block) finish() bool {
	switch {
	case b.stage == atEnd:
		return b.form != header && b.form != element
	case b.stage == inPython:
		return b.endPython() == done
	case b.stage == inJSON && b.json.ended() && b.form != header:
		b.calls = b.json.result()
		return true
	}
	return false
}

// begun reports whether it is known which tool the block calls.
func (b *block) begun() bool {
	return b.stage == inJSON && b.json.cur.Name != "" || b.stage == inArrows && b.arrows.call.Name != "" || b.stage == atArguments ||
		b.stage == inPython && b.fenced && b.python.ended == 0 && b.python.begun(b.tools)
}

// inside reports whether the block is in the middle of an object behind those that it holds.
func (b *block) inside() bool { return b.stage == inJSON && b.json.place >= inCall }

// complete are the calls of a block that was cut.
func (b *block) complete() []call {
	switch b.stage {
	case inJSON:
		return b.json.result()
	case inPython:
		if !b.fenced {
			return nil // the rest may be text
		}
		if calls := b.python.complete(b.tools); b.accepted(calls, formPython) {
			return calls
		}
	}
	return nil
}
