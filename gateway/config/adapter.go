package config

// adapter is what a type of provider has of its own.
type adapter struct {
	// baseURL is an example of a base URL. Only the type without an upstream has none.
	baseURL string
	// needsURL says that the adapter has no base URL of its own to go to.
	needsURL bool
	// keys are those that only some types take; see special.
	keys []string
	// headers are those that api_key and api_version set.
	keyHeader, versionHeader string
	// history is the default of the key.
	history string
	// tools is the default of the key; "" is native.
	tools string
	// hints are the values of prompt_cache_hints that the type takes, its default first.
	hints []string
}

// adapters are the types of providers, as the enum of [Provider.Type] lists them.
var adapters = map[string]adapter{
	"openai": {
		baseURL: "http://127.0.0.1:8000/v1", needsURL: true, keys: []string{"server", "raw_tool_text", "responses"},
		keyHeader: "Authorization", history: "off", tools: "auto", hints: []string{"none", "key", "marks"},
	},
	"azure": {
		baseURL: "https://NAME.openai.azure.com", needsURL: true, keys: []string{"api_version", "responses"},
		keyHeader: "Api-Key", history: "repair", hints: []string{"key", "none"},
	},
	"qwen": {
		baseURL:   "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
		keyHeader: "Authorization", history: "repair", hints: []string{"none", "key", "marks"},
	},
	"moonshot": {
		baseURL: "https://api.moonshot.ai/v1", keyHeader: "Authorization", history: "repair", hints: []string{"none", "key"},
	},
	"anthropic": {
		baseURL: "https://api.anthropic.com", keys: []string{"api_version", "max_tokens"},
		keyHeader: "X-Api-Key", versionHeader: "Anthropic-Version", history: "repair", hints: []string{"marks", "none"},
	},
	"demo": {history: "off", hints: []string{"none"}},
}
