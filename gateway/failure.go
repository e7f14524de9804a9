package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/internal/upstreamerr"
)

// UpstreamFailure is all that an upstream has said of a failure. A provider fills it from
// an answer whose status is not success, or from an error that came in-band: with the
// status of success, in the place of a completion or of a chunk.
type UpstreamFailure struct {
	Provider string      // its name, for the message
	Status   int         // of the answer; 0: the error came in-band
	Header   http.Header // of the answer, as a client may see it; it is not changed
	Body     []byte      // of the answer, or the JSON that came in-band; not changed either
	// QuotaCodes are the values of error.code or error.type that mean, with any status of
	// 4xx, that the account's money or quota is spent. Nil means OpenAI's own,
	// "insufficient_quota". A status of 402 always means it.
	QuotaCodes []string
	// Redact takes the provider's secrets out of a text; nil: there are none.
	Redact func(string) string
}

const (
	maxSaid        = 8 << 10 // bytes of one that are looked at for what it has against the request
	openAIQuota    = "insufficient_quota"
	codeOverloaded = "upstream_overloaded" // of an upstream without capacity
)

// MaxFailure is how many bytes an error of an upstream has at most. Of one that is longer nothing is read.
const MaxFailure = 1 << 20

// Overflow is what an upstream says of a prompt that does not fit into the model's context, in tokens;
// what it does not say is 0.
type Overflow = upstreamerr.Overflow

// CodeOverflow is the code of an error about that.
const CodeOverflow = upstreamerr.CodeOverflow

// ReadOverflow reads it from an upstream's words and codes. What [UpstreamFailure.Classify] has made has
// it in Error.Overflow.
func ReadOverflow(message string, codes ...string) (o Overflow, ok bool) {
	return upstreamerr.ReadOverflow(message, codes...)
}

// Classify is the one place that says what a failure of an upstream's is called, and so
// what follows it. One that came in-band is what it would be with the status that its body
// names, by a number or by a word. A body of more than [MaxFailure] bytes says nothing.
func (f UpstreamFailure) Classify() *Error {
	said := f.read()
	status := cmp.Or(f.Status, said.Status)
	e := &Error{Kind: f.kind(status, said.Codes)}
	if said.Moderated && status == http.StatusForbidden {
		e.Kind = Rejected // OpenRouter's status for what a filter holds back: not of our credentials
	}
	if said.Refused {
		e.Kind, status = Rejected, http.StatusBadRequest
	}
	if e.Kind != Unauthorized { // whose words may quote the key
		e.Quote = upstreamerr.Excerpt(f.redacted(said.Message))
		e.Header = f.Header.Clone()
	}
	switch e.Kind {
	case RateLimited:
		e.RetryAfter = said.RetryAfter
	case Unavailable:
		e.RetryAfter = said.RetryAfter
		if status/100 == 5 {
			e.Status = status
		}
		if said.Overloaded || status == upstreamerr.StatusOverloaded {
			e.Code = codeOverloaded
		}
	case QuotaExceeded:
		for _, name := range []string{"Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
			e.Header.Del(name) // it says when to fail again
		}
	case Rejected:
		f.refuse(e, status, said.Wrapped)
		if o, ok := upstreamerr.ReadOverflow(said.Message, said.Codes...); ok {
			e.Code, e.Overflow = upstreamerr.CodeOverflow, &o
		}
	}
	e.Message = f.message(e, said.Wrapped)
	return e
}

// message says what has happened, in the upstream's words too, and where to look.
func (f *UpstreamFailure) message(e *Error, wrapped bool) string {
	m := fmt.Sprintf("Provider %q: %s.", f.Provider, f.what(e.Kind))
	if e.Quote != "" {
		m = strings.TrimSuffix(m, ".") + ": " + e.Quote
	}
	if e.Kind == Rejected && f.Status == http.StatusNotFound && !wrapped { // no API of OpenAI's form is there
		m = strings.TrimSuffix(m, ".") + ". Check base_url, and the name of the model."
	}
	return m
}

// read reads the body, unless it is too long.
func (f *UpstreamFailure) read() upstreamerr.Report {
	if len(f.Body) > MaxFailure {
		f.Body = nil
	}
	return upstreamerr.Read(f.Header, f.Body, time.Now())
}

func (f *UpstreamFailure) kind(status int, codes []string) Kind {
	refused := status/100 == 4
	spent := func(code string) bool {
		return f.QuotaCodes == nil && code == openAIQuota || slices.Contains(f.QuotaCodes, code)
	}
	switch {
	case status == http.StatusPaymentRequired, (refused || status == 0) && slices.ContainsFunc(codes, spent):
		return QuotaExceeded
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Unauthorized
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		// They speak of the moment and not of the request. OpenAI's SDKs try again on the
		// first two, RFC 8470 asks for it on the third.
		return Unavailable
	case refused:
		return Rejected
	}
	return Unavailable
}

// refuse fills what of a refusal goes on to the client: the upstream's own body, if that
// has OpenAI's form; else the client gets one of ours, with the upstream's words.
func (f *UpstreamFailure) refuse(e *Error, status int, wrapped bool) {
	e.Status = status
	clean := []byte(f.redacted(string(f.Body))) // before it is cut, or a part of a secret might stay
	e.Said = clean[:min(len(clean), maxSaid)]
	if !wrapped {
		return
	}
	e.Body = clean
	if e.Header == nil {
		e.Header = http.Header{}
	}
	if !strings.Contains(e.Header.Get("Content-Type"), "json") { // a stream's
		e.Header.Set("Content-Type", "application/json")
	}
}

// what says in plain words what has happened.
func (f *UpstreamFailure) what(k Kind) string {
	switch {
	case k == Unauthorized && f.Status == 0:
		return "the upstream refused the gateway's own credentials; check the provider's api_key"
	case k == Unauthorized:
		return fmt.Sprintf("the upstream refused the gateway's own credentials (status %d); check the provider's api_key", f.Status)
	case f.Status == 0:
		return "the upstream answered with an error"
	case k == QuotaExceeded:
		return fmt.Sprintf("the account's quota is spent (status %d)", f.Status)
	case k == RateLimited:
		return fmt.Sprintf("the upstream limits the rate of requests (status %d)", f.Status)
	case k == Rejected:
		return fmt.Sprintf("the upstream refused the request with status %d", f.Status)
	}
	return fmt.Sprintf("the upstream failed with status %d", f.Status)
}

func (f *UpstreamFailure) redacted(s string) string {
	if f.Redact == nil {
		return s
	}
	return f.Redact(s)
}
