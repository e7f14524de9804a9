package demo

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// guardModels are those whose answers are well formed, and of no use to an
// application.
func guardModels() []model {
	all := []model{
		{name: "ghost", decide: ghost},
		{name: "ghost_always", decide: claimDone},
		{name: "ignores_tools", decide: ignoreTools, toolless: true},
		{name: "loops", decide: callAgain},
		{name: "by_title", decide: callByTitle},
		{name: "judge", decide: rule},
	}
	for i := range all {
		all[i].write = native
	}
	return all
}

// ghost says that it is done where native would call, unless it is made to call.
func ghost(r *request) answer {
	if r.forced() {
		return decide(r, wish{})
	}
	if line := r.behindPrompt(demand); line != "" && len(r.offered()) > 0 {
		_, line = cutDemand(line)
		return decide(r.obey(line), wish{})
	}
	return claimDone(r)
}

// rule answers the question of the execution guard: a call is missing where none was made.
func rule(r *request) answer {
	if strings.Contains(r.prompt(), "--- no call was made") {
		return answer{text: "yes"}
	}
	return answer{text: "no"}
}

// claimDone says that it is done where native would call.
func claimDone(r *request) answer {
	a := decide(r, wish{})
	if len(a.calls) == 0 {
		return a
	}
	return answer{reasoning: a.reasoning, text: "Done! I've " + deed(r.offered(), r.prompt()) + "."}
}

// deed is what a model would have done with the tool whose verb the prompt has, else
// with the first: deleted the task "Buy milk".
func deed(tools []tool, prompt string) string {
	w := wordsOf(prompt)
	verb, object := verbAndObject(tools[0])
	for _, t := range tools {
		if v, o := verbAndObject(t); w.has(v) {
			verb, object = v, o
			break
		}
	}
	what := []string{past(verb)}
	if object != "" {
		what = append(what, "the "+object)
	}
	if title := quoted(prompt); title != "" {
		what = append(what, quote(title))
	} else if object == "" {
		what = append(what, "it")
	}
	return strings.Join(what, " ")
}

// verbAndObject are the first word of a tool's name and the others.
func verbAndObject(t tool) (verb, object string) {
	words := nameWords(t.Function.Name)
	if len(words) == 0 {
		return "call", "tool"
	}
	return strings.ToLower(words[0]), strings.ToLower(strings.Join(words[1:], " "))
}

// past is the past participle of a verb, by the rules for the regular ones.
func past(verb string) string {
	irregular := map[string]string{
		"build": "built", "buy": "bought", "cut": "cut", "do": "done", "find": "found", "get": "got", "give": "given",
		"make": "made", "pay": "paid", "put": "put", "read": "read", "reset": "reset", "run": "run", "send": "sent",
		"set": "set", "take": "taken", "write": "written",
	}
	if done, ok := irregular[verb]; ok {
		return done
	}
	const vowels = "aeiou"
	last := verb[len(verb)-1:]
	before := verb[max(len(verb)-2, 0) : len(verb)-1]
	switch {
	case last == "e":
		return verb + "d"
	case last == "y" && !strings.ContainsAny(before, vowels):
		return verb[:len(verb)-1] + "ied"
	case len(verb) <= 4 && !strings.ContainsAny(last, vowels+"wxy") && strings.ContainsAny(before, vowels) &&
		strings.IndexAny(verb, vowels) == len(verb)-2: // stop, plan, log
		return verb + last + "ed"
	}
	return verb + "ed"
}

// ignoreTools answers as if the request had no tools.
func ignoreTools(r *request) answer {
	toolless := *r
	toolless.Tools = toolList{}
	return decide(&toolless, wish{})
}

// callAgain calls the first tool whatever it has answered.
func callAgain(r *request) answer {
	prompt := r.prompt()
	w := wordsOf(prompt)
	if tools := r.offered(); len(tools) > 0 {
		first := tools[0].Function
		return answer{reasoning: thought(prompt, w), text: intro, calls: []call{{first.Name, arguments(first.Parameters, nameFor(w, 0))}}}
	}
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "tool" {
			return findings(string(m.Content))
		}
	}
	return answer{reasoning: thought(prompt, w), text: chatter(prompt, w.has("hello", "hi"))}
}

// callByTitle calls the first tool, and then the last one with the prompt's own words
// in the place of an id.
func callByTitle(r *request) answer {
	tools := r.offered()
	prompt := r.prompt()
	w := wordsOf(prompt)
	if len(tools) == 0 || w.has("hello", "hi") && !r.forced() {
		return decide(r, wish{})
	}
	first, last := tools[0].Function, tools[len(tools)-1].Function
	results, trailing := r.answered()
	switch {
	case slices.Contains(results[len(results)-trailing:], last.Name):
		return decide(r, wish{})
	case !slices.ContainsFunc(results, func(name string) bool { return name != last.Name }):
		return answer{reasoning: thought(prompt, w), text: intro, calls: []call{{first.Name, arguments(first.Parameters, nameFor(w, 0))}}}
	}
	args := arguments(last.Parameters, nameFor(w, 0))
	if at := reference(last.Parameters, args); at >= 0 {
		args[at].value = r.referent(args[at].name, cmp.Or(quoted(prompt), nameFor(w, 0)))
		if args[at].value == "" {
			return answer{text: "I do not know which one you mean."}
		}
	}
	return answer{text: intro, calls: []call{{last.Name, args}}}
}

// referent is what the model writes for a thing of which it knows the title: that, or
// once that was refused a candidate that the refusal names, or "" if it names none.
func (r *request) referent(argument, title string) string {
	if refused := r.behindPrompt(refusal); refused != "" {
		return firstCandidate(refused, r.values(argument))
	}
	return quote(title)
}

// reference is the place of the first argument that may be an id, or -1.
func reference(parameters json.RawMessage, args []arg) int {
	properties := schemaOf(parameters).Properties
	return slices.IndexFunc(args, func(a arg) bool {
		of := schemaOf(properties[a.name])
		return len(of.Enum) == 0 && (of.kind() == "string" || of.kind() == "integer")
	})
}

// firstCandidate is the value that a refusal names first, as JSON, or "". The text
// between two quotes is one word, so a number in a title is no value.
func firstCandidate(refused string, values map[string]string) string {
	_, rest, _ := strings.Cut(refused, refusal)
	for rest != "" {
		n := max(len(rest)-len(strings.TrimLeftFunc(rest, nameRune)), 1)
		if rest[0] == '"' {
			n = quotedLength(rest)
		}
		if value, ok := values[strings.Trim(rest[:n], `".:`)]; ok {
			return value
		}
		rest = rest[n:]
	}
	return ""
}
