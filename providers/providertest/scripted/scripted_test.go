package scripted_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/callgate/callgate/providers/providertest/scripted"
)

// servers are those of this package that speak OpenAI's wire.
func servers() map[string]func(testing.TB) *scripted.Server {
	return map[string]func(testing.TB) *scripted.Server{
		"openai": scripted.OpenAI, "azure": scripted.Azure, "qwen": scripted.Qwen, "moonshot": scripted.Moonshot,
		"text": func(t testing.TB) *scripted.Server { return scripted.Text(t, "hermes") },
	}
}

// TestRefusals has the requests that each vendor refuses, and a part of its words.
func TestRefusals(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/refusals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := bufio.NewScanner(bytes.NewReader(data)); line.Scan(); {
		var c struct {
			Server, Name, Path, Want string
			Header                   map[string]string
			Body                     json.RawMessage
			Status                   int
		}
		if err := json.Unmarshal(line.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", line.Text(), err)
		}
		t.Run(c.Server+"/"+c.Name, func(t *testing.T) {
			t.Parallel()
			s := servers()[c.Server](t)
			header := map[string]string{"Authorization": "Bearer " + scripted.Key}
			for name, value := range c.Header {
				header[name] = value
			}
			status, body := post(t, s.URL+c.Path, header, string(c.Body))
			if status != c.Status || !strings.Contains(body, c.Want) {
				t.Errorf("got %d %s, want %d with %q", status, body, c.Status, c.Want)
			}
			if got := s.Requests(); len(got) != 1 || got[0].Status != status || string(got[0].Body) != string(c.Body) {
				t.Errorf("got the note %+v, want this request and its status", got)
			}
		})
	}
}

// post sends a body as it is.
func post(t *testing.T, url string, header map[string]string, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// TestQuirks sees what each vendor spoils in a stream of parallel calls.
func TestQuirks(t *testing.T) {
	t.Parallel()
	const body = `{"model":"gpt-4o-prod","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}],"tools":` + scripted.Tools + `}`
	header := map[string]string{"Authorization": "Bearer " + scripted.Key, "Api-Key": scripted.Key}
	for _, tt := range []struct {
		server, path string
		has, lacks   []string
	}{
		{"openai", "/chat/completions", []string{`{"index":0,"id":"call_`, `{"index":1,"id":"call_`}, []string{"prompt_filter_results"}},
		{"azure", "/openai/v1/chat/completions", []string{`data: {"choices":[],"created":0`, `"prompt_filter_results"`, `"index":1`, `"content_filter_results"`}, nil},
		{"qwen", "/chat/completions", []string{`"index":0`, `{"index":0,"type":"function","function":{"name":"get_weather"`, `{"index":0,"type":"function","function":{"name":"get_time"`}, []string{`"id":"call_`, `"tool_calls":[{"index":1`}},
		{"moonshot", "/chat/completions", []string{`{"index":0,"id":"functions.get_weather:0"`, `{"index":0,"id":"functions.get_time:1"`}, []string{`"tool_calls":[{"index":1`}},
	} {
		t.Run(tt.server, func(t *testing.T) {
			t.Parallel()
			_, got := post(t, servers()[tt.server](t).URL+tt.path, header, body)
			for _, want := range append(tt.has, `"finish_reason":"tool_calls"`, `"usage":{"prompt_tokens"`, "data: [DONE]\n\n") {
				if !strings.Contains(got, want) {
					t.Errorf("got %s\nwant %s in it", got, want)
				}
			}
			for _, no := range tt.lacks {
				if strings.Contains(got, no) {
					t.Errorf("got %s\nwant no %s in it", got, no)
				}
			}
		})
	}
}

// TestText sees calls that are nothing but text.
func TestText(t *testing.T) {
	t.Parallel()
	s := scripted.Text(t, "hermes")
	status, got := post(t, s.URL+"/chat/completions", map[string]string{"Authorization": "Bearer " + scripted.Key},
		`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":`+scripted.Tools+`}`)
	var answer struct {
		Choices []struct {
			Message      map[string]any
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(got), &answer); err != nil || status != http.StatusOK || len(answer.Choices) != 1 {
		t.Fatalf("got %d %s, want one choice", status, got)
	}
	choice := answer.Choices[0]
	text, _ := choice.Message["content"].(string)
	if strings.Count(text, "<tool_call>") != 2 || !strings.Contains(text, `"name": "get_weather"`) || choice.FinishReason != "stop" {
		t.Errorf("got %s, want two calls as text", got)
	}
	if calls, has := choice.Message["tool_calls"]; has {
		t.Errorf("got the calls %v, want none beside the text", calls)
	}
}
