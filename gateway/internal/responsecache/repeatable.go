package responsecache

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/wire"
)

// isRepeatable reports whether a request asks for an answer that another request with
// the same bytes may have too. The client says so itself: by temperature 0, or by a seed,
// which is there to get the same once more. Who wants neither wants a new answer each
// time, and so does who wants several. What a request leaves behind at the upstream, and
// what the upstream looks up elsewhere, another answer does not bring.
func isRepeatable(r *gateway.Request) bool {
	body := r.Body.Bytes()
	wished, barred := false, false
	ok := wire.Members(body, 0, func(key []byte, v wire.Span) bool {
		value := v.Of(body)
		switch {
		case string(key) == "temperature":
			f, err := strconv.ParseFloat(string(value), 64)
			wished = wished || err == nil && f == 0
		case string(key) == "seed":
			wished = wished || !v.IsNull(body)
		default:
			barred = bars(key, value)
		}
		return !barred
	})
	return ok && wished && !barred && ownTools(r) && !looksElsewhere(r)
}

// bars reports whether a member makes a request one that cannot be repeated. A key with an
// escape in it may be any.
func bars(key, value []byte) bool {
	off := len(value) == 0 || value[0] == 'n' || string(value) == "false"
	switch name := string(key); {
	case bytes.IndexByte(key, '\\') >= 0:
		return true
	case off:
		return false
	case name == "n":
		return string(value) != "1"
	case name == "modalities":
		return string(value) != `["text"]`
	default:
		return !known[name]
	}
}

// known are members that say how an answer is made and nothing else: OpenAI's, and those of
// servers such as vLLM and SGLang. With any other the upstream may look things up (data
// sources, searches, connectors), or do more than answer.
var known = map[string]bool{ //nolint:gochecknoglobals // a table
	"model": true, "messages": true, "stream": true, "stream_options": true, "temperature": true, "top_p": true,
	"top_k": true, "min_p": true, "typical_p": true, "seed": true, "max_tokens": true, "max_completion_tokens": true,
	"min_tokens": true, "stop": true, "stop_token_ids": true, "include_stop_str_in_output": true, "ignore_eos": true,
	"presence_penalty": true, "frequency_penalty": true, "repetition_penalty": true, "length_penalty": true,
	"logit_bias": true, "logprobs": true, "top_logprobs": true, "response_format": true, "structured_outputs": true,
	"guided_json": true, "guided_regex": true, "guided_choice": true, "guided_grammar": true, "grammar": true,
	"json_schema": true, "tools": true, "tool_choice": true, "parallel_tool_calls": true, "user": true, "metadata": true,
	"safety_identifier": true, "prompt_cache_key": true, "prompt_cache_retention": true, "prompt_cache_options": true,
	"reasoning": true, "reasoning_effort": true, "reasoning_format": true, "reasoning_split": true,
	"include_reasoning": true, "separate_reasoning": true, "thinking": true, "thinking_budget": true,
	"enable_thinking": true, "chat_template_kwargs": true, "verbosity": true, "prediction": true, "service_tier": true,
	"skip_special_tokens": true, "spaces_between_special_tokens": true, "cache_prompt": true, "cache_control": true,
}

// ownTools reports whether all tools are functions, which the client runs. Others may be
// the upstream's, and their results are of the day.
func ownTools(r *gateway.Request) bool {
	body, at := r.Body.Bytes(), r.Body.Places().Tools
	if at.IsNull(body) {
		return true
	}
	own := true
	wire.Elements(body, at.Start, func(_ int, tool wire.Span) bool {
		own = body[tool.Start] == '{' && string(wire.Find(body, tool, "type").Of(body)) == `"function"`
		return own
	})
	return own
}

// looksElsewhere reports whether the upstream may have to fetch a picture or a file from
// the web, which may be another one by then. Rather a request too many is taken for one.
func looksElsewhere(r *gateway.Request) bool {
	messages := r.Body.Places().Messages.Of(r.Body.Bytes())
	return bytes.Contains(messages, []byte(`_url"`)) && bytes.Contains(messages, []byte("://")) // data: has none
}

// freshness is what a client wants of stored answers, by its header cache-control.
type freshness int

const (
	anyAnswer   freshness = iota
	freshAnswer           // no-cache, or max-age=0: its answer is to be a new one, which is stored
	ownAnswer             // no-store: as well, but it is not stored
)

// freshnessOf reads the header.
func freshnessOf(r *gateway.Request) freshness {
	f := anyAnswer
	for _, line := range r.From.Header["Cache-Control"] {
		for word := range strings.SplitSeq(line, ",") {
			switch strings.ToLower(strings.TrimSpace(word)) {
			case "no-store":
				return ownAnswer
			case "no-cache", "max-age=0":
				f = freshAnswer
			}
		}
	}
	return f
}

// volatile are headers that say something of one request, of its way here, or of the program
// that sends it, and nothing of its answer: those of clients, of traces, and of the proxies of
// Cloudflare, AWS, Azure, Google, Fastly, Akamai and others. All others count: a header such as
// openai-beta or one of an upstream's own may change an answer, and nobody knows them all.
var volatile = map[string]bool{ //nolint:gochecknoglobals // a table
	"Accept": true, "Accept-Charset": true, "B3": true, "Baggage": true, "Cache-Control": true,
	"Cf-Connecting-Ip": true, "Cf-Connecting-Ipv6": true, "Cf-Ew-Via": true, "Cf-Ray": true,
	"Cf-Visitor": true, "Cloudfront-Viewer-Address": true, "Content-Type": true, "Date": true, "Dnt": true,
	"Fastly-Client-Ip": true, "Idempotency-Key": true, "If-Modified-Since": true, "If-None-Match": true, "Origin": true,
	"Pragma": true, "Priority": true, "Referer": true, "Request-Id": true, "Sentry-Trace": true, "Traceparent": true,
	"Tracestate": true, "True-Client-Ip": true, "Uber-Trace-Id": true, "Upgrade-Insecure-Requests": true,
	"User-Agent": true, "X-Amz-Cf-Id": true, "X-Amzn-Trace-Id": true, "X-Arr-Log-Id": true, "X-Arr-Ssl": true,
	"X-Azure-Clientip": true, "X-Azure-Fdid": true, "X-Azure-Ref": true, "X-Azure-Requestchain": true,
	"X-Azure-Socketip": true, "X-Client-Ip": true, "X-Client-Request-Id": true, "X-Cloud-Trace-Context": true,
	"X-Cluster-Client-Ip": true, "X-Correlation-Id": true, "X-Ot-Span-Context": true, "X-Original-Forwarded-For": true,
	"X-Request-Id": true, "X-Request-Start": true, "X-Trace-Id": true, "X-Varnish": true,
}

// volatilePrefixes begin the names of more of them.
var volatilePrefixes = [...]string{"Ot-Tracer-", "Sec-", "X-B3-", "X-Datadog-", "X-Envoy-", "X-Stainless-"}

// lastingNames are the names of those of the client's headers that count, sorted.
func lastingNames(h http.Header) (names []string) {
	for name := range h {
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if !volatile[name] && !slices.ContainsFunc(volatilePrefixes[:], begins) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// lastingHeaders are those headers with their values.
func lastingHeaders(h http.Header) []byte {
	var out []string
	for _, name := range lastingNames(h) {
		out = append(out, name, string(answers.List(h[name]...)))
	}
	return answers.List(out...)
}
