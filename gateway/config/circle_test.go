package config_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestCheckCircle holds that an upstream's address is refused where the gateway itself listens there, and
// nowhere else.
func TestCheckCircle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		listen, base string
		circle       bool
	}{
		{"127.0.0.1:8080", "http://127.0.0.1:8080/v1", true},
		{"127.0.0.1:8080", "http://localhost:8080/v1", true},
		{"127.0.0.1:8080", "http://LOCALHOST:8080", true},
		{"localhost:8080", "http://127.0.0.1:8080/v1", true},
		{"[::1]:8080", "http://[::1]:8080/v1", true},
		{":8080", "http://127.0.0.1:8080/v1", true},
		{"0.0.0.0:8080", "http://localhost:8080/v1", true},
		{"0.0.0.0:8080", "http://0.0.0.0:8080/v1", true},
		{"127.0.0.1:8080", "http://127.0.0.1:8000/v1", false},
		{"127.0.0.1:8080", "http://127.0.0.2:8080/v1", false},
		{"127.0.0.1:8080", "http://[::1]:8080/v1", false},
		{"0.0.0.0:8080", "http://10.0.0.7:8080/v1", false},
		{":8080", "http://vllm:8080/v1", false},
		{"127.0.0.1:80", "http://127.0.0.1/v1", true},
		{"127.0.0.1:0", "http://127.0.0.1:0/v1", false},
	} {
		c := config.FromEnv(func(string) (string, bool) { return "", false })
		c.Listen = tt.listen
		c.AddUpstream("upstream", config.Upstream{URL: tt.base})
		err := c.CheckCircle()
		if (err != nil) != tt.circle {
			t.Errorf("listen %s, base_url %s: got %v, want a circle: %v", tt.listen, tt.base, err, tt.circle)
		}
		if err != nil && !strings.Contains(err.Error(), "providers.upstream.base_url: ") {
			t.Errorf("the error does not name the key: %v", err)
		}
	}
}

// TestCheckCircleOfVariable holds that the variable is named where the app's address is in the gateway's
// environment.
func TestCheckCircleOfVariable(t *testing.T) {
	t.Parallel()
	c := config.FromEnv(func(name string) (string, bool) {
		v, ok := map[string]string{"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"}[name]
		return v, ok
	})
	err := c.CheckCircle()
	for _, want := range []string{"OPENAI_BASE_URL", `"http://127.0.0.1:8080/v1"`, "unset the variable"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %s", err, want)
		}
	}
}
