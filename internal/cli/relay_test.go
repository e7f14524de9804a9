package cli

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// relays is a configuration whose model m is called real at the upstream.
func relays(base string, more string) string {
	return fmt.Sprintf(`
providers:
  up: {type: openai, base_url: %q, api_key: sk-upstream, retry: {max_retries: 2, base_delay: 1ms}}
models:
  m: {targets: [{provider: up, model: real}]}
%s`, base, more)
}

// TestRelay holds that every endpoint beside chat takes a request to the target of its model,
// byte for byte but for the model's name, and its answer back.
func TestRelay(t *testing.T) {
	t.Parallel()
	const odd = " { \"zzz\":[1.0,12345678901234567890,\"\\u00e9\\/\"],\r\n \"model\" : \"%s\" ,\"input\":[\"a\",\"b\"],\"stream\":false }\n"
	audio := strings.Repeat("\x00\xff\x01RIFF", 50_000)
	for _, row := range []struct{ path, kind, answer string }{
		{"embeddings", "application/json", `{ "data":[{"embedding":[1.0,1e-7]}],"usage":{"prompt_tokens":7,"total_tokens":7} }` + "\n"},
		{"completions", "application/json", `{"choices":[{"text":"x"}]}`},
		{"completions", "text/event-stream", "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n"},
		{"moderations", "application/json", `{"results":[]}`},
		{"rerank", "application/json; charset=utf-8", `{"results":[{"index":0,"relevance_score":0.50}]}`},
		{"audio/speech", "audio/mpeg", audio},
		{"images/generations", "application/json", `{"data":[{"b64_json":"` + strings.Repeat("QUJD", 100_000) + `"}]}`},
	} {
		t.Run(row.path+" "+row.kind, func(t *testing.T) {
			t.Parallel()
			got := make(chan received, 1)
			base := upstream(t, func(w http.ResponseWriter, r received) {
				got <- r
				w.Header().Set("content-type", row.kind)
				io.WriteString(w, row.answer)
			})
			g := serve(t, relays(base, ""))
			out := g.do(g.request("POST", "/v1/"+row.path+"?a=b", fmt.Sprintf(odd, "m")))
			if out.status != http.StatusOK || out.body != row.answer || out.err != nil || out.header.Get("content-type") != row.kind {
				t.Errorf("got status %d, %v, %q and %.300q, want the upstream's answer", out.status, out.err, out.header, out.body)
			}
			r := <-got
			if want := fmt.Sprintf(odd, "real"); r.body != want || r.URL.Path != "/v1/"+row.path || r.URL.RawQuery != "a=b" || r.Header.Get("authorization") != "Bearer sk-upstream" {
				t.Errorf("the upstream got %s %q %q, want the client's body", r.URL, r.Header, r.body)
			}
			if p := out.header.Get("x-callgate-provider"); p != "up" {
				t.Errorf("the header says provider %q", p)
			}
		})
	}
}

// TestRelayForm holds that the model of a form is found wherever it stands, and that all else
// of the form arrives as it was.
func TestRelayForm(t *testing.T) {
	t.Parallel()
	got := make(chan received, 1)
	base := upstream(t, func(w http.ResponseWriter, r received) {
		got <- r
		w.Header().Set("content-type", "text/plain; charset=utf-8")
		io.WriteString(w, "hello\n")
	})
	g := serve(t, relays(base, ""))
	for name, size := range map[string]int{"short": 10, "longer than memory": 3 << 20} {
		file := bytes.Repeat([]byte("\r\n--x\x00"), size/6)
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, _ := w.CreateFormFile("file", "a.wav")
		part.Write(file)
		w.WriteField("response_format", "text")
		w.WriteField("model", "m")
		w.Close()
		out := g.do(g.request("POST", "/v1/audio/transcriptions", form.String(), "content-type", w.FormDataContentType()))
		if out.status != http.StatusOK || out.body != "hello\n" {
			t.Fatalf("%s: got status %d and %q", name, out.status, out.body)
		}
		r := <-got
		if want := strings.Replace(form.String(), "\r\n\r\nm\r\n", "\r\n\r\nreal\r\n", 1); r.body != want || r.ContentLength != int64(len(want)) {
			t.Errorf("%s: the upstream got %d bytes, want %d, the client's but for the model", name, len(r.body), len(want))
		}
	}
	for name, body := range map[string]string{
		"no model":   "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n1\r\n--b--\r\n",
		"two models": "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nn\r\n--b--\r\n",
		"no end":     "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n",
		"no form":    "hello",
	} {
		out := g.do(g.request("POST", "/v1/images/edits", body, "content-type", "multipart/form-data; boundary=b"))
		if out.status != http.StatusBadRequest || !strings.Contains(out.body, "form") {
			t.Errorf("%s: got status %d and %s, want 400", name, out.status, out.body)
		}
	}
}

