package providertest

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway"
	pieces "github.com/callgate/callgate/gateway/wire"
)

func requestCases(w Wire) []testCase {
	return []testCase{
		{"request body", "The client's bytes arrive as they are, with the upstream's name of the model.", w.requestBody},
		{"request header", "Of the client's header only what every upstream needs travels on.", w.requestHeader},
		{"request announced", "The gateway is told of the body before it goes, and the tools of the request are in it.", announced},
		{"request once", "A request is sent once, also one with an idempotency key.", requestOnce},
		{"redirect", "A redirect is not followed: it would take the key and the body elsewhere.", redirect},
	}
}

// wholeAnswer is an answer of the kind that decoding and encoding again would
// change.
const wholeAnswer = "{ \"id\":\"c\",\"unknown\":{\"z\":1,\"a\":[1.0,2.50,9007199254740993]},\"html\":\"<&>\\u00e9\",\r\n" +
	"\t\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"hi\",\"extra\":null},\"finish_reason\":\"stop\",\"logprobs\":null}]}\n"

func (wire Wire) requestBody(t *testing.T, f Factory) {
	const before, after = `{ "unknown":{"b":1.0,"a":[9007199254740993]},` + "\n" + `"html":"<&>","model" : `,
		` , "messages":[{"role":"user","content":"h\u00e9","x":null}],"stream_options":{"include_usage":true,"y":2}}` + "\n"
	got := make(chan *http.Request, 1)
	var body []byte
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got <- r
		io.WriteString(w, wholeAnswer)
	})
	p := open(t, f, Settings{BaseURL: url})
	if _, err := ask(t, p, request(t, before+`"client-model"`+after)); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if want := before + `"` + Model + `"` + after; string(body) != want {
		t.Errorf("body:\n got %q\nwant %q", body, want)
	}
	if want := "/v1" + wire.URL; r.Method != http.MethodPost || r.URL.String() != want {
		t.Errorf("got %s %s, want POST %s", r.Method, r.URL, want)
	}
	if r.ContentLength != int64(len(body)) || r.TransferEncoding != nil {
		t.Errorf("got content length %d, transfer encoding %v, want %d and none", r.ContentLength, r.TransferEncoding, len(body))
	}
}

func announced(t *testing.T, f Factory) {
	var told, sent []byte
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		io.WriteString(w, wholeAnswer)
	})
	p := open(t, f, Settings{BaseURL: url})
	req := request(t, `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"get_time","parameters":{"type":"object"}}}]}`)
	req.Announced = func(body pieces.Pieces) error { told = body.Join(); return nil }
	if _, err := ask(t, p, req); err != nil {
		t.Fatal(err)
	}
	refused := request(t, `{"model":"m","messages":[]}`)
	refused.Announced = func(pieces.Pieces) error { return &gateway.Error{Kind: gateway.ToolsLost, Message: "no"} }
	if _, err := p.Chat(t.Context(), Model, refused); gateway.AsError(err).Kind != gateway.ToolsLost {
		t.Errorf("got %v for a body that the gateway refuses", err)
	}
	if string(told) != string(sent) || !strings.Contains(string(sent), `"get_time"`) {
		t.Errorf("the gateway was told of %q, and %q was sent", told, sent)
	}
}

func (wire Wire) requestHeader(t *testing.T, f Factory) {
	got := make(chan http.Header, 2)
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		io.WriteString(w, wholeAnswer)
	})
	p := open(t, f, Settings{BaseURL: url})
	req := plainRequest(t)
	req.From.Header = http.Header{
		"Authorization": {"Bearer of-the-client"}, "X-Api-Key": {"of-the-client"}, "Api-Key": {"of-the-client"},
		"Cookie": {"a=of-the-client"}, "Accept-Encoding": {"br"}, "Content-Length": {"1"}, "Host": {"of-the-client"},
		"Connection": {"keep-alive, X-Nominated"}, "X-Nominated": {"of-the-client"}, "Te": {"trailers"},
		"Proxy-Authorization": {"of-the-client"}, "X-Callgate-Route": {"of-the-client"},
		"Openai-Organization": {"of-the-client"}, "Openai-Project": {"of-the-client"}, "X-Custom": {"of-the-client"}, "Range": {"bytes=0-1"},
		"X-Stainless-Os": {"of-the-client"}, "Traceparent": {"00-a-b-01"}, "Tracestate": {"a=b", "c=d"}, "Anthropic-Beta": {"b"}, "Accept": {"text/event-stream"}, "User-Agent": {"client/1"},
		"Content-Type": {"application/json; charset=utf-8"},
	}
	if _, err := ask(t, p, req); err != nil {
		t.Fatal(err)
	}
	h := <-got
	want := http.Header{
		wire.KeyHeader: {wire.KeyScheme + key}, "Traceparent": {"00-a-b-01"}, "Tracestate": {"a=b", "c=d"},
		"Anthropic-Beta": {"b"}, "Accept": {"text/event-stream"}, "User-Agent": {"client/1"}, "Content-Type": {"application/json; charset=utf-8"},
	}
	for name, values := range want {
		if strings.Join(h[name], "|") != strings.Join(values, "|") {
			t.Errorf("%s: got %q, want %q", name, h[name], values)
		}
		delete(h, name)
	}
	delete(h, "Content-Length")
	for name, values := range h {
		t.Errorf("%s: got %q, want it not sent", name, values)
	}

	if _, err := ask(t, p, plainRequest(t)); err != nil {
		t.Fatal(err)
	}
	if got := (<-got).Get("Content-Type"); got != "application/json" {
		t.Errorf("content type without one of the client: got %q, want application/json", got)
	}
}

func requestOnce(t *testing.T, f Factory) {
	var requests atomic.Int32
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if requests.Add(1) == 1 { // so that the second is sent on a connection in use
			io.WriteString(w, wholeAnswer)
			return
		}
		panic(http.ErrAbortHandler)
	})
	p := open(t, f, Settings{BaseURL: url})
	if _, err := ask(t, p, plainRequest(t)); err != nil {
		t.Fatal(err)
	}
	req := plainRequest(t)
	req.From.Header = http.Header{"Idempotency-Key": {"k"}}
	_, err := ask(t, p, req)
	wantError(t, err, gateway.Unavailable, "upstream_error")
	if got := requests.Load() - 1; got != 1 {
		t.Errorf("got %d requests, want 1", got)
	}
}

func redirect(t *testing.T, f Factory) {
	other := listen(t, func(*net.TCPConn) { t.Error("the redirect was followed") })
	for _, status := range []int{301, 302, 303, 307, 308} {
		url := answer(t, status, map[string]string{"Location": "http://" + other + "/v1"}, "")
		_, err := ask(t, open(t, f, Settings{BaseURL: url}), plainRequest(t))
		e := wantError(t, err, gateway.Unavailable, "upstream_error", "redirect")
		if strings.Contains(e.Message, other) {
			t.Errorf("got message %q, want no address of another host", e.Message)
		}
	}
}
