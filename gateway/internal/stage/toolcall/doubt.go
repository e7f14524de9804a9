package toolcall

import (
	"encoding/json"
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
func hasBlank(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		i++
		if first, _ := utf8.DecodeRuneInString(text[i:]); first == '"' || first == '\\' || unicode.IsSpace(first) {
			return true
		}
		for i < len(text) && text[i] != '"' {
			if text[i] == '\\' {
				i++
			}
			i++
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

// swallows says that an argument of a call holds the beginning of another one, nil if it does not. A tag that is
// mistyped or left out ends no value, and what comes behind it is a call that nobody makes. It may as well be a
// text about calls, which is why it is only doubted.
func swallows(offered *tools.List, args string) *repair.Problem {
	const most = 64                    // tags that are looked at
	at := strings.IndexByte(args, '<') // in front of a call a value ends
	for n := 0; at >= 0 && n < most; n++ {
		next := strings.IndexByte(args[at+1:], '<')
		if next < 0 {
			break
		}
		at += 1 + next
		if name := called(offered, args[at:]); name != "" {
			return &repair.Problem{Class: repair.DoubtfulCall,
				Message: "Its arguments hold the beginning of a call of the tool " + strconv.Quote(name) + ".",
				Hint:    "Make each call by itself, and write its tags as they are defined."}
		}
	}
	return nil
}

// called is the tool that a tag of a call in a string of JSON names, or "".
func called(offered *tools.List, tag string) string {
	const far = 64 // from the tag's beginning to the name
	if end := strings.IndexByte(tag[1:], '<'); end >= 0 {
		tag = tag[:min(1+end+1, len(tag))]
	}
	head := tag[:min(far, len(tag))]
	if !slices.ContainsFunc([]string{"call", "function", "invoke"}, func(word string) bool { return strings.Contains(head, word) }) {
		return ""
	}
	for i := range offered.Tools {
		name := offered.Tools[i].Name
		if n := strings.Index(tag, name); n > 0 && n < far && opensName(tag[:n]) && closesName(tag[n+len(name):]) {
			return name
		}
	}
	return ""
}

func opensName(before string) bool {
	return strings.HasSuffix(before, "=") || strings.HasSuffix(before, `=\"`) || strings.HasSuffix(before, ">")
}

func closesName(after string) bool {
	return slices.ContainsFunc([]string{">", `\"`, "<", `\n`}, func(end string) bool { return strings.HasPrefix(after, end) })
}
