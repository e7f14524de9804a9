package responsecache

import (
	"net/http"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/answers"
)

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
