package headers

import "net/http"

// forwarded are a client's headers that every upstream gets: what says how to read the body
// and the answer, which versions of an interface are meant, that a request is the same one as
// before, and the ids of a trace. Via is the gateway's own by then.
//
// User-Agent is among them, since some vendors serve some programs only. X-Stainless-* is
// not: it describes the client's machine, and counts retries that are not the upstream's.
// Accounts (OpenAI-Organization, OpenAI-Project) belong to the client's key, which stays here.
var forwarded = set("Content-Type", "Accept", "User-Agent", "Idempotency-Key",
	"Openai-Beta", "Anthropic-Beta", "Anthropic-Version", "Traceparent", "Tracestate", "Via")

// Forwarded reports whether every upstream gets a client's header.
func Forwarded(name string) bool { return forwarded[name] }

// credentials are headers that hold, or may hold, the client's key for the gateway.
var credentials = set("Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Cookie", "Cookie2")

// ours are headers of a request that the gateway writes itself, or answers with its own.
var ours = set("Via", "X-Request-Id")

// people are headers that say who the client is or where it comes from.
var people = set("Forwarded", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip",
	"Remote-User", "X-Remote-User", "X-Remote-Group", "X-Webauth-User")

// proxies begin the names of such headers that proxies set which have asked the client to
// sign in, some with a token that others would accept.
var proxies = []string{
	"X-Forwarded-", "X-Auth-Request-", "X-Authenticated-", "Cf-Access-", "X-Amzn-Oidc-",
	"X-Goog-Iap-", "X-Goog-Authenticated-", "X-Ms-Client-Principal", "X-Ms-Token-", "Ssl-Client-", "Tailscale-",
}

// saysWho reports whether a header says who the client is or where it comes from, as a proxy
// in front of the gateway would put it. It stays with the gateway even if an operator names
// it: any client can send it, and the upstream might believe it, since the gateway's key came
// with it. A name with an underscore stays as well: many servers take X_Forwarded_For for
// X-Forwarded-For, and could be told in this way what is not to be told.
func saysWho(name string) bool { return people[name] || barred(name) != "" || begins(name, proxies) }

// ForwardProblem says why an operator may not have a client's header of this name sent on, ""
// if they may. The name may be in any case.
func ForwardProblem(name string) string {
	name = http.CanonicalHeaderKey(name)
	switch {
	case barred(name) != "":
		return barred(name)
	case credentials[name]:
		return "it may hold the client's key for the gateway; set api_key or headers instead"
	case ours[name]:
		return "the gateway sets it itself"
	case saysWho(name):
		return "it says who the client is, which anybody may claim"
	}
	return ""
}

// Kept returns those of a client's headers that the gateway itself keeps, for rules and for
// providers: without credentials, without what says who the client is, and without what
// belongs to its connection. It shares the values.
func Kept(in http.Header) http.Header {
	out := make(http.Header, len(in)+2)
	for name, values := range in {
		if !credentials[name] && !ours[name] && !saysWho(name) {
			out[name] = values
		}
	}
	for _, name := range Nominated(in) {
		delete(out, name)
	}
	return out
}

// Visible reports whether a header of this name is in what [Kept] returns.
func Visible(name string) bool { return !credentials[name] && !ours[name] && !saysWho(name) }
