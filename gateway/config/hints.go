package config

import (
	"net/url"
	"slices"
	"strings"
)

// Hints returns what a provider can be told about the beginning of a prompt: "none", "key"
// or "marks". It is the provider's own PromptCacheHints, or the default of its type. Of
// type openai only OpenAI itself has a default: other servers may refuse a field that they
// do not know.
func (c *Config) Hints(provider string) string {
	pr := c.Providers[provider]
	if own := pr.PromptCacheHints; own != "" {
		return own
	}
	if pr.Type == "openai" && isOpenAI(pr.BaseURL) {
		return "key"
	}
	if taken := adapters[pr.Type].hints; len(taken) > 0 {
		return taken[0]
	}
	return "none"
}

// isOpenAI reports whether an address is OpenAI's own, of any region.
func isOpenAI(baseURL string) bool {
	u, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	const host = "api.openai.com"
	name := strings.ToLower(u.Hostname())
	return name == host || strings.HasSuffix(name, "."+host)
}

// checkHints refuses what a type's adapter or vendor would not take.
func checkHints(r *report, p path, pr Provider) {
	known, ok := adapters[pr.Type]
	if ok && pr.PromptCacheHints != "" && !slices.Contains(known.hints, pr.PromptCacheHints) {
		r.add(p, "type %s does not take %s; write %s", pr.Type, pr.PromptCacheHints, strings.Join(known.hints, " or "))
	}
}
