package config_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestVariableInDefault holds that a default with a variable in it, which ends at the first brace, is refused: what
// is behind that would be a part of the value.
func TestVariableInDefault(t *testing.T) {
	t.Parallel()
	for _, set := range []bool{false, true} {
		env := func(name string) (string, bool) { return "sk-of-the-file", set && name == "FIRST_KEY" }
		c, err := config.Parse("callgate.yaml", []byte("providers: {local: {type: openai, base_url: http://127.0.0.1:8000/v1, api_key: \"${FIRST_KEY:-${SECOND_KEY}}\"}}\n"), env)
		if err == nil {
			t.Errorf("set %v: got the key %q", set, c.Providers["local"].APIKey.Reveal())
		} else if !strings.Contains(err.Error(), "providers.local.api_key: ") || !strings.Contains(err.Error(), "default") {
			t.Errorf("set %v: got %v", set, err)
		}
	}
}
