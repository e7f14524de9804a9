package messages

import (
	"bytes"
	"crypto/rand"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// call is a call of a tool.
type call struct {
	index    int
	id, name []byte // strings; nil as long as they are not known
	args     []byte // inner text that has come before its block began
	caller   []byte // an object; nil for most
	beside   []byte // members that its block has besides
	event    []byte // and those of the event that begins it, each with a comma in front
	begun    bool
	ended    bool
	fed      bool // there are arguments
	progress progress
}

// ready reports whether the call's block may begin. At the end, or when its arguments come, a
// call without an id gets one.
func (c *call) ready(end bool) bool {
	if c.name == nil {
		return false
	}
	if c.id == nil && (end || len(c.args) > 0) {
		c.id = []byte(`"toolu_` + strings.ToLower(rand.Text()) + `"`)
	}
	return c.id != nil
}

// entry takes an entry of tool_calls: the i-th of its delta or message. own says that it was made of a block of the
// Messages API.
func (b *blocks) entry(i int, v value, own bool) error {
	if !isObject(v) {
		return nil
	}
	e := readEntry(i, v)
	if !own { // nobody else says so what stands in a block
		e.beside = nil
	}
	if b.content.print.whole {
		e.index = i
	}
	c := latest(b.calls, e.index)
	if c != nil && !c.isOther(&e) {
		c.learn(&e)
		return b.feed(c, e.arguments)
	}
	if len(b.calls) >= maxCalls {
		return errHeld
	}
	c = &call{index: e.index, event: bytes.Clone(b.extra.event)}
	c.learn(&e)
	c.args = append(c.args, inner(e.arguments)...)
	b.held += len(c.args)
	b.calls = append(b.calls, c)
	b.wait = append(b.wait, item{kind: callBlock, call: c})
	return b.drain(false)
}

// isOther reports whether an entry begins another call than the one of its index.
func (c *call) isOther(e *entry) bool {
	return c.id != nil && len(inner(e.id)) > 0 && len(inner(e.name)) > 0 && !bytes.Equal(inner(c.id), inner(e.id))
}

// learn takes what an entry says of the call besides its arguments.
func (c *call) learn(e *entry) {
	if c.id == nil && len(inner(e.id)) > 0 {
		c.id = bytes.Clone(e.id)
	}
	if c.name == nil && len(inner(e.name)) > 0 {
		c.name = bytes.Clone(e.name)
	}
	if c.caller == nil && isObject(e.caller) {
		c.caller = appendLine(nil, e.caller)
	}
	if c.beside == nil && isObject(e.beside) {
		c.beside = appendLine(nil, e.beside[1:len(e.beside)-1])
	}
}

// maxCalls is how many calls an answer may have.
const maxCalls = 4096

// latest is the latest call of an index, or nil.
func latest(calls []*call, index int) *call {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].index == index {
			return calls[i]
		}
	}
	return nil
}

// idOf is the id of the call that an entry of tool_calls goes on with, nil if it begins one.
func (b *blocks) idOf(i int, v value) value {
	if b.content.print.whole || !isObject(v) {
		return nil
	}
	if c := latest(b.calls, readEntry(i, v).index); c != nil {
		return c.id
	}
	return nil
}

// arguments takes a piece of a call's arguments, a string.
func (b *blocks) arguments(index int, s value) error {
	c := latest(b.calls, index)
	if c == nil {
		return nil
	}
	return b.feed(c, s)
}

func (b *blocks) feed(c *call, s value) error {
	in := inner(s)
	switch {
	case c.ended:
		if !blank(in) {
			return &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream's tool call goes on behind its end."}
		}
	case c.begun:
		b.content.writeArguments(c, in, &b.extra)
	default:
		c.args = append(c.args, in...)
		if b.held += len(in); b.held > maxHeld {
			return errHeld
		}
	}
	return b.drain(false)
}

// progress follows the JSON of arguments, which come as the inner text of strings, to know
// when they are complete.
type progress struct {
	depth   int
	quoted  bool // within a string
	escaped bool // behind its backslash
	done    bool // an object has ended
	broken  bool // something follows it, or comes in front of it
}

func (p *progress) complete() bool { return p.done && !p.broken }

func (p *progress) feed(in []byte) {
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c == '\\' && i+1 < len(in) {
			i++
			switch c = in[i]; c {
			case 'n', 't', 'r', 'b', 'f':
				c = ' '
			case 'u':
				c = 'u'
				if i+4 < len(in) {
					c = plain(in[i+1 : i+5])
					i += 4
				}
			}
		}
		p.step(c)
	}
}

// plain is the character of four hex digits if it matters to JSON, and else another.
func plain(hex []byte) byte {
	if hex[0] != '0' || hex[1] != '0' {
		return 'x'
	}
	n := byte(0)
	for _, h := range hex[2:] {
		switch {
		case h >= '0' && h <= '9':
			n = n<<4 | (h - '0')
		case h|0x20 >= 'a' && h|0x20 <= 'f':
			n = n<<4 | (h | 0x20 - 'a' + 10)
		}
	}
	return n
}

func (p *progress) step(c byte) {
	switch {
	case p.escaped:
		p.escaped = false
	case p.quoted:
		p.escaped, p.quoted = c == '\\', c != '"'
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
	case p.done || p.depth == 0 && c != '{':
		p.broken = true
	case c == '"':
		p.quoted = true
	case c == '{' || c == '[':
		p.depth++
	case c == '}' || c == ']':
		p.depth--
		p.done = p.depth == 0
	}
}
