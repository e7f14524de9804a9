package responses

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// itemKind is what an item of the output is.
type itemKind uint8

const (
	reasoningItem itemKind = iota
	messageItem
	callItem
	ranItem    // of a tool that the gateway runs
	nativeKind // of the upstream's own
)

// partKind is what a part of a message is; other items have one sort only.
type partKind uint8

const (
	noPart partKind = iota
	textPartKind
	refusalPartKind
)

// item is an item of the output, while it is open or waits.
type item struct {
	kind  itemKind
	index int
	id    string
	openPart
	parts  []byte // those that are closed, elements
	number int    // how many
	call   *call  // of a call
	beside []byte // members that the upstream's item has besides, each with a comma in front
	ran    *ran   // of what the gateway has run
	native *native
	phase  []byte // of a message, JSON; nil for none
	fresh  bool   // it does not go on with the message before it
	begun  bool   // the client has got its beginning, and it waits to go on
	ahead  int    // how much of the text the client has got then
	over   bool
}

// openPart is the part of an item that is open, or that waits. A call has its arguments as one.
type openPart struct {
	part partKind
	// text is what has come of the part, the summary or the arguments, as it stands between the
	// quotes of a JSON string.
	text     []byte
	half     []byte // of a surrogate pair, whose other half may come with the next piece
	logprobs []byte // elements
	notes    []byte // annotations, elements
	noted    int    // how many
	before   []byte // the members of every delta up to the text
	told     bool   // the whole of the text was sent
	sent     int    // how much of the input of a custom tool was
}

// beforeDelta is before without the name of the text.
func (p *openPart) beforeDelta() []byte { return p.before[:max(0, len(p.before)-len(deltaMember))] }

// endPart closes the open part. parts are those that are closed then.
func (it *item) endPart(parts []byte) {
	it.openPart, it.parts = openPart{}, parts
	it.number++
}

// call is what is known of a call.
type call struct {
	key     int // the upstream's index
	id      []byte
	name    string // that the model knows
	tool    tool
	dropped bool // the client does not get it
	args    argsScan
}

// head are the members that say which item an event is of.
func (it *item) head() []byte {
	b := append([]byte(`,"item_id":"`), it.id...)
	return strconv.AppendInt(append(b, `","output_index":`...), int64(it.index), 10)
}

// partHead are the members that say which part an event is of, if the item has parts.
func (it *item) partHead() []byte {
	switch it.kind {
	case reasoningItem:
		return wire.AppendInt(append(it.head(), `,"summary_index":`...), it.number)
	case messageItem:
		return wire.AppendInt(append(it.head(), `,"content_index":`...), it.number)
	}
	return it.head()
}

// mayEnd reports whether the item can be over.
func (it *item) mayEnd() bool {
	return (it.call == nil || it.call.args.complete(it.text)) && (it.ran == nil || it.ran.over) && (it.native == nil || it.native.over)
}

// place are the members in front of an item in its own events.
func (it *item) place() []byte {
	return append(strconv.AppendInt([]byte(`,"output_index":`), int64(it.index), 10), `,"item":`...)
}

// typeName is the item's type.
func (it *item) typeName() string {
	switch {
	case it.kind == reasoningItem:
		return "reasoning"
	case it.kind == messageItem:
		return "message"
	case it.kind == ranItem:
		return it.ran.typeName()
	case it.kind == nativeKind:
		return wire.Unquote(object(it.native.item).get("type"))
	case it.call.tool.custom:
		return "custom_tool_call"
	}
	return "function_call"
}

