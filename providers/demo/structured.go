package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// What a gateway says to a model of an answer that was no JSON, and what it says of the form in
// place of response_format.
const (
	unaccepted = "was not accepted"
	oneValue   = "with one JSON value and nothing else"
	fitSchema  = "It must fit this JSON schema:\n"
)

// structuredModels are those that are wrong where JSON is wanted and they do not call. Otherwise they
// answer as native.
func structuredModels() []model {
	all := []model{
		{name: "json_fenced", decide: spoilJSON(func(text string, _ *request) string { return "```json\n" + text + "\n```" })},
		{name: "json_prose", decide: spoilJSON(func(text string, _ *request) string {
			return "Here is the JSON you asked for:\n\n" + text + "\n\nLet me know if you need more!"
		})},
		{name: "json_broken", decide: spoilJSON(func(text string, _ *request) string { return broken(text) })},
		{name: "json_string", decide: spoilJSON(func(text string, _ *request) string { return quote(text) })},
		{name: "json_types", decide: spoilJSON(quoteMembers)},
		{name: "json_missing", decide: spoilJSON(onceTold(dropMember))},
		{name: "json_missing_always", decide: spoilJSON(dropMember)},
		{name: "json_text", decide: spoilJSON(onceTold(func(string, *request) string { return "I would rather say it in words." }))},
		{name: "json_twice", decide: spoilJSON(onceTold(func(text string, _ *request) string {
			return text + "\nor\n" + strings.NewReplacer("3", "4", "true", "false").Replace(text)
		}))},
		{name: "json_open", decide: spoilJSON(onceTold(func(text string, _ *request) string { return strings.TrimRight(text, "}]") }))},
		{name: "no_format", refuse: withoutFormat},
	}
	for i := range all {
		all[i].write = native
	}
	return all
}

// spoilJSON makes a model whose JSON is spoilt.
func spoilJSON(spoil func(text string, r *request) string) func(*request) answer {
	return func(r *request) answer {
		a := decide(r, wish{})
		if len(a.calls) == 0 && r.wantsJSON() {
			a.text = spoil(a.text, r)
		}
		return a
	}
}

// onceTold spoils an answer only until the model is told of it.
func onceTold(spoil func(string, *request) string) func(string, *request) string {
	return func(text string, r *request) string {
		if r.behindPrompt(unaccepted) != "" {
			return text
		}
		return spoil(text, r)
	}
}

// dropMember leaves the last member out.
func dropMember(text string, _ *request) string {
	var members []arg
	d := json.NewDecoder(strings.NewReader(text))
	if _, err := d.Token(); err != nil {
		return text
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if key, ok := name.(string); err == nil && ok && d.Decode(&value) == nil {
			members = append(members, arg{key, string(value)})
			continue
		}
		return text // it is no object
	}
	return objectJSON(members[:max(len(members)-1, 0)])
}

// quoteMembers makes strings of the members that are numbers and truth values.
func quoteMembers(text string, _ *request) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil {
		return text
	}
	for name, value := range members {
		if strings.ContainsAny(string(value[:1]), "-0123456789tf") {
			text = strings.Replace(text, quote(name)+":"+string(value), quote(name)+":"+quote(string(value)), 1)
		}
	}
	return text
}

// withoutFormat is the error of an upstream that knows no response_format.
func withoutFormat(_ context.Context, p *Provider, a ask) error {
	if !given(a.request.ResponseFormat) {
		return nil
	}
	return p.refused(http.StatusBadRequest, errorHeader(a), `{"message":"response_format is not supported by this model","type":"invalid_request_error","param":"response_format","code":"unsupported_parameter"}`)
}

// wantsJSON says whether the answer is to be JSON, by response_format or by what the system says.
func (r *request) wantsJSON() bool {
	wants, _ := r.format()
	return wants
}

// format is the schema that the answer is to fit, or nil.
func (r *request) format() (wants bool, schema json.RawMessage) {
	var format struct {
		Type string `json:"type"`
		JSON struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if json.Unmarshal(r.ResponseFormat, &format) == nil && (format.Type == "json_object" || format.Type == "json_schema") {
		return true, format.JSON.Schema
	}
	for _, m := range r.Messages {
		if !instructs(m.Role) {
			continue
		}
		if _, said, ok := strings.Cut(string(m.Content), oneValue); ok {
			_, text, _ := strings.Cut(said, fitSchema)
			_ = json.NewDecoder(strings.NewReader(text)).Decode(&schema) // there may be none
			return true, schema
		}
	}
	return false, nil
}

// inForm is a text as the answer, in the form that is wanted.
func (r *request) inForm(text string, w words) string {
	wants, schema := r.format()
	switch {
	case !wants:
		return text
	case len(schema) == 0:
		return objectJSON([]arg{{"answer", quote(text)}})
	}
	return value(schemaOf(schema), nameFor(w, 0), 0)
}
