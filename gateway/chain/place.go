package chain

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk/chars"
)

// place is where in a text what comes next stands: what its line begins with, what is right
// before it, and whether it is code.
type place struct {
	lineBlank bool // only white space since the last newline
	lineMarks bool // only that and marks of lists and quotes
	fence     fence
	last      byte // the last byte of text
	first     byte // the first byte of the line that is no white space
	indent    int  // columns of white space before it
	ink       [3]byte
	inks      int  // how many of ink are there: the last bytes of text that are no white space
	quotes    int  // quotation marks in a row at the end of the text
	triple    bool // inside three of them, as Python has around texts
}

// read takes the next piece of text.
func (p *place) read(text []byte) {
	p.fence.read(text)
	blank, marks := true, true // of what was read backwards
	for i := len(text) - 1; ; i-- {
		if i < 0 {
			blank, marks = blank && p.lineBlank, marks && p.lineMarks
			break
		}
		if text[i] == '\n' {
			break
		}
		blank = blank && chars.IsSpace(text[i])
		marks = marks && (chars.IsSpace(text[i]) || strings.IndexByte(">-*+.)0123456789", text[i]) >= 0)
		if !marks {
			break
		}
	}
	p.lineBlank, p.lineMarks = blank, marks
	p.margin(text)
	p.triples(text)
	if len(text) > 0 {
		p.last = text[len(text)-1]
	}
}

// triples looks for three quotation marks in a row.
func (p *place) triples(text []byte) {
	for len(text) > 0 {
		if p.quotes == 0 {
			i := bytes.IndexByte(text, '"')
			if i < 0 {
				return
			}
			text = text[i:]
		}
		if text[0] != '"' {
			p.quotes = 0
		} else if p.quotes++; p.quotes == 3 {
			p.triple, p.quotes = !p.triple, 0
		}
		text = text[1:]
	}
}

// margin keeps track of how a line begins, and of the last characters.
func (p *place) margin(text []byte) {
	line := text
	if bytes.IndexByte(text, '\n') >= 0 { // quicker than looking for the last one where there is none
		p.first, p.indent = 0, 0
		line = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	for i := 0; i < len(line) && p.first == 0; i++ {
		switch line[i] {
		case ' ':
			p.indent++
		case '\t':
			p.indent += 4
		case '\r':
		default:
			p.first = line[i]
		}
	}
	text = chars.TrimEnd(text)
	if len(text) >= len(p.ink) {
		p.inks = copy(p.ink[:], text[len(text)-len(p.ink):])
		return
	}
	for _, b := range text {
		if p.inks == len(p.ink) {
			copy(p.ink[:], p.ink[1:])
			p.inks--
		}
		p.ink[p.inks] = b
		p.inks++
	}
}

// newLine notes that what comes next begins a line, whatever was before.
func (p *place) newLine() {
	p.lineBlank, p.lineMarks, p.first, p.indent, p.inks, p.last = true, true, 0, 0, 0, 0
}

// introduces reports whether the text so far ends with what introduces an example: a
// colon, a tag, an opening bracket, a rule.
func (p *place) introduces() bool {
	if p.inks == 0 {
		return false
	}
	return strings.IndexByte(`:>"'-=([{}),|`, p.ink[p.inks-1]) >= 0 || string(p.ink[:p.inks]) == "："
}

// endsSentence reports whether the text so far ends with what ends a sentence.
func (p *place) endsSentence() bool {
	for _, mark := range [...]string{".", "!", "?", "…", "。", "！", "？"} {
		if strings.HasSuffix(string(p.ink[:p.inks]), mark) {
			return true
		}
	}
	return false
}

// endsValue reports whether the text so far ends with what a call ends with in front of its end marker.
func (p *place) endsValue() bool {
	return p.inks > 0 && strings.IndexByte("}])>", p.ink[p.inks-1]) >= 0
}

// quoted reports whether a quotation mark stands right before, or code in a line, or
// the line is a quotation.
func (p *place) quoted() bool {
	for _, mark := range [...]string{`"`, "'", "“", "„", "«", "‘", "「", "『", "＂"} {
		if strings.HasSuffix(string(p.ink[:p.inks]), mark) && !chars.IsSpace(p.last) {
			return true
		}
	}
	return p.inCode() && !p.fence.around() || p.first == '>'
}

// inCode reports whether code in a line begins right before: a backtick that ends no
// block of code.
func (p *place) inCode() bool { return p.last == '`' && !p.fence.closing() }

// fenced reports whether what comes next stands in code: in a fence, or in a line.
func (p *place) fenced() bool { return p.fence.around() || p.inCode() }
