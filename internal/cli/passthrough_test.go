package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// oddRequest is a request that no encoder would write; %s is the model.
const oddRequest = "\t{ \"zzz_unknown\" : {\"a\":[1.0, 12345678901234567890,1e400,-0,\"é\\u00e9\\ud83d\\ude00\U0001F600\\/\"]},\r\n" +
	` "model":"%s" ,"stream" : %t,  "messages":[{"role":"user","content":"a \u003c b / \/","extra":{"deep":[[[]]]}},` +
	`{"role":"assistant","content":null,"tool_calls":[]}], "temperature":1.0,"seed":9007199254740993,` +
	`"tools":[{"type":"function","x":1.50,"function":{"name":"get_weather","strict":null}}],"":{} }` + " \n"

// oddAnswers are answers without markup, each with unknown fields at every level.
var oddAnswers = map[string]string{
	"object": "{ \"choices\" : [ {\"finish_reason\":\"stop\",\"x\":[1.0,12345678901234567890],\"message\":{\"y\":{\"z\":1e400}," +
		"\"content\":\"caf\\u00e9 é \\ud83d\\ude00 a < b \\u003ctool_ \\u003c/x> \\/\",\"role\":\"assistant\",\"refusal\":null},\"index\":0,\"logprobs\":{\"content\":[]}}],\r\n" +
		"\t\"usage\":{\"total_tokens\":3.0,\"cost\":0.00010},\"created\":1.0e9, \"unknown\":null,\"id\":\"\\u0069d\"}\n",
	"native calls": `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","q":1.0,"function":{"name":"get_weather","arguments":"{ \"city\":1.0}"}}]},"finish_reason":"tool_calls"}]}`,
	"no choices":   `{"choices":[],"usage":null}`,
	"odd content":  `{"choices":[{"message":{"content":[{"type":"text","text":"<tool_call>"}]}},{"message":{}},{"message":null},{}]}`,
	"not a chat":   `{"foo":{"bar":1.0}}`,
}

// oddStreams are streams without markup.
var oddStreams = map[string]string{
	"comments and events": ": hello\n\nevent: message\nid: 7\nretry: 10\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"index\":0}],\"x\":1.0}\n\n" +
		":\n\ndata:{\"choices\":[{\"delta\":{\"content\":\"caf\\u00e9 é \\ud83d\\ude00\",\"q\":[1e400]},\"index\":0,\"finish_reason\":null}], \"seed\":12345678901234567890 }\n\n" +
		": keep-alive\n\n" +
		"data: { \"choices\" : [ {\"delta\" : {} , \"index\":0, \"finish_reason\" : \"stop\"} ] }\n\n" +
		"data: {\"choices\":[],\"usage\":{\"total_tokens\":3.0}}\n\n" + done,
	"CRLF": "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"index\":0}]}\r\n\r\nevent: x\r\ndata: {\"choices\":[{\"delta\":{\"content\":\" you\"},\"index\":0}]}\r\n\r\n" +
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\",\"index\":0}]}\r\n\r\ndata: [DONE]\r\n\r\n",
	"several data lines": "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"Hi\"},\"index\":0}]}\n\n" + finish + done,
	"looks like markup":  delta("a <") + delta(" b, <tool_") + delta("box> and <th") + delta("ing> [TOOL") + delta("_BOX] <") + finish + done,
	"finish beside text": delta("one") + strings.Replace(delta("two <too"), `"finish_reason":null`, `"finish_reason":"length"`, 1) + done,
	"two choices":        delta("one <") + strings.Replace(delta("x <too"), `"index":0`, `"index":1`, 1) + delta(" two") + strings.Replace(finish, `"index":0`, `"index":1`, 1) + finish + done,
	"native calls": "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"arguments\":\"\"}}]}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{ }\"}}]}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n" + done,
}

// TestPassThrough compares every byte on both sides: with parser none, and with
// parser auto where there is no markup.
func TestPassThrough(t *testing.T) {
	t.Parallel()
	for _, parser := range []string{"none", "auto"} {
		for name, body := range oddAnswers {
			t.Run(parser+"/whole/"+name, func(t *testing.T) {
				t.Parallel()
				passes(t, parser, false, "application/json; charset=utf-8", body)
			})
		}
		for name, body := range oddStreams {
			t.Run(parser+"/streamed/"+name, func(t *testing.T) {
				t.Parallel()
				passes(t, parser, true, "text/event-stream; charset=utf-8", body)
			})
		}
	}
}

func passes(t *testing.T, parser string, stream bool, mime, body string) {
	t.Helper()
	requests := make(chan string, 1)
	url := raw(t, func(c *net.TCPConn, request []byte) {
		requests <- string(request)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nX-Ratelimit-Remaining-Requests: 41\r\nX-Request-Id: theirs\r\nOpenai-Processing-Ms: 7\r\n"+
			"Set-Cookie: a=b\r\nServer: s\r\nConnection: close\r\n\r\n", mime)
		io.WriteString(c, body)
	})
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q, api_key: sk-upstream-key, forward_headers: [x-custom], parser: %s}}\n"+
		"models: {nice: {targets: [{provider: up, model: \"Org/Odd \\\"Model\\\"\"}]}}", url, parser))

	r := g.chat(fmt.Sprintf(oddRequest, "nice", stream), "authorization", "Bearer client-key", "cookie", "session=1", "x-api-key", "client-key",
		"openai-organization", "org-1", "x-custom", "Ünicode; a=1", "idempotency-key", "idem-1", "x-request-id", "mine-1", "user-agent", "app/1", "accept", "*/*",
		"x-forwarded-for", "10.0.0.1", "x-callgate-trick", "1")
	equalBytes(t, "answers", r.body, body)
	if r.status != 200 {
		t.Errorf("got status %d, want 200", r.status)
	}
	hasHeader(t, r.header, map[string]string{
		"content-type": mime, "x-ratelimit-remaining-requests": "41", "openai-processing-ms": "7", "x-request-id": "mine-1",
		"x-callgate-upstream-request-id": "theirs", "x-callgate-provider": "up", "set-cookie": "", "server": "",
	})
	checkSent(t, <-requests, fmt.Sprintf(oddRequest, `Org/Odd \"Model\"`, stream))
}

// checkSent checks what the upstream got.
func checkSent(t *testing.T, request, body string) {
	t.Helper()
	head, sent, _ := strings.Cut(request, "\r\n\r\n")
	equalBytes(t, "requests", sent, body)
	lines := strings.Split(head, "\r\n")
	if want := "POST /v1/chat/completions HTTP/1.1"; lines[0] != want {
		t.Errorf("got request line %q, want %q", lines[0], want)
	}
	h := http.Header{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	hasHeader(t, h, map[string]string{
		"authorization": "Bearer sk-upstream-key", "openai-organization": "", "x-custom": "Ünicode; a=1", "idempotency-key": "idem-1",
		"user-agent": "app/1", "accept": "*/*", "content-type": "application/json", "content-length": fmt.Sprint(len(body)),
		"cookie": "", "x-api-key": "", "x-forwarded-for": "", "x-callgate-trick": "", "accept-encoding": "",
	})
	for _, secret := range []string{"client-key", "session=1"} {
		if strings.Contains(request, secret) {
			t.Errorf("got %q in the upstream's request:\n%s", secret, request)
		}
	}
}
