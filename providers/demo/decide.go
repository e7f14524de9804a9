package demo

import (
	"fmt"
	"strings"
)

// answer is what the model means to say, before it is written in a format.
type answer struct {
	reasoning string
	text      string // before the calls, or alone
	calls     []call
}

// call is one tool call.
type call struct {
	name string
	args []arg
}

// intro is what the model says before it calls.
const intro = "Let me check."

// decide makes the answer to a request, by the rules in the package's comment.
func decide(r *request) answer {
	prompt := r.prompt()
	w := wordsOf(prompt)
	if results := r.results(); len(results) > 0 {
		return answer{text: "Here is what I found: " + strings.Join(results, "; ")}
	}
	var a answer
	if w.has("think", "why") {
		a.reasoning = "The user asks: " + prompt + "\nI consider which tools I have."
	}
	tools := r.offered()
	word, name := r.choice()
	forced := word == "required" || name != ""
	if greets := w.has("hello", "hi"); len(tools) == 0 || greets && !forced {
		a.text = chatter(prompt, greets)
		return a
	}
	a.text = intro
	n := 1
	if w.has("two", "both") || strings.Contains(strings.ToLower(prompt), "and the time") {
		n = 2
	}
	for i := range n {
		f := tools[min(i, len(tools)-1)].Function
		a.calls = append(a.calls, call{f.Name, arguments(f.Parameters, nameFor(w, i))})
	}
	return a
}

// chatter is an answer in text.
func chatter(prompt string, greets bool) string {
	if greets {
		return "Hello! I am the demo model. How can I help you?"
	}
	return fmt.Sprintf("I am the demo model and know no more than what you wrote: %q", prompt)
}

// nameFor is the string that the arguments of the call number i hold.
func nameFor(w words, i int) string {
	names := w.names()
	if len(names) == 0 {
		return "demo"
	}
	return names[min(i, len(names)-1)]
}
