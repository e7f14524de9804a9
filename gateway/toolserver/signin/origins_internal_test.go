package signin

import (
	"net/url"
	"testing"
)

// TestOrigins holds that a token is asked for where the configuration says, and nowhere else: not where a
// server's metadata would have it, be it inside, at a cloud's own service, or without TLS.
func TestOrigins(t *testing.T) {
	t.Parallel()
	parse := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		server, at string
		ok         bool
	}{
		{"https://tools.example/mcp", "https://tools.example/token", true},
		{"https://tools.example/mcp", "https://TOOLS.example:443/token", true},
		{"https://tools.example/mcp", "https://login.example/token", true},
		{"https://tools.example/mcp", "https://login.example:8443/token", false},
		{"https://tools.example/mcp", "http://login.example/token", false},
		{"https://tools.example/mcp", "https://evil.example/token", false},
		{"https://tools.example/mcp", "https://login.example.evil.example/token", false},
		{"https://tools.example/mcp", "http://169.254.169.254/latest", false},
		{"https://tools.example/mcp", "http://127.0.0.1:8081/admin", false},
		{"https://tools.example/mcp", "http://localhost/token", false},
		{"https://tools.example/mcp", "file:///etc/passwd", false},
		{"http://10.0.0.7/mcp", "http://10.0.0.7/token", false},
		{"http://localhost:9000/mcp", "http://127.0.0.1:9001/token", true},
		{"http://localhost:9000/mcp", "http://169.254.169.254/token", false},
	} {
		n := newOrigins(Options{Name: "x", URL: parse(c.server), Origins: []*url.URL{parse("https://login.example")}})
		if err := n.check(parse(c.at)); (err == nil) != c.ok {
			t.Errorf("%s for %s: got %v, want ok=%v", c.at, c.server, err, c.ok)
		}
	}
}
