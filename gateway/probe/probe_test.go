package probe_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/probe"
)

// hermes stands for the parsers.
func hermes(_ context.Context, text, _ string) (parser, tool string) {
	if strings.Contains(text, "<tool_call>") {
		return "hermes", "get_weather"
	}
	return "", ""
}

const (
	call    = `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`
	text    = `{"choices":[{"index":0,"message":{"role":"assistant","content":"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"},"finish_reason":"stop"}]}`
	silence = `{"choices":[{"index":0,"message":{"role":"assistant","content":"I cannot look that up."},"finish_reason":"stop"}]}`
)

// TestAsk asks servers that answer as the sources of real ones have it: the owner of their models,
// the paths beside /v1, and their words against tools.
func TestAsk(t *testing.T) {
	t.Parallel()
	type pages map[string]string // by path; "400 …" has a status
	for name, row := range map[string]struct {
		pages          pages
		software, ver  string
		tools          probe.Tools
		parser, refuse string
		context        int
	}{
		"vLLM with its options": {pages: pages{
			"/v1/models":           `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model","created":1700000000,"owned_by":"vllm","root":"Qwen/Qwen3-8B","parent":null,"max_model_len":40960,"permission":[]}]}`,
			"/version":             `{"version":"0.11.0"}`,
			"/v1/chat/completions": call,
		}, software: "vllm", ver: "0.11.0", tools: probe.Calls, context: 40960},
		"vLLM without": {pages: pages{
			"/v1/models":                `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model","owned_by":"vllm","max_model_len":40960}]}`,
			"/version":                  `{"version":"0.11.0"}`,
			"/v1/chat/completions":      `400 {"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}}`,
			"/v1/chat/completions none": text,
		}, software: "vllm", ver: "0.11.0", tools: probe.Raw, parser: "hermes", context: 40960, refuse: "--enable-auto-tool-choice"},
		"vLLM whose template has no tools": {pages: pages{
			"/v1/models":                `{"object":"list","data":[{"id":"google/gemma-3-4b-it","object":"model","owned_by":"vllm"}]}`,
			"/v1/chat/completions":      `400 {"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}}`,
			"/v1/chat/completions none": silence,
		}, software: "vllm", tools: probe.Refuses, parser: "hermes", refuse: "--enable-auto-tool-choice"},
		"SGLang without a parser": {pages: pages{
			"/v1/models":           `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model","owned_by":"sglang","root":"Qwen/Qwen3-8B","max_model_len":32768}]}`,
			"/get_server_info":     `{"tp_size":1,"model_path":"Qwen/Qwen3-8B","version":"0.5.3"}`,
			"/v1/chat/completions": text,
		}, software: "sglang", ver: "0.5.3", tools: probe.Text, parser: "hermes", context: 32768},
		"llama.cpp without --jinja": {pages: pages{
			"/v1/models":           `{"object":"list","data":[{"id":"qwen3-8b.gguf","object":"model","created":1,"owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":151936,"n_ctx_train":40960}}]}`,
			"/props":               `{"default_generation_settings":{"n_ctx":4096},"total_slots":1,"build_info":"b6500-abcdef"}`,
			"/v1/chat/completions": `500 {"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`,
		}, software: "llama.cpp", ver: "b6500-abcdef", tools: probe.Refuses, parser: "hermes", context: 40960, refuse: "--jinja"},
		"Ollama, a model without tools": {pages: pages{
			"/v1/models":           `{"object":"list","data":[{"id":"gemma3:4b","object":"model","created":1,"owned_by":"library"}]}`,
			"/api/version":         `{"version":"0.12.3"}`,
			"/v1/chat/completions": `400 {"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error","param":null,"code":null}}`,
		}, software: "ollama", ver: "0.12.3", tools: probe.Refuses, parser: "hermes", refuse: "does not support tools"},
		"TGI": {pages: pages{
			"/v1/models":           `{"object":"list","data":[{"id":"meta-llama/Llama-3.1-8B-Instruct","object":"model","created":0,"owned_by":"meta-llama/Llama-3.1-8B-Instruct"}]}`,
			"/info":                `{"model_id":"meta-llama/Llama-3.1-8B-Instruct","version":"3.3.5","sha":"x"}`,
			"/v1/chat/completions": silence,
		}, software: "tgi", ver: "3.3.5", tools: probe.Silent, parser: "llama3_json"},
		"nobody knows": {pages: pages{
			"/v1/models":           `{"data":[{"id":"m"}]}`,
			"/v1/chat/completions": `503 {"error":"loading"}`,
		}, tools: probe.Unknown, refuse: "loading"},
		"no models": {pages: pages{"/v1/models": `{"data":[]}`}, tools: probe.Unknown, refuse: "lists no models"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				path := r.URL.Path
				if strings.Contains(string(body), `"tool_choice":"none"`) {
					path += " none"
				}
				page, ok := row.pages[path]
				if !ok {
					w.WriteHeader(http.StatusNotFound)
					io.WriteString(w, `{"detail":"Not Found"}`)
					return
				}
				if first, rest, _ := strings.Cut(page, " "); len(first) == len("400") {
					status, err := strconv.Atoi(first)
					if err != nil {
						t.Error(err)
					}
					w.WriteHeader(status)
					page = rest
				}
				io.WriteString(w, page)
			}))
			defer s.Close()
			base, err := url.Parse(s.URL + "/v1")
			if err != nil {
				t.Fatal(err)
			}
			p := probe.Prober{HTTP: s.Client(), Base: base, Read: hermes}
			r, err := p.Ask(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if r.Software != row.software || r.Version != row.ver || r.Tools != row.tools || r.Parser != row.parser || r.Context != row.context || !strings.Contains(r.Said, row.refuse) {
				t.Errorf("got %+v, want %+v", *r, row)
			}
		})
	}
}

