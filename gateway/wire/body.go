package wire

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
)

// body writes a delta or message with new text and calls: the members of the original with
// the new text in place of the old, and what is new behind them.
type body struct {
	f                     *Frame
	change                *Change
	events                []abi.Event
	thought               int  // content before this event was reasoning
	text, reasoning       bool // there is some
	calls                 bool // there are events of calls
	textDone, thoughtDone bool
	callsDone             bool
}

// newBody makes the body of a choice that has the events in the place of its text.
func newBody(f *Frame, place int, events []abi.Event) body {
	b := body{f: f, change: f.Change(place), events: events}
	for i := range events {
		switch e := &events[i]; e.Kind {
		case abi.Content:
			b.text = b.text || e.Text != ""
		case abi.Reasoning:
			b.reasoning = b.reasoning || e.Text != ""
		case WasReasoning: // what has been sent cannot be taken back
			b.reasoning, b.text, b.thought = b.reasoning || b.text, false, i
		case abi.CallStart, abi.Args:
			b.calls = true
		}
	}
	return b
}

// append writes the body. original is the place of the one that it takes the place of, if
// there is one.
func (b *body) append(dst []byte, original Span) []byte {
	b.textDone = !b.text && (!b.f.Whole || !b.change.text)
	b.thoughtDone = !b.reasoning
	b.callsDone = !b.calls
	dst = append(dst, '{')
	if !original.Empty() {
		Members(b.f.Data[:original.End], original.Start, func(key []byte, v Span) bool {
			dst = b.member(dst, key, v.Of(b.f.Data))
			return true
		})
	}
	if !b.textDone {
		dst = b.putText(dst)
	}
	if !b.thoughtDone {
		dst = b.putReasoning(AppendKey(dst, b.change.split), "")
	}
	if !b.callsDone {
		dst = b.putCalls(AppendKey(dst, "tool_calls"), nil)
	}
	return append(dst, '}')
}

// member writes a member of the original, or what takes its place.
func (b *body) member(dst, key, old []byte) []byte {
	name := string(key)
	if b.change.reasoning != "" && IsReasoning(name) {
		name = b.change.reasoning
	}
	switch {
	case name == "content":
		return b.content(dst, old)
	case name == "tool_calls":
		return b.toolCalls(dst, old)
	case name == b.change.split && !b.thoughtDone:
		b.thoughtDone = true
		return b.putReasoning(AppendKey(dst, name), Unquote(old))
	}
	return append(AppendKey(dst, name), old...)
}

// content writes the content, where it is not gone.
func (b *body) content(dst, old []byte) []byte {
	switch {
	case !b.textDone:
		return b.putText(dst)
	case b.change.text && !b.f.Whole && len(old) > 2 && old[0] == '"':
		return dst // its text is gone, or goes out later
	}
	return append(AppendKey(dst, "content"), old...)
}

// toolCalls writes the calls, where there are some left.
func (b *body) toolCalls(dst, old []byte) []byte {
	switch {
	case !b.change.calls && b.callsDone:
		return append(AppendKey(dst, "tool_calls"), old...)
	case len(b.change.entries) == 0 && b.callsDone && !b.f.Whole:
		return dst
	}
	b.callsDone = true
	return b.putCalls(AppendKey(dst, "tool_calls"), old)
}

// putText appends the member content: the text that was put, or null where calls stand in its place.
func (b *body) putText(dst []byte) []byte {
	b.textDone = true
	dst = AppendKey(dst, "content")
	if !b.text && b.calls {
		return append(dst, "null"...)
	}
	s := openString(dst, false)
	for i := b.thought; i < len(b.events); i++ {
		if b.events[i].Kind == abi.Content {
			s.add(b.events[i].Text)
		}
	}
	return s.close()
}