// TestRelayRetries holds that a failure before the answer is tried again, that one in it
// reaches the client as a broken connection, and that another model's vectors take nobody's
// place.
func TestRelayRetries(t *testing.T) {
	t.Parallel()
	var asked, others atomic.Int32
	base := upstream(t, func(w http.ResponseWriter, r received) {
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, `{"usage":{"prompt_tokens":5,"total_tokens":5}}`)
		case 3:
			w.Header().Set("content-type", "audio/mpeg")
			send(w, "half")
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	other := upstream(t, func(w http.ResponseWriter, _ received) { others.Add(1) })
	config := relays(base, "  mixed: {targets: [{provider: up, model: small}, {provider: other, model: large}]}\n")
	g := serve(t, strings.Replace(config, "providers:\n", fmt.Sprintf("providers:\n  other: {type: openai, base_url: %q}\n", other), 1))
	out := g.do(g.request("POST", "/v1/embeddings", `{"model":"m","input":"x"}`))
	if out.status != http.StatusOK || out.header.Get("x-callgate-attempts") != "2" {
		t.Errorf("got status %d and %q, want an answer of the second attempt", out.status, out.header)
	}
	if out = g.do(g.request("POST", "/v1/audio/speech", `{"model":"m","input":"x"}`)); out.err == nil || out.body != "half" {
		t.Errorf("got %q and %v, want half an answer and an error", out.body, out.err)
	}
	if out = g.do(g.request("POST", "/v1/embeddings", `{"model":"mixed","input":"x"}`)); out.status != http.StatusServiceUnavailable || others.Load() != 0 {
		t.Errorf("got status %d, and %d requests to another model, want 503 and none", out.status, others.Load())
	}
}

// TestPassthroughPaths holds that a path of the configuration goes to its provider, and no
// other does.
func TestPassthroughPaths(t *testing.T) {
	t.Parallel()
	got := make(chan received, 1)
	base := upstream(t, func(w http.ResponseWriter, r received) {
		got <- r
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"id":"file-1"}`)
	})
	g := serve(t, relays(base, "passthrough: {/v1/files: up}\n"))
	for _, row := range []struct{ method, path, body string }{
		{"POST", "/v1/files", "some bytes"}, {"GET", "/v1/files?limit=2", ""}, {"DELETE", "/v1/files/file-1", ""}, {"GET", "/v1/files/file-1/content", ""},
	} {
		out := g.do(g.request(row.method, row.path, row.body))
		if out.status != http.StatusCreated || out.body != `{"id":"file-1"}` {
			t.Fatalf("%s %s: got status %d and %q", row.method, row.path, out.status, out.body)
		}
		if r := <-got; r.Method != row.method || r.URL.RequestURI() != row.path || r.body != row.body {
			t.Errorf("the upstream got %s %s %q, want %v", r.Method, r.URL, r.body, row)
		}
	}
	for _, path := range []string{
		"/v1/batches", "/v1/files/../chat", "/v1/files/%2e%2e/x", "/v1/files/a%2fb", "/v1/files/%2E%2E/x", "/v1/files/.%2E/x", "/v1/files/%2E/x", "/v1/files/a%2Fb",
		"/v1/files/..;/x", "/v1/files/%2E%2E%3Ba/x", "/v1/files/a%00b", "/v1/files//x", "/v1/files/a%5Cb", "/v1//files", "/v1/files/", "/v1/files/x/%2e%2E",
	} {
		out := g.do(g.request("GET", path, ""))
		select {
		case r := <-got:
			t.Errorf("%s: the upstream got %s", path, r.RequestURI)
		default:
		}
		if out.status != http.StatusNotFound && out.status != http.StatusBadRequest {
			t.Errorf("%s: got status %d and %q, want an error", path, out.status, out.body)
		}
	}
	if out := g.get("/v1/batches"); !strings.Contains(out.body, "passthrough: {/v1/batches: PROVIDER}") {
		t.Errorf("got %s, want an error that names the way", out.body)
	}
	if out := g.do(g.request("POST", "/chat/completions", "{}")); !strings.Contains(out.body, "OPENAI_BASE_URL") {
		t.Errorf("got %s, want an error that names the setting", out.body)
	}
}

// TestRelayIsSeen holds that what is sent on shows like any other request: the status of the
// upstream's answer, the provider, its breaker, and the protocol in the metrics.
func TestRelayIsSeen(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	base := upstream(t, func(w http.ResponseWriter, _ received) {
		if asked.Add(1) == 1 {
			w.Header().Set("content-type", "application/json")
			w.WriteHeader(http.StatusAccepted)
			io.WriteString(w, `{}`)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	g := serve(t, relays(base, "passthrough: {/v1/files: up}\nadmin: {listen: \"127.0.0.1:0\"}\n"))
	out := g.do(g.request("POST", "/v1/images/generations", `{"model":"m","prompt":"x"}`))
	if out.status != http.StatusAccepted || out.header.Get("x-callgate-overhead-ms") == "" || out.header.Get("x-callgate-provider") != "up" {
		t.Errorf("got status %d and %v, want the upstream's 202", out.status, out.header)
	}
	if out = g.get("/v1/files"); out.status != http.StatusBadGateway && out.status != http.StatusInternalServerError || out.header.Get("x-callgate-attempts") != "1" {
		t.Errorf("got status %d and %v, want the failure of one attempt", out.status, out.header)
	}
	scrape := g.adminDo("GET", "/metrics").body
	for _, want := range []string{
		`callgate_client_requests_total{protocol="images/generations"} 1`,
		`callgate_client_requests_total{protocol="passthrough"} 1`,
		`callgate_upstream_attempts_total{outcome="upstream_error",provider="up",reason="first"} 1`,
	} {
		if !strings.Contains(scrape, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	if t.Failed() {
		t.Log(scrape)
	}
}
