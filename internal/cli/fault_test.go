package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// fault is an upstream that fails in one way.
type fault struct {
	name     string
	url      string
	timeouts string
	stream   bool
	want     failure
}

// hangs never answers.
func hangs(_ http.ResponseWriter, r received) { <-r.Context().Done() }

const events = "text/event-stream"

// faultsBefore are those for which the client gets a status of its own.
func faultsBefore(t *testing.T) []fault {
	t.Helper()
	const quick = "{first_token: 100ms, idle: 10s, total: 10s}"
	bad := func(says string) failure {
		return failure{status: 502, code: "upstream_error", retry: "true", says: says}
	}
	slow := func(says string) failure {
		return failure{status: 504, code: "upstream_timeout", retry: "true", says: says}
	}
	closes := raw(t, func(*net.TCPConn, []byte) {})
	resets := raw(t, func(c *net.TCPConn, _ []byte) { c.SetLinger(0) })
	emptyStream := static(t, 200, events, "")
	return []fault{
		{"down", down(t), "", false, bad("refused the connection")},
		{"down, stream", down(t), "", true, bad("refused the connection")},
		{"no such host", "http://no-such-host.invalid/v1", "", false, bad("cannot be resolved")},
		{"silent before the header, stream", upstream(t, hangs), quick, true, slow("first_token")},
		{"silent after the header, stream", upstream(t, func(w http.ResponseWriter, r received) {
			w.Header().Set("content-type", events)
			send(w, "")
			hangs(w, r)
		}), quick, true, slow("first_token")},
		{"silent, whole", upstream(t, hangs), "{total: 100ms}", false, slow("total")},
		{"silent in the body, whole", upstream(t, func(w http.ResponseWriter, r received) {
			send(w, `{"choices":`)
			hangs(w, r)
		}), "{total: 100ms}", false, slow("total")},
		{"cut before the header", closes, "", false, bad("closed the connection")},
		{"cut before the header, stream", closes, "", true, bad("closed the connection")},
		{"reset before the header", resets, "", false, bad("connection")},
		{"empty stream", emptyStream, "", true, failure{status: 502, code: "upstream_cut", retry: "true", says: "before its first chunk"}},
		{"401", static(t, 401, "application/json", `{"error":{"message":"bad key sk-canary"}}`), "", false, failure{status: 502, code: "upstream_auth_error", retry: "false", says: "credentials"}},
		{"403", static(t, 403, "application/json", `{}`), "", true, failure{status: 502, code: "upstream_auth_error", retry: "false", says: "credentials"}},
		{"403 of a filter", static(t, 403, "application/json", `{"error":{"message":"sk-canary needs moderation","type":"x","param":null,"code":"moderation"}}`), "", false,
			failure{status: 403, code: "moderation", retry: "false", says: "needs moderation"}},
		{"500", static(t, 500, "application/json", `{"error":{"message":"boom","type":"x"}}`), "", false, fails(500, "status 500: boom")},
		{"503, stream", static(t, 503, "text/plain", "no"), "", true, fails(503, "status 503")},
		{"redirect", static(t, 307, "text/plain", "", "location", "/elsewhere"), "", false, bad("redirect")},
		{"truncated JSON", static(t, 200, "application/json", completion("hi")[:80]), "", false, bad("JSON")},
		{"truncated JSON, length wrong", raw(t, func(c *net.TCPConn, _ []byte) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Type: application/json\r\n\r\n"+completion("hi"))
		}), "", false, bad("broke off")},
		{"HTML", static(t, 200, "text/html", "<html>login</html>"), "", false, bad("text/html")},
		{"HTML, stream", static(t, 200, "text/html", "<html>login</html>"), "", true, bad("text/html")},
		{"two values", static(t, 200, "application/json", "{}{}"), "", false, bad("JSON")},
		{"empty", static(t, 200, "application/json", ""), "", false, bad("JSON")},
		{"not HTTP", raw(t, func(c *net.TCPConn, _ []byte) { io.WriteString(c, "SSH-2.0-x\r\n\r\n") }), "", false, bad("not HTTP")},
		{"an encoding", static(t, 200, "application/json", "x", "content-encoding", "br"), "", false, bad("encoding")},
	}
}