// TestAskErrors holds that what is no such server is said by what was seen and one remedy, which is the address of the API
// where the server has it at another one.
func TestAskErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		at, there    string // the base URL's path, and the path that has a list of models
		status       int
		body         string
		want, remedy string // %s is the server
	}{
		{"/v1", "", 401, `{"error":{"message":"no"}}`, "wants a key", ""},
		{"/v1", "", 404, `{"detail":"Not Found"}`, "GET %s/v1/models answers with status 404, not with a list of models", "the server runs, but has no OpenAI-compatible API at this address: write the base URL under which it has /models"},
		{"", "/v1/models", 404, `404 page not found`, "GET %s/models answers with status 404", "its API is at %s/v1: write that"},
		{"/v1/chat/completions", "/v1/models", 405, `no`, "GET %s/v1/chat/completions/models answers with status 405", "its API is at %s/v1: write that"},
		{"/v1/models/", "/v1/models", 404, `no`, "GET %s/v1/models/models answers", "its API is at %s/v1: write that"},
		{"/proxy", "/proxy/v1/models", 404, `no`, "GET %s/proxy/models answers", "its API is at %s/proxy/v1: write that"},
		{"/v1", "/models", 404, `no`, "GET %s/v1/models answers", "its API is at %s: write that"},
		{"", "/v1/models", 200, `<html>`, "GET %s/models answers with status 200 and no list of models", "its API is at %s/v1: write that"},
		{"/v1", "", 200, `<html>`, "GET %s/v1/models answers with status 200 and no list of models", "the server runs, but has no OpenAI-compatible API at this address"},
		{"/v1", "", 503, `{"error":{"message":"Loading model"}}`, "GET %s/v1/models answers with status 503: Loading model", "the server fails, or loads its model yet: see its log, and ask again"},
		{"/v1", "", 429, `slow down`, "GET %s/v1/models answers with status 429, not with a list of models", "the server asks to wait: try again later"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == row.there {
				io.WriteString(w, `{"data":[{"id":"m"}]}`)
				return
			}
			w.WriteHeader(row.status)
			io.WriteString(w, row.body)
		}))
		base, err := url.Parse(s.URL + row.at)
		if err != nil {
			t.Fatal(err)
		}
		p := probe.Prober{HTTP: s.Client(), Base: base, Read: hermes}
		_, err = p.Ask(t.Context(), "")
		if want := strings.ReplaceAll(row.want, "%s", s.URL); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "?") {
			t.Errorf("%s, status %d: got %v, want %q in it", row.at, row.status, err, want)
		}
		var no *probe.NoAPIError
		if errors.As(err, &no) != (row.remedy != "") {
			t.Errorf("%s, status %d: got %#v", row.at, row.status, err)
		} else if want := strings.ReplaceAll(row.remedy, "%s", s.URL); no != nil && !strings.HasPrefix(no.Remedy(), want) {
			t.Errorf("%s, status %d: got the remedy %q, want %q", row.at, row.status, no.Remedy(), want)
		}
		s.Close()
	}
}
