package guard

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/span"
)

// maxResult bounds how much of a result in plain text is looked at. Errors say so at
// the beginning, and programs at the end.
const maxResult = 2048

// hasFailed reports whether a tool's result says that it failed. What says nothing of
// it is a success.
func hasFailed(result string) bool {
	text := strings.TrimSpace(result)
	if text == "" {
		return false
	}
	if text[0] == '{' || text[0] == '[' {
		b := []byte(text)
		if v, ok := span.Value(b, 0); ok && v.End == len(b) {
			return failedValue(b, v, 0)
		}
	}
	return failedText(text)
}

// failedValue looks at the members of an object, and into "result", "data" and the like.
// A list failed if everything in it did.
func failedValue(b []byte, v span.Span, depth int) bool {
	if depth > 3 {
		return false
	}
	if b[v.Start] == '[' {
		count, failures := 0, 0
		span.Elements(b[:v.End], v.Start, func(_ int, item span.Span) bool {
			if count++; b[item.Start] == '{' && failedValue(b, item, depth+1) {
				failures++
			}
			return failures == count
		})
		return count > 0 && failures == count
	}
	failed := false
	conversation.Members(b, v, func(key []byte, value span.Span) bool {
		failed = failedMember(b, strings.ToLower(string(key)), value, depth)
		return !failed
	})
	return failed
}

func failedMember(b []byte, key string, v span.Span, depth int) bool {
	raw := v.Of(b)
	switch key {
	case "success", "ok", "succeeded", "successful", "stored", "sent", "saved", "created", "deleted", "updated", "applied",
		"delivered", "accepted", "basarili", "exito", "erfolg", "sukces", "succes", "успех", "成功":
		return string(raw) == "false"
	case "error", "errors", "exception", "fehler", "erreur", "hata", "erro", "errore", "błąd":
		return !isEmptyValue(raw)
	case "iserror", "is_error", "failed", "failure", "failures":
		return string(raw) == "true" || raw[0] >= '1' && raw[0] <= '9'
	case "status", "state", "result", "outcome":
		if raw[0] == '{' {
			return failedValue(b, v, depth+1)
		}
		return isFailedStatus(raw)
	case "status_code", "statuscode", "http_status", "code":
		return len(raw) == 3 && (raw[0] == '4' || raw[0] == '5')
	case "exit_code", "exitcode", "returncode", "return_code", "exit_status":
		return string(raw) != "0" && string(raw) != "null" && raw[0] != '"'
	case "affected", "rows_affected", "affected_rows", "rowcount":
		return string(raw) == "0"
	case "data", "response", "output", "results", "content", "text":
		switch raw[0] {
		case '{', '[':
			return failedValue(b, v, depth+1)
		case '"':
			s, _ := conversation.Decode(b, v)
			return key != "data" && hasFailedInside(string(s), depth)
		}
	}
	return false
}

// hasFailedInside reads a text within a result, which may be JSON again.
func hasFailedInside(text string, depth int) bool {
	if b := []byte(strings.TrimSpace(text)); len(b) > 0 && b[0] == '{' {
		if v, ok := span.Value(b, 0); ok && v.End == len(b) {
			return failedValue(b, v, depth+1)
		}
	}
	return failedText(text)
}

func isEmptyValue(raw []byte) bool {
	switch string(raw) {
	case "null", "false", `""`, "[]", "{}", "0", `"none"`, `"null"`:
		return true
	}
	return len(bytes.Trim(raw, "[]{} \n\t")) == 0
}

func isFailedStatus(raw []byte) bool {
	if raw[0] != '"' {
		return len(raw) == 3 && (raw[0] == '4' || raw[0] == '5')
	}
	status := strings.ToLower(strings.Trim(string(raw), `"`))
	switch status {
	case "ko", "nok", "denied", "rejected", "declined", "timeout", "timed_out", "aborted", "unauthorized", "forbidden",
		"not_found", "invalid", "refused", "unavailable", "conflict", "bounced", "crashloopbackoff":
		return true
	}
	return strings.Contains(status, "error") || strings.Contains(status, "fail")
}

// failedStarts begin the plain text of an error, and failedParts stand anywhere in it.
var (
	failedStarts = []string{
		"error", "exception", "traceback", "failed", "failure", "fatal", "permission denied", "access denied",
		"unauthorized", "forbidden", "mcp error", "panic:", "e: ", "cannot ", "could not", "unable to", "timeout",
		"timed out", "not found", "no such", "invalid ", "fehler", "erreur", "hata", "ошибка", "błąd", "errore", "erro",
		"错误", "エラー", "خطأ", "त्रुटि", "오류",
	}
	failedParts = []string{
		": permission denied", ": command not found", ": no such file or directory", "rm: cannot", "[build failed]",
		"\nerror:", "\nfatal:", "error: ", "exception: ", "status: failed", "0 rows affected", "access is denied",
		"connection refused", "failed=1", "failed: 1", "operation not permitted", "update 0", "delete 0", "\nfail\t", "traceback (most recent",
	}
)

func failedText(text string) bool {
	text = strings.ToLower(cutMiddle(text, maxResult, maxResult/2))
	for _, start := range failedStarts {
		if strings.HasPrefix(text, start) {
			return !strings.HasPrefix(text, "error: none") && !strings.HasPrefix(text, "errors: 0")
		}
	}
	for _, part := range failedParts {
		if strings.Contains(text, part) {
			return true
		}
	}
	for _, key := range []string{"exit code", "exit status", "exited with code", "exit_code", "returncode"} {
		if _, rest, found := strings.Cut(text, key); found {
			rest = strings.TrimLeft(rest, " :=(")
			return rest != "" && (rest[0] >= '1' && rest[0] <= '9' || rest[0] == '-')
		}
	}
	return false
}
