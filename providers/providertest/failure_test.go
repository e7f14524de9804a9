package providertest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/providers/anthropic"
	"github.com/callgate/callgate/providers/openai"
)

const secret = "sk-canary-0123456789abcdef"

// failure is a row: one failure of an upstream's, in the words of both wires.
type failure struct {
	name   string
	status int
	header map[string]string // of the answer, also where its status is success
	// openai is the object under "error", anthropic the type of the error; "" if the wire
	// has no word for it. A %s in them is the message.
	openai, anthropic string
	message           string
	want              handled
	ownCodes          bool // it is told by a quota code of the configuration
}

// handled is what becomes of a failure.
type handled struct {
	kind   gateway.Kind
	code   string
	wait   time.Duration
	status int // that the client gets
	retry  bool
	client string // the code in the client's body
	// The attempts at a target that may be asked three times, and those at one with another
	// behind it.
	retried, fallback string
	breaker           string // failed or excluded
	late              string // behind text that the client has: the attempt's outcome, and the breaker's
}

const words = "the words of the upstream, and " + secret

// The ways on from a failure. The target of the first is asked again, of the second another
// one, and of the third nobody.
func again(kind gateway.Kind, code string, wait time.Duration, status int) handled {
	h := handled{kind: kind, code: code, wait: wait, status: status, retry: true, client: code, retried: "3 x " + code, fallback: code + ", ok", breaker: "failed"}
	if kind == gateway.RateLimited {
		h.breaker = "excluded"
	}
	if wait > 60*time.Second { // the longest that is waited for
		h.retried = "1 x " + code
	}
	h.retry = wait <= 120*time.Second
	return h
}

func elsewhere(kind gateway.Kind, code string, status int) handled {
	return handled{kind: kind, code: code, status: status, client: code, retried: "1 x " + code, fallback: code + ", ok", breaker: "excluded"}
}

func refused(status int, client string) handled {
	return refusedAs("upstream_rejected", status, client)
}

// refusedAs is refused under a code of its own.
func refusedAs(code string, status int, client string) handled {
	return handled{kind: gateway.Rejected, code: code, status: status, client: client, retried: "1 x " + code, fallback: code, breaker: "excluded"}
}

