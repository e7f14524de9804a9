package guard

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// writtenCall is a call that stands in a text, where nobody runs it.
type writtenCall struct {
	name    string
	offered bool
	// alone says that the answer is little else, or that marks of a model's own format are
	// around it: then it is no documentation.
	alone, formatted bool
}

const (
	// maxAround is how many bytes of prose may be around a call in a block of code.
	maxAround = 260
	// maxOpenings bounds the objects that are looked into.
	maxOpenings = 24
	maxName     = 80
)

// formats are marks that models put around calls.
var formats = []string{
	"<tool_call", "</tool_call", "<function", "<|tool", "<|python_tag|>", "[tool_call", "<invoke", "<tool>", "<tool_use",
	"<|action", "<action>", "[function", "functions.", "action input:", "<execute", "<call", "tool_code", "<｜tool", "<use_",
	"<api_call", "call:", "to=functions", "<|channel|>commentary",
}

// callFinder finds calls in texts.
type callFinder struct {
	offered map[string]int     // the names of the tools
	verbs   map[string]actions // words that names of tools have
}

// weighCallText weighs a call that stands in an answer.
func weighCallText(to *reasons, c writtenCall, w *wish) {
	weight := 0.85
	if !c.alone {
		weight = 0.3
	}
	if w.askedBack || w.composes && !c.formatted {
		weight /= 2
	}
	if c.offered {
		to.add(SignalCallText, weight, c.name)
		to.prefer(c.name, weight)
		return
	}
	to.add(SignalUndeclared, weight, c.name)
}

// find finds the first call that is written in a text, which is p as a plain one.
func (f *callFinder) find(text string, p *plain) (c writtenCall, found bool) {
	if !mayBeCall(text) {
		return c, false
	}
	name, size := f.jsonCall(text)
	if name == "" {
		name, size = f.taggedCall(text)
	}
	if name == "" {
		name, size = f.functionCall(text)
	}
	if name == "" {
		return c, false
	}
	c.name = name
	_, c.offered = f.offered[name]
	lower := strings.ToLower(text)
	c.formatted = slices.ContainsFunc(formats, func(mark string) bool { return strings.Contains(lower, mark) })
	around := len(bytes.TrimSpace(p.text))
	prose := around
	if size <= around && p.code == 0 {
		prose = len(text) - size
	}
	c.alone = c.formatted || prose <= maxAround && prose <= 4*size+60
	return c, true
}

// mayBeCall reports whether a text has a sign that no call can do without.
func mayBeCall(text string) bool {
	return strings.IndexByte(text, '(') >= 0 || mayBeTagged(text)
}

// jsonCall finds an object that has a tool's name and arguments, or whose only member is
// called like a tool.
func (f *callFinder) jsonCall(text string) (name string, size int) {
	if strings.IndexByte(text, '{') < 0 {
		return "", 0
	}
	json := []byte(text)
	for i, tries := 0, 0; i < len(text) && tries < maxOpenings; tries++ {
		n := strings.IndexByte(text[i:], '{')
		if n < 0 {
			break
		}
		v, ok := wire.Value(json, i+n)
		if !ok || v.End <= v.Start {
			i += n + 1
			continue
		}
		if name := f.objectCall(json, v, 0); name != "" {
			return name, v.End - v.Start
		}
		i = v.End
	}
	return "", 0
}

func (f *callFinder) objectCall(text []byte, v wire.Span, depth int) string {
	var o callObject
	conversation.Members(text, v, func(key []byte, value wire.Span) bool {
		o.members++
		o.last = string(key)
		f.readMember(&o, text, value, depth)
		return o.members < maxMembers
	})
	if _, offered := f.offered[o.last]; offered && o.members == 1 {
		return o.last
	}
	if !o.args || !isToolName(o.name) {
		return ""
	}
	return f.bare(o.name)
}

// callObject is what is known of an object that may be a call.
type callObject struct {
	name, last string // last is the last key
	args       bool
	members    int
}

