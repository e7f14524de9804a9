package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/keys"
)

func TestSameSite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host   string
		header map[string]string
		keys   map[string]string
		want   int
	}{
		"a program":          {"127.0.0.1:8080", nil, nil, 400},
		"by name":            {"localhost:8080", nil, nil, 400},
		"by IPv6":            {"[::1]:8080", nil, nil, 400},
		"a page from here":   {"localhost:8080", map[string]string{"Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-origin"}, nil, 400},
		"a page from afar":   {"localhost:8080", map[string]string{"Origin": "http://evil.example"}, nil, 403},
		"a page, new":        {"localhost:8080", map[string]string{"Sec-Fetch-Site": "cross-site"}, nil, 403},
		"a name bound to us": {"evil.example:8080", nil, nil, 403},
		"no address":         {"8.8.8.8", nil, nil, 403},
		"with keys":          {"gw.example", nil, map[string]string{"k": "sha256:" + strings.Repeat("0", 64)}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := keys.NewBook(keys.Options{})
			for name, hash := range c.keys {
				book.Configure([]keys.Key{{Name: name, Secrets: []keys.Secret{{Hash: hash}}}}, nil, false)
			}
			s, err := New(Config{Keys: book})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, "http://"+c.host+"/v1/chat/completions", strings.NewReader("{}"))
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, c.want)
			}
		})
	}
}
