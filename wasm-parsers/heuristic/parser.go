package heuristic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// state is what a parser expects next.
type state uint8

const (
	inOpening state = iota // in front of a block
	inBlock
	inClosing // behind a block, in front of the fence that ends it
	behind    // what may follow a call
)

// parser reads one region. Its calls are written when it is certain that it holds
// nothing else.
type parser struct {
	*format
	tools    []sdk.Tool
	maxDepth int
	read     relaxed.Reader // of blocks

	state    state
	labelled int    // bytes up to the end of the word in front of the first block
	fences   bool   // the block at hand stands between fences
	head     []byte // the opening, as far as it was read
	tail     []byte // the beginning of a literal behind a block
	block    block
	blocks   int     // that were read
	newline  bool    // the line of a form in brackets has ended
	ticks    int     // backticks behind it
	brackets int     // behind a list, which close nothing
	closed   bool    // calls were written, with the end that follows them
	calls    []*call // in the blocks' own memory: a region may hold very many
	pos      int     // of the next byte in the region
	sure     int     // end of the last part that a call may have
	end      int     // of the last block
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	*p = parser{
		format: p.format, tools: o.Tools, maxDepth: o.MaxDepth, read: p.read,
		head: p.head[:0], tail: p.tail[:0], calls: p.calls[:0], block: p.block,
	}
	if len(o.Tools) > 0 && p.action {
		for _, name := range notCalled {
			p.tools = append(p.tools, sdk.Tool{Name: name})
		}
	}
	return nil
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		n, s := p.step(text, out)
		p.pos += n
		text = text[n:]
		switch s {
		case next, done:
			p.sure = p.pos
		case bad:
			p.giveBack(out)
		}
		if s == done {
			p.blockEnds(out)
		}
	}
}

// maxBlocks is how many blocks of code with calls may follow one another. Where text
// follows in the end each of them is read again as the first.
const maxBlocks = 16

// giveBack says that the region holds no call. A block of code is for the gateway to
// find, so what is in front of it is all that is given back.
func (p *parser) giveBack(out *sdk.Out) {
	if p.closed {
		out.End(p.end)
		return
	}
	to := max(p.sure, 1)
	if p.labelled > 0 && p.fences {
		to = min(to, p.labelled)
	}
	out.Malformed(0, to)
}

// step reads some of text. done says that a block is complete.
func (p *parser) step(text []byte, out *sdk.Out) (int, status) {
	switch c := text[0]; p.state {
	case inBlock:
		return p.block.step(text)
	case inOpening:
		return p.readOpening(c)
	case inClosing:
		return 1, p.readClosing(c)
	default:
		return p.readBehind(c, out)
	}
}

// readOpening reads up to the first byte of a block. What was read is put together
// because it may have been cut; it is short.
func (p *parser) readOpening(c byte) (int, status) {
	p.head = append(p.head, c)
	n, verdict := p.opening(p.head)
	switch verdict {
	case sdk.No:
		return 0, bad
	case sdk.Maybe:
		return 1, more
	}
	p.fences = bytes.Contains(p.head[:n], []byte(fence))
	if p.blocks == 0 && (p.action || p.label) {
		if i := bytes.Index(p.head, []byte(startAction)); i >= 0 {
			p.labelled = i + len(startAction)
		}
	}
	p.read.Init(p.maxDepth)
	p.block.begin(p.behind(p.head[:n]), p.tools, &p.read)
	p.head, p.state = p.head[:0], inBlock
	p.block.fenced = p.fences
	return 0, next
}

// blockEnds takes the calls of a complete block.
func (p *parser) blockEnds(out *sdk.Out) {
	p.take(p.block.calls)
	p.blocks++
	p.end = p.pos - p.block.over
	switch {
	case p.fences:
		p.state = inClosing
	case p.block.over > 0:
		p.write(out)
	default:
		p.state = behind
	}
}

// take notes calls, in their order.
func (p *parser) take(calls []call) {
	for i := range calls {
		p.calls = append(p.calls, &calls[i])
	}
}

// readClosing reads the fence behind a block.
func (p *parser) readClosing(c byte) status {
	switch {
	case len(p.tail) == 0 && chars.IsSpace(c):
		return next
	case c != '`':
		return bad
	}
	if p.tail = append(p.tail, c); len(p.tail) == len(fence) {
		p.tail, p.state, p.end = p.tail[:0], behind, p.pos+1
	}
	return next
}

// tagged reports whether the block is a form in brackets that may stand anywhere.
func (p *parser) tagged() bool { return p.block.form&(request|tags|calling) != 0 }

// readBehind reads what follows a block. JSON must be the last of the output, but
// for more of its kind; a form in brackets must be the last of its line.
func (p *parser) readBehind(c byte, out *sdk.Out) (int, status) {
	switch {
	case len(p.tail) > 0:
		return 1, p.readTail(c, out)
	case p.newline && !chars.IsSpace(c):
		return p.readNextLine(c, out)
	case p.answers():
		p.write(out)
		return 0, more
	case chars.IsSpace(c), p.several && c == ';':
		p.newline = p.tagged() && (p.newline || c == '\n')
		return 1, next
	case p.begins(c):
		p.state = inOpening
		return 0, next
	case c == '<', c == '[' && (p.tagged() || p.isBare()):
		return 1, p.readTail(c, out)
	}
	return p.readBracket(c)
}