const maxMembers = 64

func (f *callFinder) readMember(o *callObject, text []byte, value wire.Span, depth int) {
	first := text[value.Start]
	switch o.last {
	case "name", "tool", "tool_name", "function", "function_name", "recipient_name", "action", "call", "api":
		if first == '"' && (o.name == "" || o.last == "name") {
			s, _ := conversation.Decode(text, value)
			o.name = string(s)
		} else if first == '{' {
			f.readInner(o, text, value, depth)
		}
	case "arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "tool_args", "kwargs":
		o.args = o.args || first == '{' || first == '"'
	case "tool_calls", "function_call", "tool_call", "calls", "actions":
		f.readInner(o, text, value, depth)
	}
}

// readInner takes the call that an object or a list holds.
func (f *callFinder) readInner(o *callObject, text []byte, value wire.Span, depth int) {
	if inner := f.innerCall(text, value, depth); inner != "" {
		o.name, o.args = inner, true
	}
}

func (f *callFinder) innerCall(text []byte, v wire.Span, depth int) (name string) {
	if depth > 1 {
		return ""
	}
	if text[v.Start] == '{' {
		return f.objectCall(text, v, depth+1)
	}
	wire.Elements(text[:v.End], v.Start, func(_ int, item wire.Span) bool {
		if text[item.Start] == '{' {
			name = f.objectCall(text, item, depth+1)
		}
		return false
	})
	return name
}

// bare takes off what models put in front of a name: "functions.get_time".
func (f *callFinder) bare(name string) string {
	if _, offered := f.offered[name]; offered {
		return name
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		if _, offered := f.offered[name[dot+1:]]; offered || name[:dot] == "functions" {
			return name[dot+1:]
		}
	}
	return name
}

func isToolName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return true
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' || c == ':' || c == '/'
}

// taggedCall finds <delete_task>…</delete_task>, <function=delete_task>, <invoke
// name="delete_task"> and "Action: delete_task" with an "Action Input:".
func (f *callFinder) taggedCall(text string) (name string, size int) { //nolint:gocyclo // one scan
	if !mayBeTagged(text) {
		return "", 0
	}
	angled, braced := strings.IndexByte(text, '<') >= 0, strings.IndexByte(text, '{') >= 0
	for _, opening := range []string{"<function=", "invoke name=\"", "<tool name=\"", "<function name=\"", "<tool_name>", "to=functions.", "<|recipient|>", "<tool_call>"} {
		if opening[0] == '<' && !angled {
			continue
		}
		_, rest, found := strings.Cut(text, opening)
		if !found {
			continue
		}
		if name := f.bare(leadingName(strings.TrimLeft(rest, " \n"))); name != "" {
			return name, len(rest)
		}
	}
	if before, rest, found := strings.Cut(text, "\nAction Input:"); found {
		if at := strings.LastIndex(before, "Action:"); at >= 0 {
			if name := f.bare(leadingName(strings.TrimLeft(before[at+7:], " "))); name != "" {
				return name, len(rest) + len(before) - at
			}
		}
	}
	if _, rest, found := strings.Cut(text, "'name': '"); found && braced { // as Python writes it
		name := leadingName(rest)
		if _, offered := f.offered[name]; offered {
			return name, len(rest)
		}
	}
	if braced {
		if name, size := f.labelledCall(text); name != "" {
			return name, size
		}
	}
	for i, tries := 0, 0; tries < maxOpenings; tries++ {
		n := strings.IndexByte(text[i:], '<')
		if n < 0 {
			return "", 0
		}
		i += n + 1
		name := leadingName(text[i:])
		if _, offered := f.offered[name]; offered && strings.Contains(text[i:], "</"+name+">") {
			return name, len(text) - i
		}
		if _, offered := f.offered[name]; offered && strings.Contains(text[i:min(len(text), i+400)], "/>") {
			return name, len(text) - i
		}
	}
	return "", 0
}

