package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

func TestFromEnv(t *testing.T) {
	t.Parallel()
	c := config.FromEnv(nil)
	if err := c.Validate(); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	demo := config.Resolved{History: "off", Target: config.Target{
		Provider: "demo", Parser: config.Parsers{"auto"}, Reasoning: "auto", Tools: "native", ToolCalls: "repair",
		OnInvalidCall: "pass", EmptyCompletion: "fail", ToolInReasoning: "buffer",
	}}
	if got := c.ProviderTarget("demo"); !reflect.DeepEqual(got, demo) {
		t.Errorf("got %+v, want %+v", got, demo)
	}
	if got := c.Targets("gpt-4o"); got != nil {
		t.Errorf("got %+v without a key, want none", got)
	}

	c = config.FromEnv(env("OPENAI_API_KEY=" + canary))
	if err := c.Validate(); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	want := []config.Resolved{{History: "repair", Target: config.Target{
		Provider: "openai", Model: "gpt-4o", Parser: config.Parsers{"none"}, Reasoning: "none", Tools: "auto", ToolCalls: "repair",
		OnInvalidCall: "pass", EmptyCompletion: "fail", ToolInReasoning: "buffer",
	}}}
	if got := c.Targets("gpt-4o"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestFromEnvProviders checks what of a vendor's variables ends up where.
func TestFromEnvProviders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, provider, settings string
		baseURL, version         string
		history                  string
	}{
		{
			name: "openai", provider: "openai", settings: "OPENAI_API_KEY=" + canary,
			baseURL: "https://api.openai.com/v1", history: "repair",
		}, {
			name: "openai elsewhere", provider: "openai", settings: "OPENAI_API_KEY=" + canary + " OPENAI_BASE_URL=http://127.0.0.1:1/v1",
			baseURL: "http://127.0.0.1:1/v1", history: "off",
		}, {
			name: "openai said twice", provider: "openai", settings: "OPENAI_API_KEY=" + canary + " OPENAI_BASE_URL=https://api.openai.com/v1/",
			baseURL: "https://api.openai.com/v1/", history: "repair",
		}, {
			name: "azure", provider: "azure", settings: "AZURE_OPENAI_API_KEY=" + canary + " AZURE_OPENAI_ENDPOINT=https://n.openai.azure.com",
			baseURL: "https://n.openai.azure.com", history: "repair",
		}, {
			name: "azure with a version", provider: "azure",
			settings: "AZURE_OPENAI_API_KEY=" + canary + " AZURE_OPENAI_ENDPOINT=https://n.openai.azure.com OPENAI_API_VERSION=2024-10-21",
			baseURL:  "https://n.openai.azure.com", version: "2024-10-21", history: "repair",
		}, {
			name: "qwen", provider: "qwen", settings: "DASHSCOPE_API_KEY=" + canary + " DASHSCOPE_BASE_URL=https://d.example.com/v1",
			baseURL: "https://d.example.com/v1", history: "repair",
		}, {
			name: "qwen at its own", provider: "qwen", settings: "DASHSCOPE_API_KEY=" + canary, history: "repair",
		}, {
			name: "moonshot", provider: "moonshot", settings: "MOONSHOT_API_KEY=" + canary + " MOONSHOT_BASE_URL=https://m.example.com/v1",
			baseURL: "https://m.example.com/v1", history: "repair",
		}, {
			name: "anthropic", provider: "anthropic", settings: "ANTHROPIC_API_KEY=" + canary + " ANTHROPIC_BASE_URL=https://a.example.com",
			baseURL: "https://a.example.com", history: "repair",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := config.FromEnv(env(strings.Fields(test.settings)...))
			if err := c.Validate(); err != nil {
				t.Errorf("got error %v, want none", err)
			}
			if len(c.Providers) != 2 {
				t.Errorf("got %d providers, want the one and demo", len(c.Providers))
			}
			p := c.Providers[test.provider]
			if p.Type != test.provider || p.APIKey.Reveal() != canary || p.BaseURL != test.baseURL || p.APIVersion != test.version {
				t.Errorf("got %+v, want the values of the environment", p)
			}
			if got := c.ProviderTarget(test.provider).History; got != test.history {
				t.Errorf("got history %s, want %s", got, test.history)
			}
			if got := c.Targets("any"); len(got) != 1 || got[0].Provider != test.provider {
				t.Errorf("got %+v for any model, want provider %s", got, test.provider)
			}
		})
	}
}