// putReasoning writes the reasoning behind what there is of it.
func (b *body) putReasoning(dst []byte, head string) []byte {
	s := openString(dst, false)
	s.add(head)
	for i := range b.events {
		if e := &b.events[i]; e.Kind == abi.Reasoning || e.Kind == abi.Content && i < b.thought {
			s.add(e.Text)
		}
	}
	return s.close()
}

// putCalls writes tool_calls: those of the original, and behind them the events'.
func (b *body) putCalls(dst, old []byte) []byte {
	dst = append(dst, '[')
	start := len(dst)
	switch {
	case b.change.calls && old != nil:
		for i := range b.change.entries {
			dst = b.entry(dst, start, &b.change.entries[i])
		}
	case len(old) > 1 && old[0] == '[':
		dst = append(dst, bytes.TrimSpace(old[1:len(old)-1])...)
	}
	for i := 0; i < len(b.events); i++ {
		e := &b.events[i]
		if e.Kind != abi.CallStart && e.Kind != abi.Args {
			continue
		}
		entry := Entry{Kind: GoesOn, Index: e.Index, Args: e.Text}
		if e.Kind == abi.CallStart {
			entry = Entry{Kind: Begins, Index: e.Index, ID: e.ID, Name: e.Name}
		}
		from := i + 1
		for i+1 < len(b.events) && b.events[i+1].Kind == abi.Args && b.events[i+1].Index == e.Index {
			i++
		}
		entry.more = b.events[from : i+1]
		dst = b.entry(dst, start, &entry)
	}
	return append(dst, ']')
}

// entry writes an entry behind those since start.
func (b *body) entry(dst []byte, start int, e *Entry) []byte {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	return e.append(dst, e.From.Of(b.f.Data), !b.f.Whole)
}

// says reports whether there is anything in the entry but its index.
func (e *Entry) says(data []byte) bool {
	if e.Kind != GoesOn || e.Args != "" {
		return true
	}
	says := false
	Members(e.From.Of(data), 0, func(key []byte, v Span) bool {
		switch string(key) {
		case "index", "id", "type":
		case "function":
			Members(v.Of(e.From.Of(data)), 0, func(key []byte, _ Span) bool {
				says = string(key) != "name" && string(key) != "arguments"
				return !says
			})
		default:
			says = true
		}
		return !says
	})
	return says
}

// append writes the entry. old is the one that it stands for.
func (e *Entry) append(dst, old []byte, indexed bool) []byte {
	switch e.Kind {
	case AsItCame:
		return append(dst, old...)
	case Renumbered:
		return append(AppendOthers(AppendInt(AppendKey(append(dst, '{'), "index"), e.Index), old, "index"), '}')
	}
	dst = append(dst, '{')
	if indexed || len(old) > 0 && !Find(old, Span{0, len(old)}, "index").Empty() {
		dst = AppendInt(AppendKey(dst, "index"), e.Index)
	}
	if e.Kind == Begins {
		dst = AppendQuoted(AppendKey(dst, "id"), e.ID)
		dst = append(AppendKey(dst, "type"), `"function"`...)
	}
	var function []byte
	if len(old) > 0 {
		dst = AppendOthers(dst, old, "id", "type", "function", "index")
		function = Find(old, Span{0, len(old)}, "function").Of(old)
	}
	dst = append(AppendKey(dst, "function"), '{')
	if e.Kind == Begins {
		dst = AppendQuoted(AppendKey(dst, "name"), e.Name)
	}
	dst = AppendOthers(dst, function, "name", "arguments")
	text := openString(AppendKey(dst, "arguments"), true)
	text.add(e.Args)
	for i := range e.more {
		text.add(e.more[i].Text)
	}
	return append(text.close(), "}}"...)
}

// IsReasoning reports whether a member of a message is the text of what the model has thought. reasoning_text is
// GitHub Copilot's (pydantic-ai, github_copilot.py).
func IsReasoning(name string) bool {
	return name == "reasoning_content" || name == "reasoning" || name == "reasoning_text"
}
