package headers

import (
	"mime"
	"net/http"
	"slices"
	"strings"
)

// passed are an upstream's headers that clients get: its ids of the request, which its
// support asks for, and what it says of rates.
var passed = set("X-Request-Id", "Request-Id", "X-Ms-Request-Id", "Apim-Request-Id", "X-Amzn-Requestid",
	"Msh-Request-Id", "X-Ds-Trace-Id", "Mistral-Correlation-Id", "X-Groq-Request-Id", "X-Generation-Id", "Cf-Ray",
	"Ratelimit", "Ratelimit-Policy", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset")

// limits begin the names of headers in which vendors say how much of a rate is left, and of
// OpenAI's own (openai-processing-ms, openai-version, openai-model, openai-organization).
// X-Ratelimitbysize- is Mistral's.
var limits = []string{"X-Ratelimit-", "X-Ratelimitbysize-", "Ratelimitbysize-", "X-Rate-Limit-", "Anthropic-Ratelimit-", "Openai-"}

// retries are headers that say whether and when to try again. With an answer that is no error
// they have no meaning, and an SDK might obey them all the same.
var retries = set("Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms", "X-Should-Retry")

// site are headers of an answer that speak for the host that was asked, which is not the
// upstream, or that the gateway sets itself. Most upstreams send some of them.
var site = set("Content-Type", "Date", "Server", "Via", "Vary", "Age", "Cache-Control", "Pragma", "Expires", "Etag", "Last-Modified",
	"Set-Cookie", "Set-Cookie2", "Strict-Transport-Security", "Clear-Site-Data", "Www-Authenticate", "Alt-Svc", "Server-Timing",
	"X-Content-Type-Options", "X-Frame-Options", "X-Accel-Buffering", "Nel", "Report-To", "Reporting-Endpoints")

func isSite(name string) bool { return site[name] || strings.HasPrefix(name, "Access-Control-") }

// The bounds on what is passed on, so that no client is given more than it can take.
const (
	maxPassed = 64
	maxValue  = 1 << 10 // bytes of a header
)

// Class is why a header of an upstream's answer was not passed on.
type Class int

// The classes. passing is that of a header that is passed on.
const (
	passing    Class = iota
	Connection       // it belongs to the connection, to the framing, or to the gateway
	Site             // it speaks for the upstream's own host
	Unknown          // it is not on the list
	Secret           // it quotes a key of the gateway
	Type             // a content type that is not what the answer is
	Retry            // advice to try again, on an answer that is no error
	TooMuch          // too long, or one too many
	classes
)

// String is the class in a word, as metrics name it.
func (c Class) String() string {
	return [...]string{"", "connection", "site", "unknown", "secret", "type", "retry", "too_much"}[c]
}

// Withheld is what of an answer's headers was not passed on.
type Withheld struct {
	// Names are at most 32 of the headers, sorted, for a trace. They are the upstream's words.
	Names []string
	// Counts are how many there were, by class.
	Counts [classes]int
}

// maxNames is how many names are kept, and maxName how long one may be.
const maxNames, maxName = 32, 64

// fewNames is for how many there is room at first: most upstreams have no more such headers.
const fewNames = 6

func (w *Withheld) add(name string, c Class) {
	w.Counts[c]++
	if w.Names == nil {
		w.Names = make([]string, 0, fewNames)
	}
	w.Names = append(w.Names, name[:min(len(name), maxName)])
}

// Answer is what is known of an upstream's answer.
type Answer struct {
	// Streamed and Failed say what it is: events, and an error. Neither is a whole answer.
	Streamed, Failed bool
	// Opaque says that nobody has looked into it: it is whatever the upstream says it is, if
	// that is something that no browser runs.
	Opaque bool
	// More are the names that an operator has added, canonical.
	More map[string]bool
	// Quotes says whether a value holds a secret.
	Quotes func(value string) bool
}

// Pass returns what a client may see of the header of an upstream's answer, and what was
// withheld. It shares the values. Advice to try again stays in it, since an error may follow
// in a stream; [Advice] tells it.
func (a Answer) Pass(h http.Header) (http.Header, Withheld) {
	out, held := make(http.Header, len(h)), Withheld{}
	nominated := Nominated(h)
	for name, values := range h {
		if name == "Content-Type" {
			continue
		}
		if class := a.class(name, values, nominated); class != passing {
			held.add(name, class)
			continue
		}
		if retries[name] && !a.Failed {
			held.add(name, Retry)
		}
		out[name] = values
	}
	if len(out) >= maxPassed {
		for _, name := range slices.Sorted(keys(out))[maxPassed-1:] { // there is a content type besides
			delete(out, name)
			held.add(name, TooMuch)
		}
	}
	kind := a.contentType(h["Content-Type"])
	if given := h["Content-Type"]; len(given) > 1 || len(given) == 1 && given[0] != kind {
		held.add("Content-Type", Type)
	}
	out["Content-Type"] = []string{kind}
	slices.Sort(held.Names)
	held.Names = held.Names[:min(len(held.Names), maxNames)]
	return out, held
}

func keys(h http.Header) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range h {
			if !yield(name) {
				return
			}
		}
	}
}

