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

// TestCrossOrigin checks what browsers are told of pages of other origins, in front of a request and with its answer.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	const page, other = "https://app.example", "https://evil.example"
	key := map[string]string{"k": "sha256:" + strings.Repeat("0", 64)}
	for _, tt := range []struct {
		name           string
		origins        []string
		keys           map[string]string
		method, origin string
		status         int
		allowed        string
	}{
		{"nobody is asked about", nil, nil, "OPTIONS", page, 204, ""},
		{"in front", []string{page}, nil, "OPTIONS", page, 204, page},
		{"in front, with keys", []string{page}, key, "OPTIONS", page, 204, page},
		{"in front, any", []string{"*"}, key, "OPTIONS", page, 204, "*"},
		{"in front, another", []string{page}, key, "OPTIONS", other, 204, ""},
		{"asks", []string{page}, nil, "POST", page, 400, page},
		{"has no key", []string{page}, key, "POST", page, 401, page},
		{"another asks", []string{page}, nil, "POST", other, 403, ""},
		{"another asks, with keys", []string{page}, key, "POST", other, 401, ""},
		{"a program", []string{page}, nil, "POST", "", 400, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			book := keys.NewBook(keys.Options{})
			for name, hash := range tt.keys {
				book.Configure([]keys.Key{{Name: name, Secrets: []keys.Secret{{Hash: hash}}}}, nil, false)
			}
			s, err := New(Config{Keys: book, Origins: tt.origins})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(tt.method, "http://localhost:8080/v1/chat/completions", strings.NewReader("{}"))
			r.Header.Set("Access-Control-Request-Headers", "authorization,x-stainless-lang")
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			h := w.Header()
			if w.Code != tt.status || h.Get("Access-Control-Allow-Origin") != tt.allowed || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("got %d, %v, want %d and %q allowed", w.Code, h, tt.status, tt.allowed)
			}
			if headers := h.Get("Access-Control-Allow-Headers"); tt.allowed != "" && tt.method == "OPTIONS" && headers != "authorization,x-stainless-lang" {
				t.Errorf("got the headers %q allowed", headers)
			}
		})
	}
}
