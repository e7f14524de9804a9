// Package upstreamerr reads what an upstream says when it fails. The words come in many
// shapes; a report of them is the same whether they came with a status of their own or in
// the place of an answer. What it means for a request is for package gateway to say.
package upstreamerr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/internal/plaintext"
)

// Report is what an upstream says of a failure.
type Report struct {
	// Status is the HTTP status that the body names, by a number or by a word that stands
	// for one; 0 if it names none.
	Status int
	// Message is the upstream's own words, not fit to be shown as they are. It is the first
	// of Codes if there are no words.
	Message string
	// Codes are error.code and error.type, or those beside a bare message.
	Codes []string
	// Moderated says that a filter has found fault with what was asked, by the codes or by
	// what OpenRouter has beside the error.
	Moderated bool
	// Overloaded says that the upstream lacks capacity, by its codes.
	Overloaded bool
	// Refused says that it is the request which the upstream cannot take, whatever its status:
	// llama.cpp has 500 for tools without --jinja.
	Refused bool
	// RetryAfter is the wait that is asked for, at most [MaxWait]; 0 if none is.
	RetryAfter time.Duration
	// Wrapped says that the body has OpenAI's form, an object under "error". Anthropic's
	// has it too.
	Wrapped bool
}

// object is a JSON object whose members are not read yet.
type object map[string]json.RawMessage

// Read reads the body of a failure in the shapes that upstreams use: OpenAI's,
// Anthropic's, OpenRouter's, a bare string, FastAPI's, Google's, whose object stands in a
// list. The header is that of the same answer, and may be nil. Nothing of it has to be
// valid.
func Read(h http.Header, body []byte, now time.Time) Report {
	listed := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	if listed {
		var list []json.RawMessage
		_ = json.Unmarshal(body, &list) // else it is empty
		body = nil
		if len(list) > 0 {
			body = list[0]
		}
	}
	outer := parse(body)
	inner := parse(outer["error"]) // nil if that is a string, or nothing
	meta := parse(inner["metadata"])
	r := Report{Wrapped: inner != nil && !listed}
	r.Codes = texts(inner["code"], inner["type"], outer["code"], outer["type"])
	names := append(texts(inner["status"], meta["error_type"], outer["error_type"], outer["status"]), r.Codes...)
	said := marks.Replace(strings.ToLower(strings.Join(names, "|")))
	r.Message = message(outer, inner, meta)
	r.Overloaded = strings.Contains(said, "overloaded")
	r.Moderated = len(meta["flagged_input"]) > 0 || slices.ContainsFunc(filters, func(part string) bool { return strings.Contains(said, part) })
	for _, w := range words {
		if r.Status == 0 && strings.Contains(said, w.part) {
			r.Status = w.status
		}
	}
	for _, v := range []json.RawMessage{outer["status"], outer["code"], inner["http_status_code"], inner["status"], inner["code"]} {
		if n, err := strconv.Atoi(scalar(v)); err == nil && n >= 400 && n < 600 {
			r.Status = n // the last one, which is OpenRouter's and Google's, counts
		}
	}
	r.Refused = strings.Contains(r.Message, "requires --jinja")
	if r.Message == "" && len(r.Codes) > 0 {
		r.Message = r.Codes[0]
	}
	if r.RetryAfter = retryAfter(h, now); r.RetryAfter == 0 {
		r.RetryAfter = retryIn(outer, inner, meta, r.Message, now)
	}
	return r
}

// wrapper is what OpenRouter says of an error of the provider behind it, whose own words it has in
// metadata.raw: a body as a string or as it is, or words alone.
const wrapper = "Provider returned error"

// message is what an error says, in the form of whoever wrote it.
func message(outer, inner, meta object) string {
	said := cmp.Or(text(inner["message"]), text(outer["error"]), text(outer["message"]), text(outer["detail"]))
	raw := meta["raw"]
	if said != wrapper || len(raw) == 0 {
		return said
	}
	words := text(raw)
	if words != "" {
		raw = json.RawMessage(words)
	}
	behind := parse(raw)
	if own := cmp.Or(message(behind, parse(behind["error"]), nil), words); own != "" {
		return said + ": " + own
	}
	return said
}

