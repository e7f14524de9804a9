package providertest

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

func replyCases() []testCase {
	return []testCase{
		{"whole answer", "A whole answer is one frame of exactly the upstream's bytes.", wholeExact},
		{"whole answer header", "Of the upstream's header ids, limits and what is OpenAI's own come back.", replyHeader},
		{"whole answer large", "An answer of 10 MB comes back as it is.", wholeLarge},
		{"whole answer slow", "An answer that comes byte by byte is the same answer.", wholeSlow},
		{"whole answer to a streamed request", "The upstream's content type decides whether the reply is a stream.", wholeThoughStreamed},
		{"answer that is no JSON", "An answer that is not a JSON object is unusable.", notJSON},
		{"compressed answer", "An answer with gzip is decoded, one with an unknown coding is refused.", compressed},
	}
}

func wantWhole(t *testing.T, reply gateway.Reply, want string) {
	t.Helper()
	if reply.Streamed() {
		t.Error("got a stream, want a whole answer")
	}
	got := drain(reply)
	if got.err != io.EOF || got.done || len(got.data) != 1 {
		t.Errorf("got %d data, end marker %v, error %v, want one and EOF", len(got.data), got.done, got.err)
	}
	if got.raw != want || strings.Join(got.data, "") != want {
		t.Errorf("raw\n got %.200q\nwant %.200q", got.raw, want)
	}
	if _, err := reply.Next(); err != io.EOF {
		t.Errorf("Next behind the end: got %v, want EOF", err)
	}
}

func wholeExact(t *testing.T, f Factory) {
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8", "text/plain", ""} {
		p := open(t, f, Settings{BaseURL: answer(t, 200, map[string]string{"Content-Type": contentType}, wholeAnswer)})
		wantWhole(t, chat(t.Context(), t, p, plainRequest(t)), wholeAnswer)
	}
}

func replyHeader(t *testing.T, f Factory) {
	pass := map[string]string{
		"Content-Type": "application/json", "X-Request-Id": "r", "Openai-Processing-Ms": "5", "Openai-Organization": "o",
		"X-Ratelimit-Remaining-Tokens": "9", "Retry-After": "1", "Retry-After-Ms": "900", "X-Should-Retry": "false",
		"Anthropic-Ratelimit-Tokens-Limit": "7",
	}
	drop := map[string]string{
		"Set-Cookie": "a=b", "Server": "s", "Alt-Svc": "h3", "Strict-Transport-Security": "max-age=1", "X-Callgate-Model": "m",
		"Access-Control-Allow-Origin": "*", "Keep-Alive": "timeout=5", "Connection": "X-Ratelimit-Nominated", "X-Ratelimit-Nominated": "n",
		"X-Unknown": "u", "X-Accel-Redirect": "/", "Location": "/", "Cache-Control": "public", "X_ratelimit_limit": "1",
	}
	all := map[string]string{}
	for _, m := range []map[string]string{pass, drop} {
		maps.Copy(all, m)
	}
	p := open(t, f, Settings{BaseURL: answer(t, 200, all, wholeAnswer)})
	h := chat(t.Context(), t, p, plainRequest(t)).Header()
	for name, want := range pass {
		if got := h.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		h.Del(name)
	}
	for name, values := range h {
		t.Errorf("%s: got %q, want it kept back", name, values)
	}
}

func wholeLarge(t *testing.T, f Factory) {
	want := `{"content":"` + strings.Repeat("x", 10<<20) + `"}`
	p := open(t, f, Settings{BaseURL: answer(t, 200, map[string]string{"Content-Type": "application/json"}, want)})
	wantWhole(t, chat(t.Context(), t, p, plainRequest(t)), want)
}

func wholeSlow(t *testing.T, f Factory) {
	url := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := range wholeAnswer {
			io.WriteString(w, wholeAnswer[i:i+1])
			w.(http.Flusher).Flush()
		}
	})
	wantWhole(t, chat(t.Context(), t, open(t, f, Settings{BaseURL: url}), plainRequest(t)), wholeAnswer)
}

func wholeThoughStreamed(t *testing.T, f Factory) {
	p := open(t, f, Settings{BaseURL: answer(t, 200, map[string]string{"Content-Type": "application/json"}, wholeAnswer)})
	wantWhole(t, chat(t.Context(), t, p, streamRequest(t)), wholeAnswer)
}

func notJSON(t *testing.T, f Factory) {
	for _, tt := range []struct {
		contentType, body string
		status            int
		want              string
	}{
		{"text/html", "<html>welcome</html>", 200, "not JSON"},
		{"", "", 204, "not JSON"},
		{"application/json", "", 200, "not valid JSON"},
		{"application/json", wholeAnswer[:len(wholeAnswer)-4], 200, "not valid JSON"},
		{"application/json", `"a string"`, 200, "not valid JSON"},
		{"application/json", `{"a":1}{"b":2}`, 200, "not valid JSON"},
		{"application/vnd.x+json", `[1]`, 200, "not valid JSON"},
	} {
		p := open(t, f, Settings{BaseURL: answer(t, tt.status, map[string]string{"Content-Type": tt.contentType}, tt.body)})
		_, err := ask(t, p, plainRequest(t))
		wantError(t, err, gateway.Unavailable, "upstream_error", tt.want)
	}
}

func compressed(t *testing.T, f Factory) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, wholeAnswer)
	z.Close()
	header := map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}

	reply := chat(t.Context(), t, open(t, f, Settings{BaseURL: answer(t, 200, header, b.String())}), plainRequest(t))
	wantWhole(t, reply, wholeAnswer)
	if got := reply.Header().Get("Content-Encoding"); got != "" {
		t.Errorf("content encoding of a decoded answer: got %q, want none", got)
	}

	_, err := ask(t, open(t, f, Settings{BaseURL: answer(t, 200, header, b.String()[:b.Len()-9])}), plainRequest(t))
	wantError(t, err, gateway.Unavailable, "upstream_error")

	header["Content-Encoding"] = "br"
	_, err = ask(t, open(t, f, Settings{BaseURL: answer(t, 200, header, "x")}), plainRequest(t))
	wantError(t, err, gateway.Unavailable, "upstream_error", `"br"`)
}