// readBracket reads a bracket too many behind a list.
func (p *parser) readBracket(c byte) (int, status) {
	if c != ']' || p.block.form != array || p.brackets == maxBraces || len(p.calls) == 0 {
		return 0, bad
	}
	p.brackets++
	p.calls[len(p.calls)-1].Repaired = true
	p.end = p.pos + 1
	return 1, next
}

// begins reports whether another block of the same kind may begin with c.
func (p *parser) begins(c byte) bool {
	switch c {
	case '{':
		return p.several && p.block.form&(element|pythonCall) == 0
	case '`':
		return p.fences && !p.action && p.blocks < maxBlocks
	case '[':
		return p.block.form == header
	}
	return false
}

// readNextLine reads the first line behind a form in brackets. Where a fence begins
// it, the form stood in a block of code that does not look like one, such as one
// behind the number of a list.
func (p *parser) readNextLine(c byte, out *sdk.Out) (int, status) {
	if c != '`' {
		p.write(out)
		return 0, more
	}
	if p.ticks++; p.ticks == len(fence) {
		return 0, bad
	}
	return 1, more
}

// endTokens end a model's turn, or stand where another call begins.
var endTokens = [...]string{
	"<|im_end|>", "</s>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "<end_of_turn>",
	"<|endoftext|>", "<|end_of_text|>", "<|eom|>", "<|eot|>", "<turn|>", "<｜end▁of▁sentence｜>",
}

// callEnds end a call in formats that write it as JSON between two markers. Servers drop the first one, and
// the prompt holds it where it makes the model call.
var callEnds = [...]string{
	"</tool_call>", "</tool_calls>", "</function_call>", "</TOOLCALL>", "</longcat_tool_call>", "<|tool_call_end|>",
	"<|tool_calls_end|>", "<|action_end|>", "<|tools_suffix|>", "<|/tool_call|>", endRequest, endTags, "[/TOOL_CALLS]",
}

// isBare reports whether the block is JSON without anything around it.
func (p *parser) isBare() bool { return !p.fences && p.block.form&(object|array|wrapped) != 0 }

// readTail reads a literal behind a block.
func (p *parser) readTail(c byte, out *sdk.Out) status {
	p.tail = append(p.tail, c)
	tail := string(p.tail)
	verdict := bad
	for _, token := range callEnds {
		if !p.isBare() || !strings.HasPrefix(token, tail) {
			continue
		}
		if verdict = more; token == tail {
			p.closeCalls(out)
			return next
		}
	}
	for _, token := range endTokens {
		if token == tail {
			p.tail = p.tail[:0]
			return next
		}
		if strings.HasPrefix(token, tail) {
			verdict = more
		}
	}
	if p.block.start != "" && strings.HasPrefix(p.block.start, tail) {
		if p.block.start == tail {
			p.write(out)
		}
		return more
	}
	return verdict
}

// closeCalls writes the calls in front of an end, which makes them sure: nothing has begun them.
func (p *parser) closeCalls(out *sdk.Out) {
	p.tail, p.end = p.tail[:0], p.pos+1
	p.writeCalls(out)
	if len(p.calls) > 0 {
		out.Repair("stray_markup")
	}
	p.calls, p.closed = p.calls[:0], true
}

// answers reports whether the action says that an answer follows.
func (p *parser) answers() bool {
	if !p.action || p.state != behind {
		return false
	}
	for _, c := range p.calls {
		if slices.Contains(notCalled, c.Name) {
			return true
		}
	}
	return false
}

// write writes the calls and ends the region behind the last block.
func (p *parser) write(out *sdk.Out) {
	p.writeCalls(out)
	out.End(p.end)
}

func (p *parser) writeCalls(out *sdk.Out) {
	for _, c := range p.calls {
		if p.action && slices.Contains(notCalled, c.Name) {
			continue
		}
		c.Write(out)
	}
}

// Finish implements sdk.Parser. What a token limit has cut off is lost, and is not
// text either; the calls before it stay.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	switch {
	case p.state == behind && len(p.tail) == 0:
		p.write(out)
	case p.state == inClosing:
		p.end = p.pos
		p.write(out)
	case p.state == inBlock && p.block.finish():
		p.take(p.block.calls)
		p.end = p.pos
		p.write(out)
	case reason == sdk.Length && p.pos > 0:
		p.cut(out)
	case p.pos == 0:
		out.Malformed(0, 0)
	default:
		p.giveBack(out)
	}
}

// cut ends a region inside a block, or what may have become one. The calls before it stay.
func (p *parser) cut(out *sdk.Out) {
	begun := p.state == inOpening && !chars.Blank(p.head)
	if p.state == inBlock {
		p.take(p.block.complete())
		begun = p.block.begun() || len(p.calls) > 0 && p.block.inside()
	}
	if p.state != behind {
		p.end = p.pos
	}
	switch {
	case len(p.calls) > 0:
		p.writeCalls(out)
		if begun {
			out.Cut()
		}
		out.End(p.end)
	case begun && p.state == inBlock:
		out.Cut()
		out.End(p.pos)
	default:
		p.giveBack(out)
	}
}
