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

// maxName is how many characters of a word go into arguments. Each string has the
// word, so a long one would make an answer far larger than its request.
const maxName = 64

// wish is what a fault needs of the calls of an answer, else it would not show.
type wish struct {
	two     bool // at least two calls, whatever the prompt
	same    bool // all of the first tool
	scalars bool // with the numbers and truth values that are optional, too
}

// decide makes the answer to a request, by the rules in the package's comment.
func decide(r *request, want wish) answer {
	prompt := r.prompt()
	w := wordsOf(prompt)
	if results := r.results(); len(results) > 0 {
		a := findings(results...)
		a.text = r.inForm(a.text, w)
		return a
	}
	a := answer{reasoning: thought(prompt, w)}
	tools := r.offered()
	if greets := w.has("hello", "hi"); len(tools) == 0 || greets && !r.forced() {
		a.text = r.inForm(chatter(prompt, greets), w)
		return a
	}
	a.text = intro
	n := 1
	if want.two || w.has("two", "both") || strings.Contains(strings.ToLower(prompt), "and the time") {
		n = 2
	}
	if want.same {
		tools = tools[:1]
	}
	for i := range n {
		f := tools[min(i, len(tools)-1)].Function
		args := arguments(f.Parameters, nameFor(w, i))
		if want.scalars {
			args = append(args, scalars(f.Parameters)...)
		}
		a.calls = append(a.calls, call{f.Name, args})
	}
	return a
}

// findings is an answer with the results of tools.
func findings(results ...string) answer {
	return answer{text: "Here is what I found: " + strings.Join(results, "; ")}
}

// thought is the reasoning, if the prompt asks for some.
func thought(prompt string, w words) string {
	if !w.has("think", "why") {
		return ""
	}
	return "The user asks: " + prompt + "\nI consider which tools I have."
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
	return cutName(names[min(i, len(names)-1)])
}

func cutName(name string) string {
	runes := []rune(name)
	return string(runes[:min(len(runes), maxName)])
}
