package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

func TestLoop(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			t.Parallel()
			s := scripted.OpenAI(t)
			p := mustNew(t, openai.Config{BaseURL: s.URL, APIKey: scripted.Key})
			scripted.Loop{Provider: p, Model: "gpt-4o", Stream: stream}.Run(t)
		})
	}
}

// TestModelInPath sees that a model's name stays one element of the path, whatever
// stands in it.
func TestModelInPath(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.RequestURI
		io.WriteString(w, "{}")
	})
	p := mustNew(t, openai.Config{BaseURL: url + "?v=1", ChatPath: "models/{model}/chat"})
	for model, want := range map[string]string{
		"m":               "/v1/models/m/chat?v=1",
		"a/b":             "/v1/models/a%2Fb/chat?v=1",
		"../../x":         "/v1/models/..%2F..%2Fx/chat?v=1",
		"é ?#%2e&{model}": "/v1/models/%C3%A9%20%3F%23%252e&%7Bmodel%7D/chat?v=1",
		"...":             "/v1/models/.../chat?v=1",
	} {
		if _, err := p.Chat(t.Context(), model, mustRequest(t, false)); err != nil {
			t.Fatalf("%q: %v", model, err)
		}
		if uri := <-got; uri != want {
			t.Errorf("%q: got %s, want %s", model, uri, want)
		}
	}
	for _, model := range []string{"", ".", ".."} {
		_, err := p.Chat(t.Context(), model, mustRequest(t, false))
		if e := gateway.AsError(err); err == nil || e.Kind != gateway.NotFound || e.Param != "model" {
			t.Errorf("%q: got %v, want Kind NotFound", model, err)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		config openai.Config
		want   gateway.Needs
	}{
		{"any upstream", openai.Config{}, gateway.Needs{}},
		{"OpenAI", openai.Config{Needs: openai.OwnNeeds()}, gateway.Needs{Pairs: true, IDs: gateway.ShortID}},
		{"a server with templates", openai.Config{Server: openai.VLLM}, gateway.Needs{Arguments: true}},
		{"both", openai.Config{Server: openai.SGLang, Needs: gateway.Needs{IDs: gateway.KimiID}}, gateway.Needs{Arguments: true, IDs: gateway.KimiID}},
	} {
		tt.config.BaseURL = "http://x"
		if got := mustNew(t, tt.config).Needs(); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