// json is the item with a status, and with the part that is still open; sealed is its encrypted content, "" for none.
func (it *item) json(status, sealed string) []byte {
	if it.kind == nativeKind {
		return appendLine(nil, it.native.item)
	}
	const members, ofCall = 96, 32 // about what the names and the short members take, and more of a call
	size := members + len(it.beside) + len(it.id) + len(it.parts) + len(it.text) + len(it.phase) + len(sealed)
	if it.part != noPart {
		size += partMembers + len(it.notes) + len(it.logprobs)
	}
	if c := it.call; c != nil {
		size += ofCall + len(c.id) + len(c.tool.name) + len(c.tool.space)
	}
	b := make([]byte, 0, size)
	b = append(append(append(b, `{"id":"`...), it.id...), `","type":"`...)
	switch it.kind {
	case reasoningItem:
		b = append(append(append(b, `reasoning","status":"`...), status...), `","summary":[`...)
		b = append(append(b, it.parts...), ']')
		if sealed != "" {
			b = append(append(append(b, `,"encrypted_content":"`...), sealed...), '"')
		}
		return append(b, '}')
	case messageItem:
		b = append(append(append(b, `message","status":"`...), status...), `","content":[`...)
		if b = append(b, it.parts...); it.part != noPart {
			if len(it.parts) > 0 {
				b = append(b, ',')
			}
			b = it.appendPart(b, it.text)
		}
		b = append(b, `],"role":"assistant"`...)
		if it.phase != nil {
			b = append(append(b, `,"phase":`...), it.phase...)
		}
		return append(append(b, it.beside...), '}')
	case ranItem:
		return it.ran.appendTo(b, status)
	default:
		member := `,"arguments":`
		if it.call.tool.custom {
			member = `,"input":`
		}
		b = append(append(append(append(b, it.typeName()...), `","status":"`...), status...), `","call_id":`...)
		b = wire.AppendQuoted(append(append(b, it.call.id...), `,"name":`...), it.call.tool.name)
		if it.call.tool.space != "" {
			b = wire.AppendQuoted(append(b, `,"namespace":`...), it.call.tool.space)
		}
		b = append(append(append(append(b, member...), '"'), it.text...), '"')
		return append(append(b, it.beside...), '}')
	}
}

// partMembers is what the names of a part's members take, at most.
const partMembers = 64

// partJSON is the open part, or that of a summary.
func (it *item) partJSON(text []byte) []byte {
	return it.appendPart(make([]byte, 0, partMembers+len(text)+len(it.notes)+len(it.logprobs)), text)
}

// appendPart appends it.
func (it *item) appendPart(b, text []byte) []byte {
	switch {
	case it.kind == reasoningItem:
		return append(append(append(b, `{"type":"summary_text","text":"`...), text...), `"}`...)
	case it.part == refusalPartKind:
		return append(append(append(b, `{"type":"refusal","refusal":"`...), text...), `"}`...)
	}
	b = append(append(append(b, `{"type":"output_text","text":"`...), text...), `","annotations":[`...)
	b = append(append(b, it.notes...), `],"logprobs":[`...)
	return append(append(b, it.logprobs...), "]}"...)
}

// argsScan looks whether arguments are a whole JSON object, as far as they have come.
type argsScan struct {
	at              int // of the text, how much was looked at
	depth           int
	quoted, escaped bool
	begun           bool
}

// complete reports whether text, which stands between the quotes of a JSON string, has an
// object from its beginning to its end. It looks at what is new since the last time.
func (s *argsScan) complete(text []byte) bool {
	for s.at < len(text) {
		c := text[s.at]
		s.at++
		if c == '\\' {
			n := escape(text[s.at-1:])
			if n == 0 {
				continue
			}
			c = unescaped(text[s.at-1 : s.at-1+n])
			s.at += n - 1
		}
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted:
			s.escaped, s.quoted = c == '\\', c != '"'
		case c == '"':
			s.quoted = true
		case c == '{' || c == '[':
			s.depth, s.begun = s.depth+1, true
		case c == '}' || c == ']':
			s.depth--
		}
	}
	return s.begun && s.depth <= 0
}

// unescaped is the character of an escape, or 0 for one that means nothing in JSON.
func unescaped(escape []byte) byte {
	switch escape[1] {
	case '"', '\\':
		return escape[1]
	case 'u':
		if n, err := strconv.ParseUint(string(escape[2:]), 16, 16); err == nil && n < 0x80 {
			return byte(n)
		}
	}
	return 0
}

// customInput is the input of a custom tool, of arguments with that one member; arguments of
// another form are the input themselves.
func customInput(args []byte) []byte {
	plain := wire.AppendDecoded(nil, slices.Concat([]byte{'"'}, args, []byte{'"'}))
	if jsontext.Value(plain).IsValid() {
		if input := object(plain).get("input"); isObject(bytes.TrimSpace(plain)) && isString(input) {
			return inner(input)
		}
	}
	return args
}
