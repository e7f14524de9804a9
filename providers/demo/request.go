package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// request is what the demo reads of a request.
type request struct {
	Messages   []message       `json:"messages"`
	Tools      toolList        `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	// ResponseFormat is the form that the answer is to have.
	ResponseFormat json.RawMessage `json:"response_format"`
	StreamOptions  struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type message struct {
	Role       string          `json:"role"`
	Content    content         `json:"content"`
	ToolCalls  json.RawMessage `json:"tool_calls"`
	ToolCallID loose           `json:"tool_call_id"`
}

// toolList is the tools of a request, and how many characters they have in it.
type toolList struct {
	list  []tool
	size  int
	given bool // the member is there, be it empty
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *toolList) UnmarshalJSON(b []byte) error {
	if given(b) {
		t.given, t.size = true, utf8.RuneCount(b)
	}
	return json.Unmarshal(b, &t.list)
}

// given says whether a member is there and not null.
func given(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

type tool struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// content is the text of a message, which is a string or parts of which some are
// text.
type content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, (*string)(c))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*c += content(p.Text)
	}
	return nil
}

// loose is a string, and empty where there is anything else.
type loose string

// UnmarshalJSON implements json.Unmarshaler.
func (s *loose) UnmarshalJSON(b []byte) error {
	_ = json.Unmarshal(b, (*string)(s)) // what is no string says nothing
	return nil
}

// size is how many characters the model reads: the texts, and with the tools also
// those, and the calls.
func (r *request) size(withTools bool) int {
	n := 0
	for _, m := range r.Messages {
		n += utf8.RuneCountInString(string(m.Content))
		if withTools && given(m.ToolCalls) {
			n += utf8.RuneCount(m.ToolCalls)
		}
	}
	if withTools {
		n += r.Tools.size
	}
	return n
}

// cached is how many tokens of the prompt an earlier request has had, in steps, as OpenAI
// counts them: what stands in front of the last message of the assistant was asked before.
func (r *request) cached() int {
	const least, step = 1024, 128
	for i, m := range slices.Backward(r.Messages) {
		if m.Role != "assistant" {
			continue
		}
		before := request{Messages: r.Messages[:i], Tools: r.Tools}
		if tokens := before.size(true) / charactersPerToken; tokens >= least {
			return tokens / step * step
		}
		break
	}
	return 0
}

// results are those of tools with which the conversation ends.
func (r *request) results() []string {
	var results []string
	for _, m := range slices.Backward(r.Messages) {
		if m.Role != "tool" {
			break
		}
		results = append(results, string(m.Content))
	}
	slices.Reverse(results)
	return results
}

// choice is what tool_choice says: a word, or the name of a function.
func (r *request) choice() (word, name string) {
	if json.Unmarshal(r.ToolChoice, &word) == nil {
		return word, ""
	}
	var named tool
	_ = json.Unmarshal(r.ToolChoice, &named) // what is neither says nothing
	return "", named.Function.Name
}

// forced says whether tool_choice demands a call.
func (r *request) forced() bool {
	word, name := r.choice()
	return word == "required" || name != ""
}

// offered are the functions that may be called: all, or the one that the client
// chose.
func (r *request) offered() []tool {
	word, name := r.choice()
	if word == "none" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Tools.list), func(t tool) bool {
		return t.Function.Name == "" || name != "" && t.Function.Name != name
	})
}

// words are those of a prompt as they are written, without punctuation. first
// holds whether a word begins a sentence.
type words struct {
	text  []string
	first []bool
}

func wordsOf(prompt string) words {
	var w words
	first := true
	for field := range strings.FieldsSeq(prompt) {
		word := strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if word != "" {
			w.text = append(w.text, word)
			w.first = append(w.first, first)
		}
		first = strings.ContainsAny(field[len(field)-1:], ".!?")
	}
	return w
}

// has says whether one of the words is among want, in any case.
func (w words) has(want ...string) bool {
	return slices.ContainsFunc(w.text, func(s string) bool { return slices.Contains(want, strings.ToLower(s)) })
}

// names are the capitalised words that do not begin a sentence.
func (w words) names() []string {
	var names []string
	for i, word := range w.text {
		if first, _ := utf8.DecodeRuneInString(word); !w.first[i] && word != "I" && unicode.IsUpper(first) {
			names = append(names, word)
		}
	}
	return names
}
