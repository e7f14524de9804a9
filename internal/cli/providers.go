package cli

import (
	"fmt"
	"reflect"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/internal/redact"
	"github.com/callgate/callgate/providers/anthropic"
	"github.com/callgate/callgate/providers/azure"
	"github.com/callgate/callgate/providers/demo"
	"github.com/callgate/callgate/providers/moonshot"
	"github.com/callgate/callgate/providers/openai"
	"github.com/callgate/callgate/providers/qwen"
)

// newProviders makes the providers. Those that previous has with the same settings are its own:
// what is known of them, and their connections, go on. It may be nil.
func newProviders(cfg *config.Config, previous *edition) (map[string]gateway.Provider, error) {
	out := map[string]gateway.Provider{}
	for name, p := range cfg.Providers {
		if previous != nil && reflect.DeepEqual(p, previous.config.Providers[name]) {
			out[name] = previous.providers[name]
			continue
		}
		provider, err := newProvider(name, p)
		if err != nil {
			return nil, fmt.Errorf("provider %q: %w", name, err)
		}
		out[name] = provider
	}
	return out, nil
}

// newProvider makes a provider. It is the only place that knows their kinds.
func newProvider(name string, p config.Provider) (gateway.Provider, error) {
	c := openai.Config{
		Name: name, BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Headers: reveal(p.Headers),
		ForwardHeaders: p.ForwardHeaders, PassHeaders: p.PassHeaders,
		MaxResponse: int64(p.MaxResponse), MaxStream: int64(p.MaxStream), Timeouts: timeouts(p.Timeouts),
	}
	switch p.Type {
	case "azure":
		c.Responses = p.NativeResponses()
		return azure.New(c, p.APIVersion)
	case "qwen":
		return qwen.New(c)
	case "moonshot":
		return moonshot.New(c)
	case "anthropic":
		return anthropic.New(anthropic.Config{
			Name: c.Name, BaseURL: c.BaseURL, APIKey: c.APIKey, Headers: c.Headers,
			ForwardHeaders: c.ForwardHeaders, PassHeaders: c.PassHeaders, Version: p.APIVersion,
			MaxTokens: p.MaxTokens, MaxResponse: c.MaxResponse, MaxStream: c.MaxStream, Timeouts: c.Timeouts,
		})
	case "demo":
		return demo.New(demo.Config{Name: name, FirstToken: c.Timeouts.FirstToken, Whole: c.Timeouts.Whole, Total: c.Timeouts.Total}), nil
	default: // "openai": the configuration has checked it
		c.Server, c.Needs, c.Responses = p.Server, openai.OwnNeeds(), p.NativeResponses()
		return openai.New(c)
	}
}

func timeouts(t config.Timeouts) openai.Timeouts {
	return openai.Timeouts{
		Connect: time.Duration(t.Connect), FirstToken: time.Duration(t.FirstToken),
		Idle: time.Duration(t.Idle), Comments: time.Duration(t.Comments),
		Whole: time.Duration(t.Whole), Total: time.Duration(t.Total),
	}
}

func reveal(secrets map[string]config.Secret) map[string]string {
	out := map[string]string{}
	for key, value := range secrets {
		out[key] = value.Reveal()
	}
	return out
}

// keyDoubt says that the key of a provider is too short to be one, and so is kept out of nothing that is said; "" if
// it is not.
func keyDoubt(p config.Provider) string {
	n := len(p.APIKey.Reveal())
	if n == 0 || n >= redact.Shortest {
		return ""
	}
	return fmt.Sprintf("api_key is too short to be a secret, with %d of at least %d characters, and is not kept out of errors and the log", n, redact.Shortest)
}
