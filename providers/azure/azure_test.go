package azure_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/azure"
	"github.com/callgate/callgate/providers/openai"
	"github.com/callgate/callgate/providers/providertest"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustNew(t testing.TB, c openai.Config, version string) *azure.Provider {
	t.Helper()
	p, err := azure.New(c, version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// It is not parallel: it looks for goroutines that were left.
func TestContract(t *testing.T) {
	for version, url := range map[string]string{
		"":           "/openai/deployments/" + providertest.Model + "/chat/completions?api-version=2024-10-21",
		"2024-06-01": "/openai/deployments/" + providertest.Model + "/chat/completions?api-version=2024-06-01",
		"v1":         "/openai/v1/chat/completions",
	} {
		t.Run("version "+version, func(t *testing.T) {
			wire := providertest.Wire{URL: url, KeyHeader: "Api-Key"}
			providertest.Run(t, wire, func(t *testing.T, s providertest.Settings) gateway.Provider {
				return mustNew(t, openai.Config{
					Name: "test", BaseURL: s.BaseURL, APIKey: s.Key,
					Timeouts: openai.Timeouts{Connect: s.Connect, FirstToken: s.FirstToken, Idle: s.Idle, Total: s.Total},
				}, version)
			})
		})
	}
}

func TestLoop(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "2025-04-01-preview", "v1", "preview"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream=%v", version, stream), func(t *testing.T) {
				t.Parallel()
				s := scripted.Azure(t)
				p := mustNew(t, openai.Config{BaseURL: s.URL, APIKey: scripted.Key}, version)
				scripted.Loop{Provider: p, Model: scripted.Deployment, Stream: stream}.Run(t)
				for _, r := range s.Requests() {
					if strings.Contains(string(r.Body), "client-model") || r.Header.Get("Authorization") != "" {
						t.Errorf("got %s with %v, want the deployment's name and the key in api-key alone", r.Body, r.Header)
					}
				}
			})
		}
	}
}

// TestAddresses has the forms in which users write an endpoint.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, version, want string }{
		{"endpoint", "", "", "/openai/deployments/gpt-4o-prod/chat/completions?api-version=2024-10-21"},
		{"slash", "/", "", "/openai/deployments/gpt-4o-prod/chat/completions?api-version=2024-10-21"},
		{"preview", "/", "preview", "/openai/v1/chat/completions?api-version=preview"},
		{"v1 address", "/openai/v1", "", "/openai/v1/chat/completions"},
		{"v1 address with a slash", "/openai/v1/", "v1", "/openai/v1/chat/completions"},
		{"v1 address, preview", "/openai/v1/", "preview", "/openai/v1/chat/completions?api-version=preview"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := scripted.Azure(t)
			p := mustNew(t, openai.Config{BaseURL: s.URL + tt.path, APIKey: scripted.Key}, tt.version)
			if _, err := ask(t, p, scripted.Deployment, "hi"); err != nil {
				t.Error(err)
			}
			if got := s.Requests()[0].URL; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestRefusals has the answers of Azure's own machinery, which must reach the client
// as they are, but for what is said of the key.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, version, key, deployment, prompt string
		kind                                   gateway.Kind
		status                                 int
		body                                   string
	}{
		{"deployment", "", scripted.Key, "other", "hi", gateway.Rejected, 404, "DeploymentNotFound"},
		{"version", "1999-01-01", scripted.Key, scripted.Deployment, "hi", gateway.Rejected, 400, "API version not supported"},
		{"filter", "", scripted.Key, scripted.Deployment, scripted.FilteredPrompt, gateway.Rejected, 400, `"innererror":{"code":"ResponsibleAIPolicyViolation"`},
		{"key", "", "wrong", scripted.Deployment, "hi", gateway.Unauthorized, 502, ""},
		{"slash in the name", "", scripted.Key, "a/../" + scripted.Deployment, "hi", gateway.Rejected, 404, "Resource not found"},
		{"dots as the name", "", scripted.Key, "..", "hi", gateway.NotFound, 404, ""},
		{"query in the name", "", scripted.Key, scripted.Deployment + "?x=", "hi", gateway.Rejected, 404, "DeploymentNotFound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := mustNew(t, openai.Config{BaseURL: scripted.Azure(t).URL, APIKey: tt.key}, tt.version)
			_, err := ask(t, p, tt.deployment, tt.prompt)
			var e *gateway.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.HTTPStatus() != tt.status || !strings.Contains(string(e.Body), tt.body) {
				t.Errorf("got %+v, want kind %d, status %d and a body with %q", err, tt.kind, tt.status, tt.body)
			}
		})
	}
}

// TestFirstChunk sees that the chunk without choices is passed on.
func TestFirstChunk(t *testing.T) {
	t.Parallel()
	p := mustNew(t, openai.Config{BaseURL: scripted.Azure(t).URL, APIKey: scripted.Key}, "")
	req, err := gateway.ParseRequest([]byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Chat(t.Context(), scripted.Deployment, req)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	frame, err := reply.Next()
	if err != nil || !strings.Contains(string(frame.Data), `"choices":[]`) || !strings.Contains(string(frame.Data), "prompt_filter_results") {
		t.Errorf("got %s, %v, want the chunk with the content filter's results", frame.Data, err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		openai.Config
		version string
	}{
		"base_url:":                           {},
		"base_url: not a URL":                 {Config: openai.Config{BaseURL: "http://u:canary@x:y/"}},
		"base_url: it holds credentials":      {Config: openai.Config{BaseURL: "http://u:canary@x/"}},
		`api_version: "latest" is not a date`: {Config: openai.Config{BaseURL: "http://x"}, version: "latest"},
		`api_version: "2024-10-21&x=" is not`: {Config: openai.Config{BaseURL: "http://x"}, version: "2024-10-21&x="},
		"api_version: base_url ends in":       {Config: openai.Config{BaseURL: "http://x/openai/v1"}, version: "2024-10-21"},
		"api_key: it holds a control":         {Config: openai.Config{BaseURL: "http://x", APIKey: "canary\n"}},
		"timeouts.total: -1ns is negative":    {Config: openai.Config{BaseURL: "http://x", Timeouts: openai.Timeouts{Total: -1}}},
	} {
		_, err := azure.New(c.Config, c.version)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v, want %q and no secret", err, want)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	want := gateway.Needs{Pairs: true, IDs: gateway.ShortID}
	if got := mustNew(t, openai.Config{BaseURL: "http://x"}, "").Needs(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, lists := gateway.Provider(&azure.Provider{}).(gateway.ModelLister); lists {
		t.Error("the provider lists models, want none: Azure's are no deployments")
	}
}

// ask sends a prompt and reads the whole reply.
func ask(t *testing.T, p gateway.Provider, model, prompt string) (string, error) {
	t.Helper()
	req, err := gateway.ParseRequest(fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":%q}]}`, prompt))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Chat(t.Context(), model, req)
	if err != nil {
		return "", err
	}
	defer reply.Close()
	frame, err := reply.Next()
	text := string(frame.Raw)
	if _, end := reply.Next(); end != io.EOF {
		t.Errorf("got %v behind the answer, want EOF", end)
	}
	return text, err
}
