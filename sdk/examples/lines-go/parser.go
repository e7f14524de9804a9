package main

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

// The format's markers, each at the beginning of a line.
const (
	opening = "@@call "
	closing = "@@end"
)

const (
	maxName = 64 // bytes of a tool's name or a key
	maxKeys = 64 // of a call
	maxWord = 32 // bytes of a number or a word, a longer value is a string
)

// Spec describes the parser to the gateway.
func Spec() sdk.Spec {
	return sdk.Spec{
		Parser: abi.Parser{
			Name: "my_model", Priority: 60, Streams: true, Triggers: []string{opening},
			Formats: []string{`@@call NAME, lines KEY: VALUE, @@end`}, Example: "@@call get_weather\ncity: Oslo\n@@end",
		},
		CanParse: canParse,
		New:      func(o sdk.Options) (sdk.Parser, error) { return &parser{options: o, keys: map[string]bool{}}, nil },
	}
}

// canParse is sure when it has seen the whole first line.
func canParse(head []byte) sdk.Verdict {
	for i, c := range head {
		switch {
		case i < len(opening):
			if c != opening[i] {
				return sdk.No
			}
		case c == '\n' && i > len(opening):
			return sdk.Yes
		case !nameByte(c) || i == len(opening)+maxName:
			return sdk.No
		}
	}
	return sdk.Maybe
}

func nameByte(c byte) bool {
	letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
	return letter || c == '_' || c == '-' || c == '.'
}

// value is how far the value of a key was read.
type value int

const (
	none  value = iota
	word        // all of it is in parser.word: it may be a number, true, false or null
	quote       // a string, passed on as it comes
)

// parser reads one region.
type parser struct {
	options sdk.Options
	pos     int // bytes that were read
	from    int // where the current call begins

	inValue  bool   // the line is past its key
	head     []byte // the line up to there
	tool     *sdk.Tool
	open     bool // a call is
	repaired bool // something in it was
	keys     map[string]bool

	value value
	types sdk.Types
	fresh bool   // a space here is not the value's
	word  []byte // the value while it is one
	args  []byte // to be passed on
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 {
		if n := p.readString(text); n > 0 {
			p.pos, text = p.pos+n, text[n:]
			continue
		}
		c, ok := text[0], true
		if p.inValue {
			p.readValue(c)
		} else {
			ok = p.readHead(c, out)
		}
		if out.Ended() {
			return
		}
		if !ok { // the byte may begin something else
			p.flush(out)
			out.Malformed(p.from, max(p.pos, 1))
			return
		}
		p.pos, text = p.pos+1, text[1:]
	}
	p.flush(out)
}

// readString passes on what the text has of a line of a string, and says how much.
func (p *parser) readString(text []byte) int {
	if !p.inValue || p.value != quote || p.fresh {
		return 0
	}
	n := bytes.IndexByte(text, '\n')
	if n < 0 {
		n = len(text)
	}
	p.args = relaxed.AppendEscaped(p.args, text[:n])
	return n
}

// readHead reads a line up to its value, and says whether it can go on like that.
func (p *parser) readHead(c byte, out *sdk.Out) bool {
	if len(p.head) == 0 && c == '|' && p.value != none {
		p.readValue('\n')
		p.inValue, p.fresh = true, true
		return true
	}
	p.head = append(p.head, c)
	switch {
	case p.open && string(p.head) == closing:
		p.endCall(out)
		out.End(p.pos + 1)
		return true
	case string(p.head) == opening:
		if p.open {
			p.endCall(out)
		}
		p.from = p.pos + 1 - len(opening)
		return true
	case bytes.HasPrefix([]byte(opening), p.head), p.open && bytes.HasPrefix([]byte(closing), p.head):
		return true
	case bytes.HasPrefix(p.head, []byte(opening)):
		return p.readName(p.head[len(opening):], out)
	}
	return p.open && p.readKey(p.head)
}

