package toolcall

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// doubts says why a call that fits its tool can hardly be meant: a text that the tool requires is
// empty. nil where nothing is to be said.
func doubts(offered *tools.List, name, args string) *repair.Problem {
	tool := offered.Find(name)
	if tool == nil || !hasBlank(args) {
		return nil
	}
	var values map[string]json.RawMessage
	_ = json.Unmarshal([]byte(args), &values) // what is no object was said
	for i := range tool.Params {
		p := &tool.Params[i]
		var text string
		if !p.Required || p.Types&abi.String == 0 || json.Unmarshal(values[p.Name], &text) != nil || len(values[p.Name]) == 0 || values[p.Name][0] != '"' {
			continue
		}
		if strings.TrimSpace(text) == "" && !allowsEmpty(offered.Schemas[name], p.Name, text) {
			return &repair.Problem{Class: repair.DoubtfulCall, Path: p.Name,
				Message: "The required argument " + strconv.Quote(p.Name) + " is an empty text.",
				Hint:    "Give it a value, or ask the user for it."}
		}
	}
	return nil
}

// hasBlank reports whether a string of JSON may be nothing but white space: whether one begins like that. Most calls
// have none, and are not read any further.
func hasBlank(json string) bool {
	for text := range texts(json) {
		if first, _ := utf8.DecodeRuneInString(text); text == "" || first == '\\' || unicode.IsSpace(first) {
			return true
		}
	}
	return false
}

// allowsEmpty reports whether a schema names an empty text as a value of a parameter.
func allowsEmpty(schema []byte, name, text string) bool {
	var s struct {
		Properties map[string]struct {
			Enum    []any `json:"enum"`
			Const   any   `json:"const"`
			Default any   `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	p := s.Properties[name]
	return slices.Contains(p.Enum, any(text)) || p.Const == any(text) || p.Default == any(text)
}

// maxBetween is how much of the text between two calls is looked at.
const maxBetween = 32

// isOr reports whether text between two calls says that one of them is meant.
func isOr(text []byte) bool {
	switch strings.ToLower(strings.Trim(string(text), " \t\r\n*_:,.-()")) {
	case "or", "or else", "alternatively", "oder", "ou", "o", "of", "eller", "lub", "или", "或", "或者", "または", "또는":
		return true
	}
	return false
}

// alternative is what is wrong with a call that is one of two of which the model chose none.
func alternative() *repair.Problem {
	return &repair.Problem{Class: repair.DoubtfulCall,
		Message: "The calls are alternatives, of which none was chosen.", Hint: "Make the one call that is meant."}
}

// swallows says that an argument of a call holds the beginning of another call or argument, or a tag of
// one by itself, nil if none does. A tag that is mistyped or left out ends no value, and what comes behind it is a call that
// nobody makes, or an argument that it does not get. It may as well be a text about calls, which is why it is only
// doubted.
func swallows(offered *tools.List, name, args string) *repair.Problem {
	const most = 64                    // tags that are looked at
	at := strings.IndexByte(args, '<') // in front of a call a value ends
	if at < 0 {
		return nil
	}
	tool := offered.Find(name)
	for n := 0; n < most; n++ {
		next := strings.IndexByte(args[at+1:], '<')
		if next < 0 {
			break
		}
		at += 1 + next
		if other := called(offered, args[at:]); other != "" {
			return swallowed("the beginning of a call of the tool " + strconv.Quote(other))
		}
		if other := argument(tool, args[at:]); other != "" {
			return swallowed("the beginning of the argument " + strconv.Quote(other))
		}
	}
	if tag := loneTag(args); tag != "" {
		return swallowed("the tag " + tag)
	}
	return nil
}

func swallowed(what string) *repair.Problem {
	return &repair.Problem{Class: repair.DoubtfulCall, Message: "Its arguments hold " + what + ".",
		Hint: "Make each call by itself, and write its tags as they are defined."}
}

// farName is how far from a tag's beginning a name in it is looked for, in bytes.
const farName = 64

// called is the tool that a tag of a call in a string of JSON names, or "".
func called(offered *tools.List, tag string) string {
	if tag = tagOf(tag, "call", "function", "invoke"); tag == "" {
		return ""
	}
	for i := range offered.Tools {
		if name := offered.Tools[i].Name; names(tag, name) {
			return name
		}
	}
	return ""
}

// argument is the parameter of a tool that a tag of an argument in a string of JSON names, or "".
func argument(tool *abi.Tool, tag string) string {
	if tool == nil {
		return ""
	}
	if tag = tagOf(tag, "parameter", "param", "arg_key", "argument"); tag == "" {
		return ""
	}
	for i := range tool.Params {
		if name := tool.Params[i].Name; names(tag, name) {
			return name
		}
	}
	return ""
}

// tagOf is a tag at the beginning of a text and what is behind it, up to the next one, if it has one of the words
// near its beginning; else "".
func tagOf(text string, words ...string) string {
	if end := strings.IndexByte(text[1:], '<'); end >= 0 {
		text = text[:1+end+1]
	}
	head := text[:min(farName, len(text))]
	if !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(head, word) }) {
		return ""
	}
	return text
}

// names reports whether a tag has a name near its beginning.
func names(tag, name string) bool {
	n := strings.Index(tag, name)
	return n > 0 && n < farName && opensName(tag[:n]) && closesName(tag[n+len(name):])
}

// loneTag is a tag of an argument that is the only tag in a text among the arguments, or "".
func loneTag(args string) string {
	for text := range texts(args) {
		start := strings.IndexByte(text, '<')
		if start < 0 || strings.LastIndexByte(text, '<') > start {
			continue
		}
		tag := text[start : start+1+strings.IndexByte(text[start:], '>')]
		words := strings.FieldsFunc(strings.ToLower(tag), func(c rune) bool { return c != '_' && !unicode.IsLetter(c) })
		if len(tag) <= farName && slices.ContainsFunc(words, isArgument) {
			return tag
		}
	}
	return ""
}

// texts are the strings of JSON, as they are written.
func texts(json string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := strings.IndexByte(json, '"'); at >= 0; at = strings.IndexByte(json, '"') {
			json = json[at+1:]
			end := 0
			for end < len(json) && json[end] != '"' {
				if json[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(json))
			if json == "" || !yield(json[:end]) || end == len(json) {
				return
			}
			json = json[end+1:]
		}
	}
}

// isArgument reports whether a word of a tag says that it is one of an argument.
func isArgument(word string) bool {
	return slices.Contains([]string{"parameter", "param", "arg_key", "arg_value", "argument"}, word)
}

func opensName(before string) bool {
	return strings.HasSuffix(before, "=") || strings.HasSuffix(before, `=\"`) || strings.HasSuffix(before, ">")
}

func closesName(after string) bool {
	return slices.ContainsFunc([]string{">", `\"`, "<", `\n`}, func(end string) bool { return strings.HasPrefix(after, end) })
}
