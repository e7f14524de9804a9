package messages

import (
	"bytes"
	"crypto/rand"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// call is a call of a tool.
type call struct {
	index    int
	id, name []byte // strings; nil as long as they are not known
	args     []byte // inner text that has come before its block began
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

// entry takes an entry of tool_calls: the i-th of its delta or message.
func (b *blocks) entry(i int, v value) error {
	if !isObject(v) {
		return nil
	}
	e := readEntry(i, v)
	if b.whole {
		e.index = i
	}
	c := b.find(e.index)
	fresh := c == nil || c.id != nil && len(inner(e.id)) > 0 && len(inner(e.name)) > 0 && !bytes.Equal(inner(c.id), inner(e.id))
	if fresh {
		if len(b.calls) >= maxCalls {
			return errHeld
		}
		c = &call{index: e.index}
		b.calls = append(b.calls, c)
	}
	if c.id == nil && len(inner(e.id)) > 0 {
		c.id = bytes.Clone(e.id)
	}
	if c.name == nil && len(inner(e.name)) > 0 {
		c.name = bytes.Clone(e.name)
	}
	args := e.arguments
	if len(args) > 0 && args[0] != '"' && args[0] != 'n' { // an object where its text should be
		args = wire.AppendQuoted(nil, args)
	}
	if fresh {
		c.args = append(c.args, inner(args)...)
		b.held += len(c.args)
		b.wait = append(b.wait, item{kind: callBlock, call: c})
		return b.drain(false)
	}
	return b.feed(c, args)
}

// maxCalls is how many calls an answer may have.
const maxCalls = 4096

// find is the latest call of an index.
func (b *blocks) find(index int) *call {
	for i := len(b.calls) - 1; i >= 0; i-- {
		if b.calls[i].index == index {
			return b.calls[i]
		}
	}
	return nil
}

// arguments takes a piece of a call's arguments, a string.
func (b *blocks) arguments(index int, s value) error {
	c := b.find(index)
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
		b.writeArguments(c, in)
	default:
		c.args = append(c.args, in...)
		if b.held += len(in); b.held > maxHeld {
			return errHeld
		}
	}
	return b.drain(false)
}

// openCall begins the block of a call, with the arguments that have come.
func (b *blocks) openCall(c *call) error {
	if err := b.close(); err != nil {
		return err
	}
	c.begun, b.call = true, c
	b.scrap()
	begin := append(make([]byte, 0, 128), `{"type":"tool_use","id":`...)
	begin = append(append(appendToolID(begin, c.id), `,"name":`...), c.name...)
	b.start(callBlock, string(append(begin, `,"input":`...)), "{}}")
	args := c.args
	b.held -= len(args)
	c.args = nil
	b.writeArguments(c, args)
	return nil
}

// scrap drops white space between calls.
func (b *blocks) scrap() { b.space = b.space[:0] }

func (b *blocks) writeArguments(c *call, in []byte) {
	if len(in) == 0 || !c.fed && blank(in) {
		return
	}
	c.fed = true
	c.progress.feed(in)
	if b.whole {
		b.args = append(b.args, in...)
		return
	}
	b.delta(`input_json_delta","partial_json":"`, in)
}

// closeCall ends the block of a call.
func (b *blocks) closeCall() error {
	c := b.call
	c.ended, b.call = true, nil
	if !c.fed && !b.cut {
		b.writeArguments(c, []byte("{}"))
	}
	if !b.whole {
		b.stop()
		return nil
	}
	input := wire.AppendDecoded(nil, quoted(b.args))
	b.args = b.args[:0]
	input = bytes.TrimSpace(input)
	if !isObject(input) || !jsontext.Value(input).IsValid(jsontext.AllowDuplicateNames(true)) {
		if !b.cut {
			return &gateway.Error{Kind: gateway.BadCall, Message: "The model's call of " + gateway.Excerpt(c.name) + " has arguments that are no JSON object."}
		}
		b.dst = b.dst[:b.from] // the client would take it for a call that is whole
		return nil
	}
	b.dst = append(append(b.dst, input...), '}')
	b.index++
	return nil
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
			n = n<<4 | h - '0'
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
