package reach

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestAllowed has a row for what a name may lead to.
func TestAllowed(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		url, address string
		private      bool
		says         string
	}{
		{"https://mcp.example/", "93.184.216.34:443", false, ""},
		{"https://mcp.example/", "[2606:2800:220:1::]:443", false, ""},
		{"https://mcp.example/", "127.0.0.1:443", false, "this machine"},
		{"https://mcp.example/", "[::1]:443", false, "this machine"},
		{"https://mcp.example/", "[::ffff:127.0.0.1]:443", false, "this machine"},
		{"https://mcp.example/", "10.1.2.3:443", false, "private network"},
		{"https://mcp.example/", "192.168.0.1:443", false, "private network"},
		{"https://mcp.example/", "100.100.100.200:443", false, "private network"},
		{"https://mcp.example/", "[fd00::1]:443", false, "private network"},
		{"https://mcp.example/", "10.1.2.3:443", true, ""},
		{"https://mcp.example/", "127.0.0.1:443", true, ""},
		{"https://mcp.example/", "169.254.169.254:80", true, "link-local"},
		{"https://mcp.example/", "[fe80::1%eth0]:80", true, "link-local"},
		{"https://mcp.example/", "0.0.0.0:80", true, "link-local or reserved"},
		{"https://mcp.example/", "[::]:80", true, "link-local or reserved"},
		{"https://mcp.example/", "255.255.255.255:80", true, "link-local or reserved"},
		{"https://mcp.example/", "224.0.0.1:80", true, "link-local or reserved"},
		{"https://mcp.example/", "[64:ff9b::a9fe:a9fe]:80", true, "link-local or reserved"},
		{"http://localhost:9/", "127.0.0.1:9", false, ""},
		{"http://app.localhost:9/", "[::1]:9", false, ""},
		{"http://localhost:9/", "10.0.0.1:9", false, "private network"},
		{"http://10.1.2.3/", "10.1.2.3:80", false, ""},
		{"http://169.254.169.254/", "169.254.169.254:80", false, ""},
		{"http://10.1.2.3/", "10.1.2.4:80", false, "not the one in url"},
		{"http://[::1]:9/", "[::1]:9", false, ""},
	} {
		u, err := url.Parse(row.url)
		if err != nil {
			t.Fatal(err)
		}
		err = Options{URL: u, Private: row.private}.allowed(row.address)
		if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s to %s, private %t: got %v, want %q", row.url, row.address, row.private, err, row.says)
		}
	}
}

// TestRedirect has a row for where a redirect may lead.
func TestRedirect(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		from, to, method string
		ok               bool
	}{
		{"https://a.example/x", "https://a.example/y", "POST", true},
		{"https://a.example/x", "https://A.example:443/y", "POST", true},
		{"https://a.example/x", "http://a.example/y", "POST", false},
		{"https://a.example/x", "https://a.example:8443/y", "POST", false},
		{"https://a.example/x", "https://b.example/y", "POST", false},
		{"https://a.example/x", "https://a.example.evil.example/y", "POST", false},
		{"https://a.example/x", "https://a.example/y", "GET", false},
	} {
		from, _ := http.NewRequest("POST", row.from, nil)
		to, _ := http.NewRequest(row.method, row.to, nil)
		if err := Redirect(to, []*http.Request{from}); (err == nil) != row.ok {
			t.Errorf("%s to %s: got %v", row.from, row.to, err)
		}
	}
	req, _ := http.NewRequest("POST", "https://a.example/x", nil)
	if err := Redirect(req, []*http.Request{req, req, req, req}); err == nil {
		t.Error("got no end of redirects")
	}
}
