package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a gateway says to a model in the user's place.
const (
	demand  = "You MUST call"       // a tool, whose name may follow
	refusal = "was not carried out" // said of a call, with the reason; of JSON, unaccepted
)

// prompt is the last text of the user.
func (r *request) prompt() string {
	if at := r.promptAt(); at >= 0 {
		return string(r.Messages[at].Content)
	}
	return ""
}

// promptAt is the place of the last text of the user, or -1. What a gateway says in
// the user's place is none, unless the user says nothing else.
func (r *request) promptAt() int {
	last := -1
	for i, m := range slices.Backward(r.Messages) {
		if m.Role != "user" {
			continue
		}
		if !strings.Contains(string(m.Content), demand) && !strings.Contains(string(m.Content), refusal) && !strings.Contains(string(m.Content), unaccepted) {
			return i
		}
		last = max(last, i)
	}
	return last
}

// behindPrompt is the last message behind the prompt in which the user or the system
// says something, or "".
func (r *request) behindPrompt(something string) string {
	for _, m := range slices.Backward(r.Messages[r.promptAt()+1:]) {
		if (m.Role == "user" || instructs(m.Role)) && strings.Contains(string(m.Content), something) {
			return string(m.Content)
		}
	}
	return ""
}

// instructs says whether a role is the system's.
func instructs(role string) bool { return role == "system" || role == "developer" }

// cutDemand takes the line with which a model is told to call out of a text.
func cutDemand(text string) (rest, line string) {
	before, line, found := strings.Cut(text, demand)
	if !found {
		return text, ""
	}
	line, behind, _ := strings.Cut(line, "\n")
	return before + behind, demand + line
}

// obey returns the request with the tool_choice that a demand stands for: the first
// tool that it names, or any.
func (r *request) obey(line string) *request {
	obedient := *r
	obedient.ToolChoice = json.RawMessage(`"required"`)
	if name := r.named(line); name != "" {
		obedient.ToolChoice = json.RawMessage(`{"type":"function","function":{"name":` + quote(name) + `}}`)
	}
	return &obedient
}

// named is the offered tool whose name comes first in a text, or "".
func (r *request) named(text string) string {
	offered := map[string]bool{}
	for _, t := range r.Tools.list {
		offered[t.Function.Name] = true
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !nameRune(r) }) {
		for _, name := range []string{word, strings.TrimRight(word, ".:-")} { // a sentence ends with a dot
			if offered[name] && name != "" {
				return name
			}
		}
	}
	return ""
}

func nameRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.:", r)
}

// quoted is the first text between double quotes in a prompt, cut as all that goes
// into arguments, or "".
func quoted(prompt string) string {
	for _, marks := range []string{`""`, "“”", "„“", "«»"} {
		first, size := utf8.DecodeRuneInString(marks)
		_, rest, _ := strings.Cut(prompt, string(first))
		if text, _, closed := strings.Cut(rest, marks[size:]); closed && strings.TrimSpace(text) != "" {
			return cutName(text)
		}
	}
	return ""
}

// answered are the names of the tools whose results the conversation has, in their
// order; trailing is how many of them are at its end.
func (r *request) answered() (names []string, trailing int) {
	called := map[string]string{} // by id
	for _, m := range r.Messages {
		if m.Role == "tool" {
			names = append(names, called[string(m.ToolCallID)])
			trailing++
			continue
		}
		trailing = 0
		var calls []struct {
			ID       loose
			Function struct{ Name loose }
		}
		_ = json.Unmarshal(m.ToolCalls, &calls) // what is no call has no result
		for _, c := range calls {
			called[string(c.ID)] = string(c.Function.Name)
		}
	}
	return names, trailing
}

// values are the ids in the results of the conversation, by their text, as JSON: the
// members of objects that are named as the argument is, or id.
func (r *request) values(argument string) map[string]string {
	values := map[string]string{}
	var collect func(any)
	collect = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, element := range v {
				collect(element)
			}
		case map[string]any:
			for key, member := range v {
				named := key == argument || key == "id"
				switch id := member.(type) {
				case string:
					if named && id != "" {
						values[id] = quote(id)
					}
				case json.Number:
					if named {
						values[id.String()] = id.String()
					}
				default:
					collect(member)
				}
			}
		}
	}
	for _, m := range r.Messages {
		if m.Role != "tool" {
			continue
		}
		d := json.NewDecoder(strings.NewReader(string(m.Content)))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil {
			collect(v)
		}
	}
	return values
}
