package heuristic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/pythonic"
)

// accepted reports whether all calls are of tools that take their arguments, and notes their form.
func (b *block) accepted(calls []call, form string) bool {
	for i := range calls {
		if !accepts(sdk.FindTool(b.tools, calls[i].Name), calls[i].Args, b.read.MaxDepth()) {
			return false
		}
		calls[i].Form = form
	}
	return len(calls) > 0
}

// readTag reads a tag that is the name of a tool, around its arguments.
func (b *block) readTag(c byte) status {
	name := b.head[1:]
	switch {
	case c == '>' && len(name) > 1:
		tool := string(name[:len(name)-1])
		if sdk.FindTool(b.tools, tool) == nil {
			return bad
		}
		return b.callee(element, tool, "</"+tool+">")
	case len(name) == 0, isNameByte(c) && len(name) <= maxName:
		return more
	}
	return bad
}

// readFunction reads the name of a tool up to its parenthesis.
func (b *block) readFunction(c byte) status {
	name := b.head
	if name[0] == '[' {
		name = listedCall(name)
	}
	switch name = name[:len(name)-1]; {
	case c != '(' && isNameByte(c) && len(name) < maxName:
		return more
	case c != '(', sdk.FindTool(b.tools, string(name)) == nil:
		return bad
	}
	b.form, b.stage = pythonCall, inPython
	b.python.begin(b.tools, b.read.MaxDepth())
	return good(b.python.feed(b.head))
}

// readPython reads more of calls in Python's syntax, up to the end of the block of code or of the
// output.
func (b *block) readPython(src []byte) (int, status) {
	n := len(src)
	if i := bytes.IndexByte(src, '`'); i >= 0 && b.fenced {
		if n = i; n == 0 {
			return 0, b.endPython()
		}
	}
	if !b.python.feed(src[:n]) {
		return n, bad
	}
	return n, more
}

// endPython takes the calls, which are all that was written.
func (b *block) endPython() status {
	calls, ok := b.python.end()
	if !ok || !b.accepted(calls, formPython) {
		return bad
	}
	b.calls, b.stage = calls, atEnd
	return done
}

// pythonReader is that parser.
type pythonReader interface {
	sdk.Reusable
	Rest() []byte // of a name that is not complete
}

// code is Python's syntax, which another parser reads.
type code struct {
	parser pythonReader
	out    sdk.Out
	events []sdk.Event
	calls  []call
	ended  int // calls that are complete
}

func (c *code) begin(tools []sdk.Tool, maxDepth int) {
	if c.parser == nil {
		p, _ := pythonic.Lines().New(sdk.Options{})
		c.parser = p.(pythonReader)
	}
	c.out.Reset()
	c.calls, c.ended = nil, 0
	_ = c.parser.Reset(sdk.Options{Tools: tools, MaxDepth: maxDepth, Guess: true}) // it takes any options
}

// feed reports whether text may be part of calls.
func (c *code) feed(text []byte) bool {
	c.parser.Feed(text, &c.out)
	return c.take() && !c.out.Ended()
}

// end gives the calls, if there is nothing else.
func (c *code) end() ([]call, bool) {
	c.parser.Finish(sdk.Stop, &c.out)
	return c.calls, c.take()
}

func (c *code) take() bool {
	c.events, _ = abi.DecodeEvents(c.events[:0], c.out.Take()) // they are ours
	for _, e := range c.events {
		last := len(c.calls) - 1
		switch e.Kind {
		case abi.CallStart:
			c.calls = append(c.calls, call{Name: e.Name})
		case abi.Args:
			c.calls[last].Args = append(c.calls[last].Args, e.Text...)
		case abi.Repair:
			c.calls[last].Repaired = true
		case abi.CallEnd:
			c.ended++
		case abi.Malformed, abi.Cut:
			return false
		}
	}
	return true
}

// complete are the calls in front of one that was cut, if that may be one of an offered tool.
func (c *code) complete(tools []sdk.Tool) []call {
	if c.ended == len(c.calls) && !isPrefix(string(c.parser.Rest()), tools) || c.ended < len(c.calls) && !c.begun(tools) {
		return nil
	}
	return c.calls[:c.ended]
}

// begun reports whether the arguments of an offered tool have begun, and not ended.
func (c *code) begun(tools []sdk.Tool) bool {
	return c.ended < len(c.calls) && sdk.FindTool(tools, c.calls[c.ended].Name) != nil
}

// isPrefix reports whether an offered tool's name begins so.
func isPrefix(text string, tools []sdk.Tool) bool {
	return slices.ContainsFunc(tools, func(t sdk.Tool) bool { return strings.HasPrefix(t.Name, text) })
}
