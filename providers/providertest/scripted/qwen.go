package scripted

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Qwen serves DashScope's compatible mode below URL. It refuses a history whose
// arguments are no JSON, writes a comma behind the last argument of its own calls,
// and makes garbage of the calls of a stream: all at one index, without ids, their
// fragments mixed.
func Qwen(t testing.TB) *Server {
	t.Helper()
	st := openAIStyle()
	st.arguments = trailingComma
	s := wire{
		admit:  admitQwen,
		rules:  rules{arguments: true},
		refuse: qwenWords,
		broken: qwenError("Required body invalid, please check the request body format."),
		id:     func(_ string, n int) string { return opaqueID("call_", n) },
		write: func(w http.ResponseWriter, req *chatRequest, t turn) {
			if req.Stream && len(t.calls) > 0 {
				writeEvents(w, garble(st, req, t))
				return
			}
			st.write(w, req, t)
		},
	}.serve(t)
	s.URL += "/compatible-mode/v1"
	return s
}

func admitQwen(r *http.Request, req *chatRequest) *refusal {
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/compatible-mode/v1/chat/completions":
		return &refusal{http.StatusNotFound, ""} // a bare 404
	case !bearer(r):
		return &refusal{http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided. For details, see: https://help.aliyun.com/zh/model-studio/error-code#apikey-error",` +
			`"type":"invalid_request_error","param":null,"code":"invalid_api_key"},"request_id":"scripted"}`}
	case req.StreamOptions != nil && !req.Stream:
		refused := qwenError(`The "stream_options" parameter can only be set when "stream" is true.`)
		return &refused
	}
	return nil
}

// qwenError is DashScope's refusal with status 400.
func qwenError(message string) refusal {
	return refusal{http.StatusBadRequest, mustJSON(map[string]any{
		"error": map[string]any{
			"message": "<400> InternalError.Algo.InvalidParameter: " + message,
			"type":    "invalid_request_error", "param": nil, "code": "invalid_parameter_error",
		},
		"request_id": "scripted",
	})}
}

func qwenWords(f fault) refusal {
	switch f.kind {
	case orphan:
		return qwenError(`messages with role "tool" must be a response to a preceeding message with "tool_calls".`) //nolint:misspell // DashScope's own spelling
	case unanswered:
		return qwenError(fmt.Sprintf(`An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id". `+
			`The following tool_call_ids did not have response messages: message[%d].role`, f.message+1))
	case badArguments:
		return qwenError(`The "function.arguments" parameter of the code model must be in JSON format.`)
	case unknownRole:
		return qwenError(fmt.Sprintf("Role must be in [user, assistant, system, tool]: messages[%d]", f.message))
	case noMessages:
		return qwenError("[] is too short - 'messages'")
	}
	panic(fmt.Sprintf("Qwen has no words for fault %d", f.kind))
}

// trailingComma writes a comma behind the last member, if there is one.
func trailingComma(arguments string) string {
	if arguments == "{}" {
		return arguments
	}
	return strings.TrimSuffix(arguments, "}") + ",}"
}

// garble is a stream whose calls cannot be told apart.
func garble(s style, req *chatRequest, t turn) []string {
	var mixed [][]string
	for _, c := range t.calls {
		mixed = append(mixed, pieces(s.arguments(c.arguments)))
	}
	garbled := turn{}
	for more := true; more; {
		more = false
		for i, list := range mixed {
			if len(list) == 0 {
				continue
			}
			more = true
			garbled.calls = append(garbled.calls, call{name: t.calls[i].name, arguments: list[0]})
			mixed[i] = list[1:]
		}
	}
	s.index = func(int) int { return 0 }
	s.arguments = func(piece string) string { return piece }
	return s.stream(req, garbled)
}
