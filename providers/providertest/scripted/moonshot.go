package scripted

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Moonshot serves the API of Moonshot (Kimi) below URL, which ends in /v1. All
// parallel calls of its streams have the index 0. It names calls functions.NAME:N,
// where N counts the calls of the conversation, and refuses a history with ids of
// another form: the model imitates them.
func Moonshot(t testing.TB) *Server {
	t.Helper()
	st := openAIStyle()
	st.index = func(int) int { return 0 }
	form := regexp.MustCompile(`^functions\.(.+):[0-9]+$`)
	s := wire{
		admit: admitMoonshot,
		rules: rules{arguments: true, id: func(c call) bool {
			m := form.FindStringSubmatch(c.id)
			return m != nil && m[1] == c.name
		}},
		refuse: moonshotWords,
		broken: moonshotError("Invalid request: the body is not valid JSON"),
		id:     func(name string, n int) string { return fmt.Sprintf("functions.%s:%d", name, n) },
		write:  st.write,
	}.serve(t)
	s.URL += "/v1"
	return s
}

func admitMoonshot(r *http.Request, _ *chatRequest) *refusal {
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions":
		return &refusal{http.StatusNotFound, mustJSON(map[string]any{
			"code": 5, "error": "url.not_found", "message": "没找到", "method": r.Method, "scode": "0x5", "status": false, "url": r.URL.Path,
		})}
	case !bearer(r):
		return &refusal{http.StatusUnauthorized, `{"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}`}
	}
	return nil
}

// moonshotError is Moonshot's refusal with status 400.
func moonshotError(message string) refusal {
	return refusal{http.StatusBadRequest, mustJSON(map[string]any{
		"error": map[string]any{"message": message, "type": "invalid_request_error"},
	})}
}

func moonshotWords(f fault) refusal {
	switch f.kind {
	case orphan:
		return moonshotError("Invalid request: tool_call_id " + f.ids[0] + " is not found")
	case unanswered:
		return moonshotError("Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
			"The following tool_call_ids did not have response messages: " + strings.Join(f.ids, ", "))
	case badArguments:
		return moonshotError("Invalid request: the arguments of tool call " + f.ids[0] + " are not valid JSON")
	case badID:
		return moonshotError("Invalid request: tool call id " + f.ids[0] + " is not of the form functions.{name}:{index}")
	case unknownRole:
		return moonshotError("Invalid request: role is invalid")
	case noMessages:
		return moonshotError("Invalid request: messages must not be empty")
	}
	panic(fmt.Sprintf("Moonshot has no words for fault %d", f.kind))
}
