package chain

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// doubt is how sure it is that markup is a call and not text about one, where nobody
// named the parser.
type doubt uint8

const (
	noDoubt  doubt = iota
	untilEnd       // a call if the output ends with it
	isText         // quoted, or part of some code
)

// doubts judges a place by what stands before it. A model that calls begins a line,
// and begins it by itself; what a label, a quotation, a list or a tag introduces is
// mostly an example, and then more text follows.
func (c *Chain) doubts(candidate *Candidate) doubt {
	switch {
	case !c.plan.auto:
		return noDoubt
	case c.quoted(), c.text.fence.around() && (candidate.Framing || !c.text.fence.holdsOnly()),
		candidate.Framing && c.open && c.opened != nil:
		return isText
	case candidate.hinted:
		return noDoubt
	case candidate.Heuristic, c.thought != nil, letterFirst(c.region.found), !c.text.lineBlank && !c.text.fence.closing():
		return untilEnd
	case c.begun && !c.after && c.introduced(candidate):
		return untilEnd
	}
	return noDoubt
}

// introduced reports whether what comes is shown by the text before it: in a code's
// indent, behind a colon or a tag, as part of a chat.
func (c *Chain) introduced(candidate *Candidate) bool {
	return c.mention || c.text.triple || c.text.introduces() || c.text.indent >= 4 && !c.text.fence.around() ||
		candidate.Framing && !strings.HasPrefix(c.region.found, "<|end|>")
}

// quoted reports whether a quotation mark stands right before, or code in a line, or
// the line is a quotation.
func (c *Chain) quoted() bool {
	for _, mark := range [...]string{`"`, "'", "“", "„", "«", "‘", "「", "『", "＂"} {
		if strings.HasSuffix(string(c.text.ink[:c.text.inks]), mark) && !chars.IsSpace(c.text.last) {
			return true
		}
	}
	return c.inCode() && !c.text.fence.around() || c.text.first == '>'
}

// letterFirst reports whether a trigger begins as a word does.
func letterFirst(trigger string) bool {
	return trigger != "" && (trigger[0]|0x20 >= 'a' && trigger[0]|0x20 <= 'z')
}

// plain reports whether a trigger is made of ordinary characters, so that a text
// about the format has it too: those of special tokens have a bar, or brackets that
// no text has.
func plain(trigger string) bool {
	return trigger != "" && !strings.ContainsAny(trigger, "|｜") && !strings.HasPrefix(trigger, "]<]")
}

// forwards reports whether a call of a tool that was not offered may go on to the
// client, who will tell the model. Where nobody named the parser only markup that is
// no ordinary text may do that, or JSON between tags, and not with a name that
// documentation uses.
func (c *Chain) forwards(name string) bool {
	r := c.region
	if !c.plan.auto || r.candidate.hinted {
		return true
	}
	if !isName(name) {
		return false
	}
	body := chars.SkipSpace(c.buf[min(len(r.found), len(c.buf)):])
	if !c.begun && strings.Contains(r.found, ":") { // a tag with a prefix, alone
		return true
	}
	return !plain(r.found) || len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// isName reports whether a tool may be called so, and documentation does not call
// one so.
func isName(name string) bool {
	for i := range len(name) {
		if b := name[i]; !isWord(b) && b != '_' && b != ':' && b != '/' && b != '-' || b == '{' {
			return false
		}
	}
	return !slices.Contains([]string{"NAME", "name", "tool_name", "function_name", "function-name", "example_function_name", "tool-name"}, name)
}

// trailing reports whether text follows the last call among the events.
func trailing(events []abi.Event) bool {
	text := false
	for _, e := range events {
		switch e.Kind {
		case abi.CallEnd:
			text = false
		case abi.Content:
			text = text || !chars.Blank([]byte(e.Text))
		}
	}
	return text
}

// endTail is how many bytes at the end of text are end tokens, with white space
// around them, or may become one. In the final text nothing may become anything.
func endTail(text []byte, final bool) int {
	const longest = 32
	end := len(text)
	if !final {
		for i := len(text) - 1; i >= max(0, len(text)-longest); i-- {
			if text[i] == '<' || text[i] == '[' {
				part := string(text[i:])
				if slices.ContainsFunc(endTokens[:], func(t string) bool { return strings.HasPrefix(t, part) }) {
					end = i
				}
				break
			}
		}
	}
	tail := len(text) - end
	for {
		body := chars.TrimEnd(text[:end])
		if len(body) == 0 || body[len(body)-1] != '>' && body[len(body)-1] != '[' {
			return tail // no token ends so
		}
		i := slices.IndexFunc(endTokens[:], func(t string) bool { return bytes.HasSuffix(body, []byte(t)) })
		if i < 0 {
			return tail
		}
		end = len(body) - len(endTokens[i])
		tail = len(text) - end
	}
}
