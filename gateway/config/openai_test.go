package config_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestAddressOpenAI: type openai with a key and no address is OpenAI itself, and nothing else is.
func TestAddressOpenAI(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ provider, base, problem string }{
		{provider: "{type: openai, api_key: k}", base: "https://api.openai.com/v1"},
		{provider: "{type: openai, api_key: k, base_url: http://a/v1}", base: "http://a/v1"},
		{provider: "{type: openai}", problem: "set api_key alone for OpenAI itself"},
		{provider: `{type: openai, api_key: k, base_url: "${NOWHERE:-}"}`, problem: "NOWHERE"},
		{provider: "{type: azure, api_key: k}", problem: "a value is required"},
	} {
		c, err := config.Parse("c.yaml", []byte("providers: {p: "+row.provider+"}\nmodels: {m: {targets: [{provider: p}]}}\n"), nil)
		switch {
		case row.problem != "":
			if err == nil || !strings.Contains(err.Error(), row.problem) {
				t.Errorf("%s: got the error %v, want %q in it", row.provider, err, row.problem)
			}
		case err != nil:
			t.Errorf("%s: %v", row.provider, err)
		case c.Providers["p"].BaseURL != row.base || row.base == "https://api.openai.com/v1" && c.Hints("p") != "key":
			t.Errorf("%s: got %q and hints %q", row.provider, c.Providers["p"].BaseURL, c.Hints("p"))
		}
	}
}
