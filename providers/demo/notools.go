package demo

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/formats"
)

// What a model without tools answers when the messages have not the form that it was
// trained to.
const (
	noTools  = "I see no tools."
	noResult = "I see no result."
	noCall   = "I see no call."
)

// noToolsModels are the formats once more, as an upstream serves them that knows
// nothing of tools.
func noToolsModels() []model {
	var all []model
	for _, f := range forms() {
		format, _ := formats.Find(f.format)
		all = append(all, model{
			name:   "no_tools/" + f.format,
			write:  func(a answer) output { return output{text: written(format, a)} },
			decide: f.decide,
			refuse: func(_ context.Context, p *Provider, a ask) error {
				if a.request.needsTools() {
					return p.withoutTools(a)
				}
				return nil
			},
		})
	}
	return all
}

// needsTools says whether a request has anything of tools outside of its texts.
func (r *request) needsTools() bool {
	return r.Tools.given || given(r.ToolChoice) || slices.ContainsFunc(r.Messages, func(m message) bool {
		return m.Role == "tool" || given(m.ToolCalls)
	})
}

// withoutTools is the error for an answer with the status 400, in the words of vLLM.
func (p *Provider) withoutTools(a ask) error {
	const said = `{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`
	return p.refused(http.StatusBadRequest, errorHeader(a), said)
}

// decide makes the answer from the texts of the messages.
func (f *form) decide(r *request) answer {
	t := f.transcribe(r)
	if complaint := t.complaint(); complaint != "" {
		return answer{text: complaint}
	}
	if line := cmp.Or(t.demand, t.standing); line != "" {
		return decide(t.request.obey(line), wish{})
	}
	return decide(&t.request, wish{})
}

// transcript is what a model makes of the texts.
type transcript struct {
	request  request
	standing string // the line of the system that makes it call
	demand   string // that of the user, behind the last message of the assistant
	spoken   bool   // tools are spoken of
	// What it sees behind the last message of the assistant, or in all of a
	// conversation that has none: whether that message calls, whether results follow,
	// and something that looks like one and is none.
	called, results, oddities bool
}

// complaint says what has not the form of the format, if anything.
func (t *transcript) complaint() string {
	switch {
	case t.oddities, t.called && !t.results:
		return noResult
	case t.results && !t.called:
		return noCall
	case !t.results && t.spoken && len(t.request.Tools.list) == 0:
		return noTools
	}
	return ""
}

// transcribe reads the tools, the results and the demand to call out of the texts.
func (f *form) transcribe(r *request) *transcript {
	t, head := &transcript{}, f.head()
	for _, m := range r.Messages {
		text := string(m.Content)
		if m.Role == "assistant" {
			t.called, t.results, t.oddities, t.demand = called(head, text), false, false, ""
			t.request.Messages = append(t.request.Messages, m)
			continue
		}
		if list, rest := f.tools(text); len(list) > 0 && f.defines(m.Role, text) {
			t.request.Tools.list, text = list, rest
		}
		t.spoken = t.spoken || speaksOfTools(m.Role, text)
		text, line := cutDemand(text)
		if m.Role == "user" {
			text = f.take(t, text)
			t.demand = cmp.Or(line, t.demand)
		} else {
			t.standing = cmp.Or(line, t.standing)
		}
		if strings.TrimSpace(text) != "" {
			t.request.Messages = append(t.request.Messages, message{Role: m.Role, Content: content(text)})
		}
	}
	return t
}

// defines says whether the template may define tools in a text, of which it says how
// they are called.
func (f *form) defines(role, text string) bool {
	return (instructs(role) || f.inUser) && strings.Contains(text, f.how)
}

// take moves the results that a user's text begins with into the transcript, and
// returns the rest.
func (f *form) take(t *transcript, text string) string {
	results, rest := f.results(text)
	for _, r := range results {
		t.request.Messages = append(t.request.Messages, message{Role: "tool", Content: content(r)})
	}
	t.results = t.results || len(results) > 0
	t.oddities = t.oddities || looksLikeResult(rest)
	return rest
}

// speaksOfTools says whether a text seems to define tools, in whatever form.
func speaksOfTools(role, text string) bool {
	marks := []string{"<tools>", "[available_tools]", "<functions>", "<|tool_list_start|>", "following functions", "following tools"}
	if instructs(role) {
		marks = []string{"tool", "function"}
	}
	lower := strings.ToLower(text)
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(lower, mark) })
}

// looksLikeResult says whether a text has a mark of a result in any format.
func looksLikeResult(text string) bool {
	marks := []string{
		"tool_response", "TOOL_RESPONSE", "TOOL_RESULTS", "<response>", "tool▁output", "<function_results>", "<|observation|>",
		"|>ipython<|", `{"output":`,
	}
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(text, mark) })
}