// maxExcerpt is how many bytes of an upstream's message are quoted.
const maxExcerpt = 300

// Excerpt is a message as one of ours may quote it: in one line, and cut with a mark that
// it was longer. Secrets must be out of it already, or a part of one might stay.
func Excerpt(message string) string {
	return plaintext.Excerpt(strings.TrimSpace(plaintext.Line(message)), maxExcerpt)
}

// words are what names of errors hold that stand for a status, in lower case and without
// the marks between their parts. The first one that is met counts: OpenAI's type for a
// wrong key or for an unknown model is invalid_request_error too.
//
// Sources: OpenAI, "Error codes"; Anthropic, "Errors"; Google, "AIP-193" (google.rpc.Code);
// Moonshot, "Error reference"; DashScope, "Error messages"; AWS, "Common errors"; vLLM's and LiteLLM's names of exceptions.
var words = []struct {
	part   string
	status int
}{
	{"authentication", http.StatusUnauthorized},
	{"unauthenticated", http.StatusUnauthorized},
	{"unauthorized", http.StatusUnauthorized},
	{"invalidapikey", http.StatusUnauthorized},
	{"incorrectapikey", http.StatusUnauthorized},
	{"contentpolicy", http.StatusBadRequest},
	{"contentfilter", http.StatusBadRequest},
	{"datainspection", http.StatusBadRequest}, // DashScope's
	{"permission", http.StatusForbidden},
	{"forbidden", http.StatusForbidden},
	{"accessdenied", http.StatusForbidden},
	{"billingerror", http.StatusPaymentRequired},
	{"paymentrequired", http.StatusPaymentRequired},
	{"insufficientbalance", http.StatusPaymentRequired},
	{"insufficientcredit", http.StatusPaymentRequired},
	{"engineoverloaded", http.StatusTooManyRequests}, // Moonshot's
	{"overloaded", StatusOverloaded},
	{"ratelimit", http.StatusTooManyRequests},
	{"toomanyrequests", http.StatusTooManyRequests},
	{"throttling", http.StatusTooManyRequests}, // DashScope's and AWS's
	{"resourceexhausted", http.StatusTooManyRequests},
	{"insufficientquota", http.StatusTooManyRequests}, // DashScope's for a rate; OpenAI's is a quota code
	{"notfound", http.StatusNotFound},
	{"toolarge", http.StatusRequestEntityTooLarge},
	{"conflict", http.StatusConflict},
	{"unavailable", http.StatusServiceUnavailable},
	{"timeout", http.StatusGatewayTimeout},
	{"deadlineexceeded", http.StatusGatewayTimeout},
	{"servererror", http.StatusInternalServerError},
	{"apierror", http.StatusInternalServerError},
	{"internal", http.StatusInternalServerError},
	{"contextlength", http.StatusBadRequest},
	{"invalidrequest", http.StatusBadRequest},
	{"invalidargument", http.StatusBadRequest},
	{"invalidparameter", http.StatusBadRequest},
	{"validation", http.StatusBadRequest},
	{"badrequest", http.StatusBadRequest},
}

// filters are what names of errors hold that are about what was asked.
var filters = []string{"contentpolicy", "contentfilter", "datainspection", "moderation"}

// StatusOverloaded is Anthropic's status for a lack of capacity, which others have taken
// over.
const StatusOverloaded = 529

var marks = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// parse is the object that v is, nil if it is none.
func parse(v json.RawMessage) object {
	var o object
	if json.Unmarshal(v, &o) != nil {
		return nil
	}
	return o
}

// text is the string that v is, empty if it is none.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// texts are those of the values that are strings and say anything.
func texts(values ...json.RawMessage) []string {
	var list []string
	for _, v := range values {
		if s := text(v); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// scalar is a string, or a number as it is written.
func scalar(v json.RawMessage) string { return cmp.Or(text(v), string(v)) }
