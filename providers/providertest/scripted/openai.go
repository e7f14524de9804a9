package scripted

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// maxOpenAIID is how many bytes OpenAI lets the id of a call have.
const maxOpenAIID = 40

// OpenAI serves OpenAI's API below URL, which ends in /v1. It does not read the
// arguments of earlier calls.
func OpenAI(t testing.TB) *Server {
	t.Helper()
	s := wire{
		admit:  admitOpenAI,
		rules:  rules{id: shortID},
		refuse: openAIWords,
		broken: openAIError("We could not parse the JSON body of your request.", "", ""),
		id:     func(_ string, n int) string { return opaqueID("call_", n) },
		write:  openAIStyle().write,
	}.serve(t)
	s.URL += "/v1"
	return s
}

func admitOpenAI(r *http.Request, _ *chatRequest) *refusal {
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions":
		refused := openAIError(fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path), "", "")
		refused.status = http.StatusNotFound
		return &refused
	case !bearer(r):
		refused := openAIError("Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.", "", "invalid_api_key")
		refused.status = http.StatusUnauthorized
		return &refused
	}
	return nil
}

func shortID(c call) bool { return c.id != "" && len(c.id) <= maxOpenAIID }

// openAIError is OpenAI's refusal with status 400. Empty strings are null in it.
func openAIError(message, param, code string) refusal {
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	body := mustJSON(map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": null(param), "code": null(code),
	}})
	return refusal{http.StatusBadRequest, body}
}

// openAIWords are OpenAI's for a fault, its spelling included.
func openAIWords(f fault) refusal {
	switch f.kind {
	case orphan:
		return openAIError("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", //nolint:misspell // OpenAI's own spelling
			fmt.Sprintf("messages.[%d].role", f.message), "")
	case unanswered:
		return openAIError("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: "+strings.Join(f.ids, ", "),
			fmt.Sprintf("messages.[%d].role", f.message+1), "")
	case badID:
		return openAIError(fmt.Sprintf("Invalid '%s.id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.",
			f.path(), maxOpenAIID, len(f.ids[0])), f.path()+".id", "string_above_max_length")
	case unknownRole:
		return openAIError("Invalid value. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
			fmt.Sprintf("messages[%d].role", f.message), "invalid_value")
	case noMessages:
		return openAIError("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
			"messages", "empty_array")
	}
	panic(fmt.Sprintf("OpenAI has no words for fault %d", f.kind))
}