// class is why a header stays, or passing.
func (a Answer) class(name string, values, nominated []string) Class {
	switch {
	case barred(name) != "", slices.Contains(nominated, name):
		return Connection
	case isSite(name):
		return Site
	case !passed[name] && !retries[name] && !begins(name, limits) && !a.More[name]:
		return Unknown
	case slices.ContainsFunc(values, a.Quotes):
		return Secret
	case length(values) > maxValue:
		return TooMuch
	}
	return passing
}

// length is how many bytes values take in a line of a header.
func length(values []string) int {
	n := 0
	for _, v := range values {
		n += len(v) + len(", ")
	}
	return max(n-len(", "), 0)
}

// contentType is a content type of the expected kind as it came, or what the body has been
// found to be. A charset other than UTF-8 could make a browser read something else.
func (a Answer) contentType(given []string) string {
	want := a.found()
	if len(given) == 0 || a.Quotes(given[0]) {
		return want
	}
	if given[0] == want {
		return given[0]
	}
	media, params, err := mime.ParseMediaType(given[0])
	if a.Opaque && err == nil && strings.HasPrefix(media, "audio/") { // its parameters are the rate and the like
		return given[0]
	}
	fits := media == want || a.fits(media)
	if charset, has := params["charset"]; has && strings.EqualFold(charset, "utf-8") {
		delete(params, "charset")
	}
	if err != nil || !fits || len(params) > 0 {
		return want
	}
	return given[0]
}

// found is what the body has been found to be.
func (a Answer) found() string {
	switch {
	case a.Opaque:
		return "application/octet-stream"
	case a.Streamed:
		return "text/event-stream"
	}
	return "application/json"
}

// fits reports whether the body may be called something else than it has been found to be.
func (a Answer) fits(media string) bool {
	return a.Opaque && opaque(media) || !a.Streamed && strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// opaque reports whether an answer that nobody looks into may be of a kind: events, texts and
// pictures. A picture in SVG may hold scripts.
func opaque(media string) bool {
	switch media {
	case "text/event-stream", "text/plain", "text/vtt", "application/json", "application/x-subrip", "application/jsonl", "application/x-ndjson":
		return true
	}
	return (strings.HasPrefix(media, "image/") || strings.HasPrefix(media, "video/")) && media != "image/svg+xml"
}

// Advice reports whether a header says whether and when to try again, which is for errors.
func Advice(name string) bool { return retries[name] }

// PassProblem says why an operator may not have an upstream's header of this name passed on,
// "" if they may. The name may be in any case.
func PassProblem(name string) string {
	name = http.CanonicalHeaderKey(name)
	switch {
	case barred(name) != "":
		return barred(name)
	case isSite(name):
		return "it speaks for the gateway's own host, or the gateway sets it itself"
	}
	return ""
}