// failures are the table of all that upstreams say.
func failures() []failure {
	const (
		failed, limited, overloaded = "upstream_error", "upstream_rate_limited", "upstream_overloaded"
		spent, noKey                = "insufficient_quota", "upstream_auth_error"
	)
	after := func(name, value string) map[string]string { return map[string]string{name: value} }
	return []failure{
		{name: "400", status: 400, openai: `"message":%s,"type":"invalid_request_error","param":null,"code":null`, want: refused(400, "")},
		{name: "400 by number", status: 400, openai: `"message":%s,"type":"BadRequestError","param":null,"code":400`, want: refused(400, "400")},
		{name: "400 of Anthropic's", status: 400, anthropic: "invalid_request_error", want: refused(400, "invalid_request_error")},
		{name: "400, the prompt is too long", status: 400, openai: `"message":%s,"type":"invalid_request_error","code":"context_length_exceeded"`,
			anthropic: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum", want: refusedAs("context_length_exceeded", 400, "context_length_exceeded")},
		{name: "400, a filter", status: 400, openai: `"message":%s,"type":null,"code":"content_filter"`, want: refused(400, "content_filter")},
		{name: "401", status: 401, openai: `"message":%s,"type":"invalid_request_error","code":"invalid_api_key"`, anthropic: "authentication_error", want: elsewhere(gateway.Unauthorized, noKey, 502)},
		{name: "401 by number", status: 401, openai: `"message":%s,"code":401`, want: elsewhere(gateway.Unauthorized, noKey, 502)},
		{name: "402", status: 402, header: after("Retry-After", "9"), openai: `"message":%s,"code":402`, anthropic: "billing_error", want: elsewhere(gateway.QuotaExceeded, spent, 429)},
		{name: "403", status: 403, openai: `"message":%s,"code":403,"status":"PERMISSION_DENIED"`, anthropic: "permission_error", want: elsewhere(gateway.Unauthorized, noKey, 502)},
		{name: "404, no such model", status: 404, openai: `"message":%s,"type":"invalid_request_error","code":"model_not_found"`,
			anthropic: "not_found_error", message: "model: nope", want: refused(404, "model_not_found")},
		{name: "408", status: 408, header: after("Retry-After", "3"), openai: `"message":%s,"code":408`, want: again(gateway.Unavailable, failed, 3*time.Second, 502)},
		{name: "409", status: 409, openai: `"message":%s,"code":"409"`, anthropic: "conflict_error", want: again(gateway.Unavailable, failed, 0, 502)},
		{name: "413", status: 413, openai: `"message":%s,"type":"invalid_request_error","code":"request_too_large"`, anthropic: "request_too_large", want: refused(413, "request_too_large")},
		{name: "422", status: 422, openai: `"message":%s,"type":"t","code":"c","status":422`, want: refused(422, "c")},
		{name: "425", status: 425, openai: `"message":%s,"code":425`, want: again(gateway.Unavailable, failed, 0, 502)},
		{name: "429", status: 429, openai: `"message":%s,"type":"tokens","code":"rate_limit_exceeded"`, anthropic: "rate_limit_error", want: again(gateway.RateLimited, limited, 0, 429)},
		{name: "429 with a header", status: 429, header: after("Retry-After", "7"), openai: `"message":%s,"code":429`, anthropic: "rate_limit_error", want: again(gateway.RateLimited, limited, 7*time.Second, 429)},
		{name: "429 in milliseconds", status: 429, header: after("Retry-After-Ms", "1500"), openai: `"message":%s,"code":429`, anthropic: "rate_limit_error", want: again(gateway.RateLimited, limited, 1500*time.Millisecond, 429)},
		{name: "429 with a sentence", status: 429, openai: `"message":%s,"type":"requests","code":"rate_limit_exceeded"`, anthropic: "rate_limit_error", message: "Please try again in 1.2s.",
			want: again(gateway.RateLimited, limited, 1200*time.Millisecond, 429)},
		{name: "429 of Google's", status: 429, openai: `"message":%s,"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12s"}]`,
			want: again(gateway.RateLimited, limited, 12*time.Second, 429)},
		{name: "429 of OpenRouter's", status: 429, openai: `"message":%s,"code":429,"availability":{"retryable":true,"retry_after":5}`, want: again(gateway.RateLimited, limited, 5*time.Second, 429)},
		{name: "429 of a provider behind OpenRouter", status: 429, openai: `"message":%s,"code":429,"metadata":{"headers":{"retry-after":"6"}}`, want: again(gateway.RateLimited, limited, 6*time.Second, 429)},
		{name: "429 for longer than we wait", status: 429, header: after("Retry-After", "61"), openai: `"message":%s,"code":429`, anthropic: "rate_limit_error", want: again(gateway.RateLimited, limited, 61*time.Second, 429)},
		{name: "429 for longer than SDKs wait", status: 429, header: after("Retry-After", "121"), openai: `"message":%s,"code":429`, anthropic: "rate_limit_error", want: again(gateway.RateLimited, limited, 121*time.Second, 429)},
		{name: "429 of Moonshot's", status: 429, openai: `"message":%s,"type":"engine_overloaded_error"`, want: again(gateway.RateLimited, limited, 0, 429)},
		{name: "no money", status: 429, header: after("Retry-After", "9"), openai: `"message":%s,"type":"insufficient_quota","code":"insufficient_quota"`, want: elsewhere(gateway.QuotaExceeded, spent, 429)},
		{name: "a quota code", status: 400, openai: `"message":%s,"type":"Arrearage","code":"Arrearage"`, want: elsewhere(gateway.QuotaExceeded, spent, 429), ownCodes: true},
		{name: "a quota code with 403", status: 403, openai: `"message":%s,"type":"Arrearage","code":403`, want: elsewhere(gateway.QuotaExceeded, spent, 429), ownCodes: true},
		{name: "a quota code with 500", status: 500, openai: `"message":%s,"type":"Arrearage","code":500`, want: again(gateway.Unavailable, failed, 0, 500), ownCodes: true},
		{name: "500", status: 500, openai: `"message":%s,"type":"server_error","code":null`, anthropic: "api_error", want: again(gateway.Unavailable, failed, 0, 500)},
		{name: "502", status: 502, openai: `"message":%s,"code":502`, want: again(gateway.Unavailable, failed, 0, 502)},
		{name: "503", status: 503, header: after("Retry-After", "2"), openai: `"message":%s,"status":"UNAVAILABLE"`, want: again(gateway.Unavailable, failed, 2*time.Second, 503)},
		{name: "503 with a sentence", status: 503, openai: `"message":%s,"type":"service_unavailable_error"`, message: "Please try again in 4s.", want: again(gateway.Unavailable, failed, 4*time.Second, 503)},
		{name: "504", status: 504, openai: `"message":%s,"status":"DEADLINE_EXCEEDED"`, anthropic: "timeout_error", want: again(gateway.Unavailable, failed, 0, 504)},
		{name: "529", status: 529, header: after("Retry-After", "3"), openai: `"message":%s,"code":529`, anthropic: "overloaded_error", want: again(gateway.Unavailable, overloaded, 3*time.Second, 529)},
		{name: "529 in words", status: 529, openai: `"message":%s,"type":"overloaded_error"`, anthropic: "overloaded_error", want: again(gateway.Unavailable, overloaded, 0, 529)},
		{name: "503 for an overload", status: 503, openai: `"message":%s,"type":"overloaded_error","code":503`, want: again(gateway.Unavailable, overloaded, 0, 503)},
	}
}

// way is how a failure comes.
type way struct {
	name      string
	anthropic bool
	stream    bool // the request asks for one
	plain     bool // the adapter cannot read failures itself
	answer    func(f failure, body string) (status int, contentType, text string)
	// begun is what stands in front of a failure that comes too late.
	begun string
}

const (
	mimeJSON   = "application/json"
	mimeStream = "text/event-stream"

	role  = `data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	text  = `data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}` + "\n\n"
	start = "event: message_start\n" + `data: {"type":"message_start","message":{"id":"m"}}` + "\n\n"
	block = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}` + "\n\n"
)