// readName looks at the name of a call, up to the end of the line.
func (p *parser) readName(line []byte, out *sdk.Out) bool {
	if c := line[len(line)-1]; c != '\n' {
		return len(line) <= maxName && nameByte(c)
	}
	name := string(line[:len(line)-1])
	p.tool = sdk.FindTool(p.options.Tools, name)
	if name == "" || p.options.Fenced && p.tool == nil {
		return false
	}
	p.flush(out)
	out.CallStart(name, "")
	p.args = append(p.args, '{')
	p.open, p.repaired, p.head = true, false, p.head[:0]
	clear(p.keys)
	return true
}

// readKey looks at a key, up to the colon.
func (p *parser) readKey(line []byte) bool {
	if c := line[len(line)-1]; c != ':' {
		return len(line) <= maxName && nameByte(c)
	}
	key := string(line[:len(line)-1])
	if key == "" || len(p.keys) == maxKeys || p.keys[key] { // which of two counts nobody can know
		return false
	}
	p.endValue()
	if len(p.keys) > 0 {
		p.args = append(p.args, ',')
	}
	p.args = append(append(append(p.args, '"'), key...), `":`...)
	p.keys[key], p.head = true, p.head[:0]
	p.inValue, p.fresh, p.value, p.word, p.types = true, true, word, p.word[:0], 0
	if param := sdk.FindParam(p.tool, key); param != nil {
		p.types = param.Types
	}
	if p.types == abi.String {
		p.beginString()
	}
	return true
}

// readValue reads a value up to the end of the line.
func (p *parser) readValue(c byte) {
	fresh := p.fresh
	p.fresh = false
	switch {
	case c == '\n' && p.inValue:
		p.inValue = false
	case c == ' ' && fresh:
	case p.value == word && c != '\n' && len(p.word) < maxWord:
		p.word = append(p.word, c)
	default:
		if p.value == word {
			p.beginString()
		}
		p.args = relaxed.AppendEscaped(p.args, []byte{c})
	}
}

// beginString says that the value is a string whatever follows.
func (p *parser) beginString() {
	p.value = quote
	p.args = relaxed.AppendEscaped(append(p.args, '"'), p.word)
}

// endValue ends the value of the last key.
func (p *parser) endValue() {
	if p.value == word {
		if literal := p.literal(); literal != "" {
			p.args = append(p.args, literal...)
			p.value = none
			return
		}
		p.beginString()
	}
	if p.value == quote {
		p.args = append(p.args, '"')
	}
	p.value = none
}

// literal is the word as JSON if it is of one of the types, else "". Types of 0 are all.
func (p *parser) literal() string {
	text := string(p.word)
	switch text {
	case "true", "false":
		return p.literalOf(abi.Boolean, text)
	case "null":
		return p.literalOf(abi.Null, text)
	case "True", "False":
		return p.repair(abi.Boolean, strings.ToLower(text))
	case "None":
		return p.repair(abi.Null, "null")
	}
	switch {
	case !relaxed.IsNumber(p.word):
		return ""
	case strings.ContainsAny(text, ".eE"):
		return p.literalOf(abi.Number, text)
	}
	return p.literalOf(abi.Number|abi.Integer, text)
}

func (p *parser) literalOf(t sdk.Types, literal string) string {
	if p.types == 0 || p.types&t != 0 {
		return literal
	}
	return ""
}

// repair takes a word of Python's where the schema has its type.
func (p *parser) repair(t sdk.Types, literal string) string {
	if p.types&t == 0 {
		return ""
	}
	p.repaired = true
	return literal
}

func (p *parser) endCall(out *sdk.Out) {
	p.endValue()
	p.args = append(p.args, '}')
	p.flush(out)
	if p.repaired {
		out.Repair("args_json") // never silently: the gateway counts and shows it
	}
	out.CallEnd()
	p.open = false
}

// flush passes on what is sure of the arguments.
func (p *parser) flush(out *sdk.Out) {
	out.Args(p.args)
	p.args = p.args[:0]
}

// Finish implements sdk.Parser: the output has ended inside the region.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	if p.open && reason == sdk.Length { // a token limit cut the call off
		out.Cut()
		out.End(p.pos)
		return
	}
	out.Malformed(p.from, p.pos)
}