// mayBeTagged reports whether a text has a mark that one of these forms cannot do without.
func mayBeTagged(text string) bool {
	return strings.IndexByte(text, '<') >= 0 || strings.IndexByte(text, '{') >= 0 ||
		strings.IndexByte(text, '=') >= 0 && strings.Contains(text, "to=functions.") || strings.IndexByte(text, ':') >= 0 && strings.Contains(text, "\nAction Input:")
}

// labelledCall finds a line such as "FUNCTION: delete_task" with an object in the next.
func (f *callFinder) labelledCall(text string) (name string, size int) {
	rest := text
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		label, name, found := strings.Cut(line, ":")
		name = strings.Trim(name, " `*")
		if _, offered := f.offered[name]; !found || !offered || len(label) > 40 {
			continue
		}
		if next, _, _ := strings.Cut(strings.TrimSpace(rest), "\n"); strings.Contains(next, "{") {
			return name, len(line) + len(rest)
		}
	}
	return "", 0
}

func leadingName(text string) string {
	end := 0
	for end < len(text) && end < maxName && isNameByte(text[end]) {
		end++
	}
	return text[:end]
}

// functionCall finds delete_task(id=3) where it is an act: a line of its own, or in
// brackets. Of tools that are not offered it takes only what looks like nothing else.
func (f *callFinder) functionCall(text string) (name string, size int) {
	for i, tries := 0, 0; tries < maxOpenings*4; tries++ {
		n := strings.IndexByte(text[i:], '(')
		if n < 0 {
			return "", 0
		}
		open := i + n
		start := open
		for start > i && open-start < maxName && isNameByte(text[start-1]) {
			start--
		}
		i = open + 1
		name := f.bare(text[start:open])
		if name == "" {
			continue
		}
		end := callEnd(text, open)
		if end < 0 || !isAct(text, start, end) {
			continue
		}
		if _, offered := f.offered[name]; offered || f.looksLikeTool(name, text[open:end]) {
			return name, end - start
		}
	}
	return "", 0
}

// maxArguments bounds the arguments of a call that is written as in a program.
const maxArguments = 2000

// callEnd returns the place behind the bracket that closes the one at open, or -1.
func callEnd(text string, open int) int {
	depth := 0
	for i := open; i < len(text) && i < open+maxArguments; i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// isAct reports whether nothing but marks stands around a call in its line.
func isAct(text string, start, end int) bool {
	before := text[strings.LastIndexByte(text[:start], '\n')+1 : start]
	after, _, _ := strings.Cut(text[end:], "\n")
	bracketed := strings.HasSuffix(before, "[") && endsList(after) || strings.HasSuffix(before, ">") && strings.HasPrefix(after, "<")
	trimmed := strings.Trim(before, " \t`[*>-→|")
	lower := strings.ToLower(trimmed)
	named := trimmed == "" || strings.HasSuffix(lower, ":") && len(lower) < 40 || strings.HasSuffix(lower, "print(") ||
		strings.HasPrefix(lower, "<|") || strings.HasSuffix(lower, "=") && len(lower) < 30 || lower == "await" || lower == "call" || lower == "calling"
	return bracketed || named && strings.Trim(after, " \t`]*)|.;") == ""
}

// endsList reports whether a list of calls ends behind one, or goes on with others.
func endsList(after string) bool {
	return strings.HasPrefix(after, "]") || strings.HasPrefix(after, ", ") && strings.Contains(after, ")]")
}

// looksLikeTool reports whether a name that is not offered is one of a tool: two words
// with a verb, and arguments by name.
func (f *callFinder) looksLikeTool(name, args string) bool {
	words := nameWords(name)
	if len(words) < 2 || !strings.ContainsAny(args, "=:") || strings.Contains(args, ":=") {
		return false
	}
	for _, word := range words {
		if f.verbs[word] != 0 {
			return true
		}
	}
	return false
}
