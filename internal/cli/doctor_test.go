package cli

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctor holds that what is printed for a server is a configuration with which its model
// calls tools.
func TestDoctor(t *testing.T) {
	t.Parallel()
	offers := func(body map[string]any) bool { return body["tools"] != nil }
	for name, row := range map[string]struct {
		refusal, says string
		status        int
		refuses       func(map[string]any) bool
	}{
		"text": {refuses: func(map[string]any) bool { return false }, says: "as text, in the format hermes"},
		"raw": {status: 400, refusal: `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}`,
			refuses: func(b map[string]any) bool { return b["tools"] != nil && b["tool_choice"] != "none" }, says: "asked for its own text"},
		"prompted": {status: 500, refusal: `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, refuses: offers, says: "have to stand in the prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plainServer{status: row.status, refusal: row.refusal, refuses: row.refuses}
			base := upstream(t, func(w http.ResponseWriter, r received) {
				switch r.URL.Path {
				case "/v1/models":
					io.WriteString(w, `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model"}]}`)
				case "/v1/chat/completions":
					p.answer(w, r)
				default:
					http.NotFound(w, r.Request)
				}
			})
			var out, errs bytes.Buffer
			if status := run(t.Context(), []string{"doctor", base}, nil, &out, &errs); status != exitOK || !strings.Contains(out.String(), row.says) {
				t.Fatalf("got status %d, %s%s", status, &out, &errs)
			}
			_, file, found := strings.Cut(out.String(), "\n\n")
			if !found {
				t.Fatalf("there is no configuration in\n%s", &out)
			}
			g := serve(t, file)
			got := g.do(g.request("POST", "/v1/chat/completions", `{"model":"Qwen/Qwen3-8B","messages":[{"role":"user","content":"Weather in Oslo?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`))
			if got.status != http.StatusOK || !strings.Contains(got.body, `"get_weather"`) || strings.Contains(got.body, "<tool_call>") {
				t.Errorf("with\n%s\ngot status %d and %s, want a call", file, got.status, got.body)
			}
			if strings.Contains(got.header.Get("x-callgate-warnings"), "tools_") {
				t.Errorf("got the warnings %q, want none: it is configured", got.header.Get("x-callgate-warnings"))
			}
		})
	}
}

// TestDoctorConfiguration holds that a provider that does not answer is named, and makes the exit
// status 1.
func TestDoctorConfiguration(t *testing.T) {
	t.Parallel()
	good := static(t, 200, "application/json", `{"object":"list","data":[{"id":"m"}]}`)
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	config := "providers:\n  good: {type: openai, base_url: " + good + "}\n  gone: {type: openai, base_url: \"http://127.0.0.1:1/v1\"}\nmodels: {m: {targets: [{provider: good}]}}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"doctor", "-c", file}, nil, &out, &errs)
	if status != exitFailed || !strings.Contains(out.String(), "✓ provider good") || !strings.Contains(out.String(), "✗ provider gone") || !strings.Contains(out.String(), "✓ store") {
		t.Errorf("got status %d,\n%s%s", status, &out, &errs)
	}
	if status := run(t.Context(), []string{"doctor"}, nil, &out, &errs); status != exitUsage {
		t.Errorf("without an argument: got status %d", status)
	}
}