// TestFromEnvModels checks where models go if there are several vendors.
func TestFromEnvModels(t *testing.T) {
	t.Parallel()
	const (
		openai = "OPENAI_API_KEY=k"
		azure  = "AZURE_OPENAI_API_KEY=k AZURE_OPENAI_ENDPOINT=https://n.openai.azure.com AZURE_OPENAI_DEPLOYMENT=mine"
		others = "DASHSCOPE_API_KEY=k MOONSHOT_API_KEY=k ANTHROPIC_API_KEY=k"
	)
	tests := []struct {
		name, settings, model string
		provider, upstream    string // provider "" for none
	}{
		{"claude", openai + " " + others, "claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"},
		{"kimi", openai + " " + others, "kimi-k2", "moonshot", "kimi-k2"},
		{"moonshot", openai + " " + others, "moonshot-v1-8k", "moonshot", "moonshot-v1-8k"},
		{"qwen", openai + " " + others, "qwen3-max", "qwen", "qwen3-max"},
		{"other to openai", openai + " " + azure + " " + others, "gpt-4o", "openai", "gpt-4o"},
		{"a deployment beside openai", openai + " " + azure, "mine", "azure", "mine"},
		{"other to azure", azure + " " + others, "gpt-4o", "azure", "mine"},
		{"other to the only one", "MOONSHOT_API_KEY=k", "gpt-4o", "moonshot", "gpt-4o"},
		{"other to none of several", others, "gpt-4o", "", ""},
		{"openai without a key", "OPENAI_BASE_URL=http://127.0.0.1/v1", "gpt-4o", "", ""},
		{"an empty key", "OPENAI_API_KEY= MOONSHOT_API_KEY=k", "gpt-4o", "moonshot", "gpt-4o"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := config.FromEnv(env(strings.Fields(test.settings)...))
			if err := c.Validate(); err != nil {
				t.Errorf("got error %v, want none", err)
			}
			got := c.Targets(test.model)
			if test.provider == "" {
				if got != nil {
					t.Errorf("got %+v, want no target", got)
				}
				return
			}
			if len(got) != 1 || got[0].Provider != test.provider || got[0].Model != test.upstream {
				t.Errorf("got %+v, want model %s of %s", got, test.upstream, test.provider)
			}
		})
	}
}

// TestFromEnvWrong checks that an error names the variable.
func TestFromEnvWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, settings, want string
	}{
		{
			"base URL", "OPENAI_API_KEY=k OPENAI_BASE_URL=" + canary,
			`environment: providers.openai.base_url: the value of "${OPENAI_BASE_URL:-https://api.openai.com/v1}" is not an http(s) URL; write for example http://127.0.0.1:8000/v1`,
		}, {
			"key without endpoint", "AZURE_OPENAI_API_KEY=" + canary,
			"environment: providers.azure.base_url: a value is required, and ${AZURE_OPENAI_ENDPOINT} is empty; set it, for example to https://NAME.openai.azure.com",
		}, {
			"endpoint without key", "AZURE_OPENAI_API_KEY= AZURE_OPENAI_ENDPOINT=https://n.openai.azure.com",
			"environment: providers.azure.api_key: ${AZURE_OPENAI_API_KEY} is empty; set it, or unset ${AZURE_OPENAI_ENDPOINT}",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := config.FromEnv(env(strings.Fields(test.settings)...)).Validate()
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}
