package toolresult

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/internal/plaintext"
)

// maxResult bounds how much of a result in plain text is looked at. Errors say so at
// the beginning, and programs at the end.
const maxResult = 2048

// wholeResult is the size of the longest result that is read as JSON, in bytes. Failures
// are told in few words; a longer one is taken for data.
const wholeResult = 4 << 10

// isLikely reports whether a result says that it failed. What says nothing of it is a success.
func isLikely(result []byte) bool {
	text := bytes.TrimSpace(result)
	if len(text) == 0 {
		return false
	}
	if text[0] == '{' || text[0] == '[' {
		if len(text) > wholeResult {
			return false
		}
		if v, ok := wire.Value(text, 0); ok && v.End == len(text) {
			return failedValue(text, v, 0)
		}
	}
	return failedText(string(text))
}

// failedValue looks at the members of an object, and into "result", "data" and the like.
// A list failed if everything in it did.
func failedValue(b []byte, v wire.Span, depth int) bool {
	if depth > 3 {
		return false
	}
	if b[v.Start] == '[' {
		count, failures := 0, 0
		wire.Elements(b[:v.End], v.Start, func(_ int, item wire.Span) bool {
			if count++; b[item.Start] == '{' && failedValue(b, item, depth+1) {
				failures++
			}
			return failures == count
		})
		return count > 0 && failures == count
	}
	failed := false
	conversation.Members(b, v, func(key []byte, value wire.Span) bool {
		failed = failedMember(b, strings.ToLower(string(key)), value, depth)
		return !failed
	})
	return failed
}

func failedMember(b []byte, key string, v wire.Span, depth int) bool {
	raw := v.Of(b)
	switch kind := memberKinds[key]; kind {
	case memberSuccess, memberError, memberFailure:
		return kind.fails(raw)
	case memberStatus:
		if raw[0] == '{' {
			return failedValue(b, v, depth+1)
		}
		return isFailedStatus(raw)
	case memberHTTP:
		return isFailedHTTP(raw)
	case memberExit:
		return isNonzero(raw)
	case memberAffected:
		return string(raw) == "0"
	case memberMessage:
		s, _ := conversation.Decode(b, v)
		return tellsFailure(string(s))
	case memberInner:
		return failedInner(b, v, key, depth)
	}
	return false
}

// fails says whether a value of the first three kinds is a failure, which can mean nothing else.
func (k memberKind) fails(raw []byte) bool {
	switch k {
	case memberSuccess:
		return string(raw) == "false"
	case memberError:
		return !isEmptyValue(raw)
	}
	return k == memberFailure && (string(raw) == "true" || isNonzero(raw))
}

func failedInner(b []byte, v wire.Span, key string, depth int) bool {
	switch b[v.Start] {
	case '{', '[':
		return failedValue(b, v, depth+1)
	case '"':
		s, _ := conversation.Decode(b, v)
		return key != "data" && hasFailedInside(string(s), depth)
	}
	return false
}

// memberKind is what a member of a result says about success.
type memberKind uint8

const (
	memberOther    memberKind = iota
	memberSuccess             // false is a failure
	memberError               // anything in it is
	memberFailure             // true is, or a number above 0
	memberStatus              // a word, or the status of an HTTP answer
	memberHTTP                // the latter
	memberExit                // of a program: 0 is success
	memberAffected            // rows: 0 is a failure
	memberMessage             // a text
	memberInner               // holds the result
)

// memberKinds are the members that tools of many kinds say it with.
var memberKinds = func() map[string]memberKind {
	kinds := map[string]memberKind{}
	for kind, names := range map[memberKind]string{
		memberSuccess: "success ok succeeded successful stored sent saved created deleted updated applied delivered accepted " +
			"basarili exito erfolg sukces succes успех 成功",
		memberError:   "error errors exception fehler erreur hata erro errore błąd",
		memberFailure: "iserror is_error failed failure failures",
		memberStatus: "status state result outcome esito estado statut resultado resultat durum sonuc wynik ergebnis статус " +
			"результат 状态 結果 상태 الحالة",
		memberHTTP:     "status_code statuscode http_status code",
		memberExit:     "exit_code exitcode returncode return_code exit_status",
		memberAffected: "affected rows_affected affected_rows rowcount",
		memberMessage:  "msg message detail reason mensaje nachricht mesaj motivo",
		memberInner:    "data response output results content text",
	} {
		for name := range strings.FieldsSeq(names) {
			kinds[name] = kind
		}
	}
	return kinds
}()

func digit(c byte) bool { return '0' <= c && c <= '9' }

func isNonzero(raw []byte) bool { return digit(raw[0]) && raw[0] != '0' || raw[0] == '-' }

