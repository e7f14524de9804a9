package cli

import (
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/providers/anthropic"
	"github.com/callgate/callgate/providers/azure"
	"github.com/callgate/callgate/providers/demo"
	"github.com/callgate/callgate/providers/moonshot"
	"github.com/callgate/callgate/providers/openai"
	"github.com/callgate/callgate/providers/qwen"
)

// newProviders makes the providers. This table is the only place that knows their
// kinds.
func newProviders(cfg *config.Config) (map[string]gateway.Provider, error) {
	kinds := map[string]func(name string, p config.Provider) (gateway.Provider, error){
		"openai": newOpenAI, "azure": newAzure, "qwen": newQwen, "moonshot": newMoonshot, "anthropic": newAnthropic, "demo": newDemo,
	}
	out := map[string]gateway.Provider{}
	for name, p := range cfg.Providers {
		provider, err := kinds[p.Type](name, p)
		if err != nil {
			return nil, fmt.Errorf("provider %q: %w", name, err)
		}
		out[name] = provider
	}
	return out, nil
}

func newOpenAI(name string, p config.Provider) (gateway.Provider, error) {
	return openai.New(openai.Config{
		Name: name, BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Headers: reveal(p.Headers), Server: p.Server,
		Needs: openai.OwnNeeds(), MaxResponse: int64(p.MaxResponse), Timeouts: timeouts(p.Timeouts),
	})
}

func newAzure(name string, p config.Provider) (gateway.Provider, error) {
	return azure.New(azure.Config{
		Name: name, BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), APIVersion: p.APIVersion, Headers: reveal(p.Headers),
		MaxResponse: int64(p.MaxResponse), Timeouts: timeouts(p.Timeouts),
	})
}

func newQwen(name string, p config.Provider) (gateway.Provider, error) {
	return qwen.New(qwen.Config{
		Name: name, BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Headers: reveal(p.Headers),
		MaxResponse: int64(p.MaxResponse), Timeouts: timeouts(p.Timeouts),
	})
}

func newMoonshot(name string, p config.Provider) (gateway.Provider, error) {
	return moonshot.New(moonshot.Config{
		Name: name, BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Headers: reveal(p.Headers),
		MaxResponse: int64(p.MaxResponse), Timeouts: timeouts(p.Timeouts),
	})
}

func newAnthropic(name string, p config.Provider) (gateway.Provider, error) {
	return anthropic.New(anthropic.Config{
		Name: name, BaseURL: p.BaseURL, APIKey: p.APIKey.Reveal(), Headers: reveal(p.Headers), Version: p.APIVersion,
		MaxTokens: p.MaxTokens, MaxResponse: int64(p.MaxResponse), Timeouts: timeouts(p.Timeouts),
	})
}

func newDemo(name string, p config.Provider) (gateway.Provider, error) {
	return demo.New(demo.Config{Name: name, FirstToken: time.Duration(p.Timeouts.FirstToken), Total: time.Duration(p.Timeouts.Total)}), nil
}

func timeouts(t config.Timeouts) openai.Timeouts {
	return openai.Timeouts{
		Connect: time.Duration(t.Connect), FirstToken: time.Duration(t.FirstToken),
		Idle: time.Duration(t.Idle), Total: time.Duration(t.Total),
	}
}

func reveal(secrets map[string]config.Secret) map[string]string {
	out := map[string]string{}
	for key, value := range secrets {
		out[key] = value.Reveal()
	}
	return out
}
