package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// refused is an error of the suite's upstream, as a real server has it.
type refused struct {
	status               int
	message, param, code string
}

// The least that a request has to have, and the first letters of what its members may be.
var (
	neededMember = map[protocol]string{chatAPI: "messages", messagesAPI: "messages", responsesAPI: "input"} //nolint:gochecknoglobals // a table
	memberBegins = map[string]string{"messages": "[", "input": "[\"", "tools": "[n", "stream": "tfn"}       //nolint:gochecknoglobals // a table
)

// refusal is how a server that is asked for what it cannot do says so; nil is that nothing is
// wrong with the request. known reports whether there is a model.
func refusal(p protocol, method, path string, body []byte, known func(model string) bool) *refused {
	if method != http.MethodPost {
		return &refused{http.StatusMethodNotAllowed,
			fmt.Sprintf("Not allowed to %s on %s. (HINT: Perhaps you meant to use a different HTTP method?)", method, path), "", "method_not_supported"}
	}
	var o map[string]json.RawMessage
	if !json.Valid(body) || json.Unmarshal(body, &o) != nil || o == nil {
		return &refused{http.StatusBadRequest, "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library " +
			"correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)", "", ""}
	}
	var model string
	switch err := json.Unmarshal(o["model"], &model); {
	case o["model"] == nil || model == "" && err == nil:
		return &refused{http.StatusBadRequest, "you must provide a model parameter", "", ""}
	case err != nil:
		return &refused{http.StatusBadRequest, "Invalid type for 'model': expected a string.", "model", "invalid_type"}
	case !known(model):
		return &refused{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", model), "", "model_not_found"}
	}
	return refusalOfMembers(p, o)
}

// refusalOfMembers is refusal for what a request asks of its model.
func refusalOfMembers(p protocol, o map[string]json.RawMessage) *refused {
	if id := unquote(o["previous_response_id"]); p == responsesAPI && id != "" {
		return &refused{http.StatusBadRequest, fmt.Sprintf("Previous response with id '%s' not found.", id), "previous_response_id", "previous_response_not_found"}
	}
	if needed := neededMember[p]; needed != "" && o[needed] == nil {
		return &refused{http.StatusBadRequest, fmt.Sprintf("Missing required parameter: '%s'.", needed), needed, "missing_required_parameter"}
	}
	for _, name := range sortedKeys(memberBegins) {
		if value := strings.TrimSpace(string(o[name])); value != "" && !strings.Contains(memberBegins[name], value[:1]) {
			return &refused{http.StatusBadRequest, fmt.Sprintf("Invalid type for '%s'.", name), name, "invalid_type"}
		}
	}
	return nil
}

// notThere is the refusal of a path.
func notThere(method, path string) *refused {
	return &refused{http.StatusNotFound, fmt.Sprintf("Invalid URL (%s %s)", method, path), "", ""}
}

// write writes the error in a protocol: as OpenAI or as Anthropic does.
func (r *refused) write(w http.ResponseWriter, p protocol) {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	body := object{"error": object{"message": r.message, "type": "invalid_request_error", "param": orNull(r.param), "code": orNull(r.code)}}
	if p == messagesAPI && r.code != "" || p == messagesAPI && r.status != http.StatusNotFound { // a server that has no such path is none of Anthropic's
		kind := "invalid_request_error"
		if r.status == http.StatusNotFound {
			kind = "not_found_error"
		}
		body = object{"type": "error", "error": object{"type": kind, "message": r.message}}
	}
	writeJSON(w, r.status, encode(body, ""))
}

// writeJSON writes an answer.
func writeJSON(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