func isFailedHTTP(raw []byte) bool {
	return len(raw) == 3 && (raw[0] == '4' || raw[0] == '5') && digit(raw[1]) && digit(raw[2])
}

// hasFailedInside reads a text within a result, which may be JSON again.
func hasFailedInside(text string, depth int) bool {
	if b := []byte(strings.TrimSpace(text)); len(b) > 0 && b[0] == '{' {
		if v, ok := wire.Value(b, 0); ok && v.End == len(b) {
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
	return len(bytes.Trim(raw, "[]{}\" \n\t")) == 0
}

func isFailedStatus(raw []byte) bool {
	if raw[0] != '"' {
		return isFailedHTTP(raw)
	}
	status := strings.ToLower(strings.Trim(string(raw), `"`))
	switch status {
	case "ko", "nok", "denied", "rejected", "declined", "timeout", "timed_out", "aborted", "unauthorized", "forbidden",
		"not_found", "invalid", "refused", "unavailable", "conflict", "bounced", "crashloopbackoff":
		return true
	}
	return tellsFailure(status)
}

// failedWords are in the messages of tools that failed.
var failedWords = []string{
	"error", "fail", "denied", "erreur", "échec", "fehler", "fehlgeschlagen", "errore", "fallido", "falló", "falhou",
	"erro", "błąd", "nie udało", "не удалось", "ошибка", "помилка", "не вдалося", "hata", "başarısız", "失败", "失敗",
	"错误", "エラー", "실패", "오류", "فشل", "خطأ", "विफल", "mislukt", "could not", "not permitted",
}

// tellsFailure reports whether a short message says that something failed.
func tellsFailure(message string) bool {
	message = strings.ToLower(message)
	return len(message) <= maxMessage && !containsOne(message, unfailedWords) && containsOne(message, failedWords)
}

// unfailedWords say that nothing failed.
var unfailedWords = []string{"no error", "0 error", "without error", "0 failed", "no failure"}

// maxMessage is the length of the longest text that counts as a message, in bytes.
const maxMessage = 300

// failedStarts begin the plain text of an error, and failedParts stand anywhere in it.
var (
	failedStarts = []string{
		"error", "exception", "traceback", "failed", "failure", "fatal", "permission denied", "access denied",
		"unauthorized", "forbidden", "mcp error", "panic:", "e: ", "cannot ", "could not", "unable to", "timeout",
		"timed out", "not found", "http 4", "http 5", "nothing to commit", "conflict", "denied", "no such", "invalid ", "fehler", "erreur", "hata", "ошибка", "błąd", "errore", "erro",
		"错误", "エラー", "خطأ", "त्रुटि", "오류",
	}
	failedParts = []string{
		": permission denied", ": command not found", ": no such file or directory", "rm: cannot", "[build failed]", "nothing to commit",
		"\nerror:", "\nfatal:", "error: ", "exception: ", "status: failed", "0 rows affected", "access is denied",
		": error ", "error 4", "error 5", "connection refused", "failed=1", "failed: 1", "operation not permitted", "update 0", "delete 0", "\nfail\t", "traceback (most recent",
	}
)

func failedText(text string) bool {
	text = strings.ToLower(plaintext.Ends(text, maxResult, maxResult/2))
	if len(text) > 4 && isFailedHTTP([]byte(text[:3])) && text[3] == ' ' && beginsWithOne(text[4:], httpReasons) { // "404 Not Found", not "412 tasks are open"
		return true
	}
	if strings.HasPrefix(text, "error: none") || strings.HasPrefix(text, "errors: 0") {
		return false
	}
	return beginsWithOne(text, failedStarts) || containsOne(text, failedParts) || isFailedExit(text)
}

func beginsWithOne(text string, starts []string) bool {
	return slices.ContainsFunc(starts, func(s string) bool { return strings.HasPrefix(text, s) })
}

func containsOne(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(s string) bool { return strings.Contains(text, s) })
}

// httpReasons are those of RFC 9110 and 6585.
var httpReasons = strings.Split("bad request,unauthorized,payment required,forbidden,not found,method not allowed,not acceptable,"+
	"request timeout,conflict,gone,length required,precondition failed,content too large,payload too large,uri too long,"+
	"unsupported media,unprocessable,too many requests,internal server error,not implemented,bad gateway,service unavailable,gateway timeout,"+
	"client error,server error", ",")

// isFailedExit reports whether a text tells of an exit code that is not 0.
func isFailedExit(text string) bool {
	for _, key := range []string{"exit code", "exit status", "exited with code", "exit_code", "returncode"} {
		if _, rest, found := strings.Cut(text, key); found {
			rest = strings.TrimLeft(rest, " :=(")
			return rest != "" && isNonzero([]byte(rest))
		}
	}
	return false
}