// faults serves one gateway before them all and runs ask for each.
func faults(t *testing.T, list []fault, ask func(t *testing.T, f fault, r result)) {
	t.Helper()
	var config strings.Builder
	config.WriteString("providers:\n")
	for i, f := range list {
		timeouts := f.timeouts
		if timeouts == "" {
			timeouts = "{total: 20s}"
		}
		fmt.Fprintf(&config, "  none%d: {type: openai, base_url: %q, api_key: sk-canary, timeouts: %s}\n", i, f.url, timeouts)
		fmt.Fprintf(&config, "  auto%d: {type: openai, base_url: %q, api_key: sk-canary, timeouts: %s, parser: auto}\n", i, f.url, timeouts)
	}
	g := serve(t, config.String())
	for i, f := range list {
		for _, parser := range []string{"none", "auto"} {
			t.Run(f.name+"/"+parser, func(t *testing.T) {
				t.Parallel()
				r := g.chat(prompt(fmt.Sprintf("%s%d/m", parser, i), "hi", f.stream))
				if strings.Contains(r.body, "sk-canary") {
					t.Errorf("got the key in %q", r.body)
				}
				ask(t, f, r)
			})
		}
	}
}

func TestFaultBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	faults(t, faultsBefore(t), func(t *testing.T, f fault, r result) {
		t.Helper()
		f.want.check(t, r)
	})
}

// TestFaultInTheStream has upstreams fail when the answer has begun: the stream
// ends with an error and without the end marker.
func TestFaultInTheStream(t *testing.T) {
	t.Parallel()
	begin := func(w http.ResponseWriter) {
		w.Header().Set("content-type", events)
		send(w, delta("Hel"), delta("lo"))
	}
	list := []fault{
		{"silent", upstream(t, func(w http.ResponseWriter, r received) {
			begin(w)
			hangs(w, r)
		}), "{idle: 2s}", true, failure{code: "upstream_timeout", says: "timeouts.idle"}},
		{"silent in a held text", upstream(t, func(w http.ResponseWriter, r received) {
			begin(w)
			send(w, delta(" <tool_"))
			hangs(w, r)
		}), "{idle: 2s}", true, failure{code: "upstream_timeout", says: "timeouts.idle"}},
		{"too long", upstream(t, func(w http.ResponseWriter, r received) {
			begin(w)
			hangs(w, r)
		}), "{total: 5s}", true, failure{code: "upstream_timeout", says: "timeouts.total"}},
		{"cut", upstream(t, func(w http.ResponseWriter, _ received) { begin(w) }), "", true,
			failure{code: "upstream_cut", says: "mid-stream"}},
		{"cut in a block", upstream(t, func(w http.ResponseWriter, _ received) {
			begin(w)
			send(w, delta("more")[:50])
		}), "", true, failure{code: "upstream_cut", says: "mid-stream"}},
		{"reset", upstream(t, func(w http.ResponseWriter, _ received) {
			begin(w)
			panic(http.ErrAbortHandler)
		}), "", true, failure{code: "upstream_cut", says: "mid-stream"}},
	}
	faults(t, list, func(t *testing.T, f fault, r result) {
		t.Helper()
		if r.status != 200 || r.err != nil {
			t.Fatalf("got status %d and error %v, want a stream that ends well", r.status, r.err)
		}
		got := data(r.body)
		if strings.Contains(r.body, "[DONE]") || len(got) < 3 {
			t.Fatalf("got stream %q, want three blocks or more and no end marker", r.body)
		}
		equalBytes(t, "the streams' beginnings", cut(r.body, 0, len(delta("Hel")+delta("lo"))), delta("Hel")+delta("lo"))
		e := errorOf(t, got[len(got)-1])
		if e.code != f.want.code || !strings.Contains(e.message, f.want.says) || e.typ != "server_error" {
			t.Errorf("got %+v, want code %q and a message with %q", e, f.want.code, f.want.says)
		}
		if strings.Contains(f.name, "held") && !strings.Contains(r.body, "<tool_") {
			t.Errorf("got %q, want the text that was held too", r.body)
		}
	})
}

