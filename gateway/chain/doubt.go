package chain

import (
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

// site is what stands before a region.
type site struct {
	thinks     bool // it is in open reasoning
	marked     bool // whose start marker was text, not in the prompt
	waits      bool // there are calls that wait for the end of the output
	begun      bool // something other than white space came before
	answers    bool // only white space since the reasoning
	around     bool // it is in a block of code
	fresh      bool // that may be one for a call, and holds nothing else yet
	fenced     bool // it is in code, in a block or in a line
	begins     bool // a line, or stands where a block may end
	apart      bool // a sentence has ended in front of it
	quoted     bool
	introduced bool // shown by the text before it: in a code's indent, behind a colon or a tag, as part of a chat
}

// doubts judges a site for a parser that nobody named. A model that calls begins a line,
// and begins it by itself; what a label, a quotation, a list or a tag introduces is
// mostly an example, and then more text follows. A special token, which nobody types, may also
// stand behind a sentence; in the middle of one it is what that is about. found is the trigger.
func (s *site) doubts(candidate *Candidate, found string) doubt {
	switch {
	case s.quoted, s.around && (candidate.Framing || !s.fresh), candidate.Framing && s.thinks && s.marked:
		return isText
	case candidate.hinted:
		return noDoubt
	case candidate.Heuristic, s.waits, s.inside(candidate, found), found != "" && found[0]|0x20 >= 'a' && found[0]|0x20 <= 'z':
		return untilEnd
	case s.begun && !s.answers && (s.introduced || candidate.Framing && !strings.HasPrefix(found, "<|end|>")):
		return untilEnd
	}
	return noDoubt
}

// inside reports whether a trigger in the middle of a line may be part of its sentence.
func (s *site) inside(candidate *Candidate, found string) bool {
	return !s.begins && (plain(found) || candidate.Framing || !s.apart)
}

// plain reports whether a trigger is made of ordinary characters, so that a text
// about the format has it too: those of special tokens have a bar, or brackets that
// no text has.
func plain(trigger string) bool {
	return trigger != "" && !strings.ContainsAny(trigger, "|｜") && !strings.HasPrefix(trigger, "]<]")
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