func ways() []way {
	byStatus := func(f failure, body string) (int, string, string) { return f.status, mimeJSON, body }
	whole := func(_ failure, body string) (int, string, string) { return 200, mimeJSON, body }
	behind := func(begun string) func(failure, string) (int, string, string) {
		return func(_ failure, body string) (int, string, string) {
			return 200, mimeStream, begun + "data: " + body + "\n\n"
		}
	}
	return []way{
		{name: "OpenAI, status", answer: byStatus},
		{name: "OpenAI, status for a stream", answer: byStatus, stream: true},
		{name: "OpenAI, whole", answer: whole},
		{name: "OpenAI, whole for a stream", answer: whole, stream: true},
		{name: "OpenAI, first event", answer: behind(""), stream: true},
		{name: "OpenAI, named event", answer: behind(role + "event: error\n"), stream: true, begun: text},
		{name: "OpenAI, event and end marker", answer: func(f failure, body string) (int, string, string) {
			status, contentType, text := behind(role)(f, body)
			return status, contentType, text + "data: [DONE]\n\n"
		}, stream: true, begun: text},
		{name: "plain, whole", plain: true, answer: whole},
		{name: "plain, event", plain: true, answer: behind(role), stream: true, begun: text},
		{name: "Anthropic, status", anthropic: true, answer: byStatus},
		{name: "Anthropic, whole", anthropic: true, answer: whole},
		{name: "Anthropic, event", anthropic: true, answer: behind(start + "event: error\n"), stream: true, begun: start + block},
	}
}

// transport answers requests without a network.
type transport func(r *http.Request) *http.Response

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// plain is an adapter that keeps its secrets and knows nothing of failures.
type plain struct {
	gateway.Provider
	redact func(string) string
}

// Redact implements gateway.Redactor.
func (p plain) Redact(s string) string { return p.redact(s) }

// body is the failure in the words of the way's wire, "" if there are none.
func (w way) body(f failure) string {
	message, _ := json.Marshal(cmp.Or(f.message, words)) // a string cannot fail
	switch {
	case w.anthropic && f.anthropic != "":
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"r"}`, f.anthropic, message)
	case !w.anthropic && f.openai != "":
		return fmt.Sprintf(`{"error":{`+f.openai+`}}`, message)
	}
	return ""
}

// provider is one whose upstream fails in the way, behind begun.
func (w way) provider(t *testing.T, f failure, begun string) gateway.Provider {
	t.Helper()
	answers := transport(func(r *http.Request) *http.Response {
		status, contentType, text := w.answer(f, w.body(f))
		h := http.Header{"Content-Type": {contentType}, "X-Ratelimit-Limit-Requests": {"9"}}
		for name, value := range f.header {
			h.Set(name, value)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(begun + text)), ContentLength: -1, Request: r}
	})
	if w.anthropic {
		p, err := anthropic.New(anthropic.Config{APIKey: secret, Transport: answers})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p, err := openai.New(openai.Config{BaseURL: "http://x", APIKey: secret, Transport: answers, QuotaCodes: []string{"insufficient_quota", "Arrearage"}})
	if err != nil {
		t.Fatal(err)
	}
	if w.plain {
		return plain{p, p.Redact}
	}
	return p
}

// played is a request that was answered, or not.
type played struct {
	err      error
	attempts []gateway.Attempt
	breaker  string // of the first target
	body     string // what the client has of an answer
}

// play asks a gateway whose route begins with p.
func (w way) play(t *testing.T, p gateway.Provider, retries int, others ...gateway.Provider) played {
	t.Helper()
	o := flow.Options{
		Providers: map[string]gateway.Provider{}, Routes: map[string][]gateway.Target{},
		Policies: map[string]gateway.Policy{"p0": {Retry: gateway.RetryPolicy{Max: retries}}},
	}
	for i, p := range append([]gateway.Provider{p}, others...) {
		name := fmt.Sprint("p", i)
		o.Providers[name] = p
		o.Routes["m"] = append(o.Routes["m"], gateway.Target{Provider: name, Mode: gateway.Repair})
	}
	g, err := flow.New(o)
	if err != nil {
		t.Fatal(err)
	}
	req, err := gateway.ParseRequest(fmt.Appendf(nil, `{"model":"m","stream":%v,"messages":[{"role":"user","content":"hi"}]}`, w.stream))
	if err != nil {
		t.Fatal(err)
	}
	var out played
	resp, err := g.Chat(t.Context(), req)
	if err != nil {
		out.err, out.attempts = err, gateway.AsError(err).Summary.Attempts
	} else {
		for err == nil {
			var f *gateway.Frame
			if f, err = resp.Next(); f != nil {
				out.body += string(f.AppendTo(nil))
			}
		}
		if err != io.EOF {
			out.err = err
		}
		resp.Close()
		out.attempts = resp.Summary.Attempts
	}
	switch n := g.Breakers()[0].Totals; {
	case n.Failures > 0:
		out.breaker = "failed"
	case n.Excluded > 0:
		out.breaker = "excluded"
	}
	return out
}

// outcomes are the outcomes of the attempts.
func (p played) outcomes() string {
	var list []string
	for _, a := range p.attempts {
		list = append(list, a.Outcome)
	}
	return strings.Join(list, ", ")
}

// healthy is a provider with a good answer.
func healthy(t *testing.T) gateway.Provider {
	t.Helper()
	p, err := openai.New(openai.Config{BaseURL: "http://x", Transport: transport(func(r *http.Request) *http.Response {
		const answer = `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {mimeJSON}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r, ContentLength: -1}
	})})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// handled plays a failure that comes in the way, and says what becomes of it.