// TestUpstreamsOwnErrors are answers that the client is to see as they are.
func TestUpstreamsOwnErrors(t *testing.T) {
	t.Parallel()
	const odd = "{ \"error\" : {\"message\":\"too long\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"context_length_exceeded\", \"x\":1.0}}\n"
	inBand := delta("Hi there") + "data: {\"error\":{\"message\":\"overloaded\",\"code\":529}}\n\n"
	list := []fault{
		{name: "400", url: static(t, 400, "application/json", odd, "x-ratelimit-limit-tokens", "9", "x-request-id", "theirs")},
		{name: "404", url: static(t, 404, "application/json", odd)},
		{name: "422, stream", url: static(t, 422, "application/json", odd), stream: true},
		{name: "429", url: static(t, 429, "application/json", odd, "retry-after", "1")},
		{name: "429 in milliseconds", url: static(t, 429, "application/json", odd, "retry-after-ms", "200"), stream: true},
		{name: "503 with a time", url: static(t, 503, "application/json", odd, "retry-after", "3")},
		{name: "in-band error", url: static(t, 200, events, inBand), stream: true},
		{name: "in-band error and end", url: static(t, 200, events, inBand+done), stream: true},
		{name: "in-band error and more", url: static(t, 200, events, inBand+delta("x")+finish+done), stream: true},
	}
	faults(t, list, func(t *testing.T, f fault, r result) {
		t.Helper()
		switch status, _, _ := strings.Cut(f.name, ","); status {
		case "400", "404", "422":
			if fmt.Sprint(r.status) != status {
				t.Errorf("got status %d, want %s", r.status, status)
			}
			equalBytes(t, "bodies", r.body, odd)
			hasHeader(t, r.header, map[string]string{"content-type": "application/json", "x-should-retry": "false"})
			if r.header.Get("x-request-id") == "theirs" {
				t.Error("got the upstream's x-request-id, want the gateway's")
			}
		case "429":
			failure{status: 429, code: "upstream_rate_limited", retry: "false", says: "too long"}.check(t, r)
			hasHeader(t, r.header, map[string]string{"retry-after": "1", "retry-after-ms": "1000", "x-callgate-attempts": "2", "x-callgate-retry-delay-ms": "1000"})
		case "429 in milliseconds":
			failure{status: 429, code: "upstream_rate_limited", retry: "false"}.check(t, r)
			hasHeader(t, r.header, map[string]string{"retry-after": "1", "retry-after-ms": "200", "x-callgate-attempts": "2"})
		case "503 with a time":
			failure{status: 503, code: "upstream_error", retry: "true"}.check(t, r)
			hasHeader(t, r.header, map[string]string{"retry-after": "3", "retry-after-ms": "3000"})
		default: // an error ends the stream, whatever the upstream sends behind it
			equalBytes(t, "streams", r.body, inBand)
		}
	})
}

// TestNoEndMarker has upstreams that end a stream with a finish reason alone: the
// client gets the marker that it may wait for.
func TestNoEndMarker(t *testing.T) {
	t.Parallel()
	list := []fault{{name: "text", url: static(t, 200, events, delta("Hello")+finish), stream: true}}
	faults(t, list, func(t *testing.T, _ fault, r result) {
		t.Helper()
		equalBytes(t, "streams", withoutComment(r.body), delta("Hello")+finish+done)
	})
}