func (w way) handled(t *testing.T, f failure) handled {
	t.Helper()
	alone := w.play(t, w.provider(t, f, ""), 0)
	e := gateway.AsError(alone.err)
	h := handled{kind: e.Kind, code: e.CodeOrDefault(), wait: e.RetryAfter, status: e.HTTPStatus(), client: e.CodeOrDefault(), breaker: alone.breaker}
	if e.Kind == gateway.RateLimited && e.RetryAfter > 0 && e.RetryAfter <= time.Minute && len(alone.attempts) != 2 {
		t.Errorf("got %d attempts without retries, want one more behind the wait", len(alone.attempts))
	}
	first := *e
	first.Summary = nil
	h.retry = first.Retryable()
	if e.Body != nil {
		var body struct{ Error struct{ Code any } }
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Errorf("got the body %s: %v", e.Body, err)
		}
		if h.client = ""; body.Error.Code != nil {
			h.client = fmt.Sprint(body.Error.Code)
		}
		if got := e.Header.Get("Content-Type"); got != mimeJSON {
			t.Errorf("got content type %q for the upstream's body, want %s", got, mimeJSON)
		}
	}
	shown := e.Message + e.Error() + string(e.Body) + string(e.Said)
	if strings.Contains(shown, secret) || strings.Contains(e.Message, "\n") {
		t.Errorf("got %q, want one line without the key", shown)
	}
	if quotes := strings.Contains(e.Message, strings.ReplaceAll(cmp.Or(f.message, words), secret, "[redacted]")); quotes == (e.Kind == gateway.Unauthorized) {
		t.Errorf("got %q: does it quote the upstream: %v", e.Message, quotes)
	}
	if e.Kind != gateway.Unauthorized && e.Header.Get("X-Ratelimit-Limit-Requests") != "9" {
		t.Errorf("got the header %v, want what the upstream says of its limits", e.Header)
	}

	retried := w.play(t, w.provider(t, f, ""), 2)
	h.retried = fmt.Sprintf("%d x %s", len(retried.attempts), retried.attempts[0].Outcome)
	h.fallback = w.play(t, w.provider(t, f, ""), 0, healthy(t)).outcomes()
	if w.begun == "" {
		return h
	}
	late := w.play(t, w.provider(t, f, w.begun), 2, healthy(t))
	h.late = late.outcomes() + ", " + late.breaker
	if strings.Contains(late.body, secret) || !strings.Contains(late.body, "Hi") {
		t.Errorf("got %q, want the text without the key", late.body)
	}
	return h
}

// TestFailures holds that a failure is one and the same whichever way it comes: by its
// status, in the place of a completion, or as an event of a stream.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, f := range failures() {
		for _, w := range ways() {
			if w.body(f) == "" || w.plain && f.ownCodes {
				continue
			}
			t.Run(f.name+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					want := f.want
					if w.anthropic && want.kind == gateway.Rejected && want.client == "" {
						want.client = f.anthropic
					}
					if w.begun != "" {
						want.late = want.code + ", " + want.breaker
					}
					if got := w.handled(t, f); got != want {
						t.Errorf("got\n%+v, want\n%+v", got, want)
					}
				})
			})
		}
	}
}
