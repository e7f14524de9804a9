package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/httpapi"
)

// paper is a console that says what it was asked.
type paper struct{ asked []string }

func (p *paper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked = append(p.asked, r.Method+" "+r.URL.Path)
	if r.URL.Path == "/ui/panic" {
		panic("a page")
	}
	w.WriteHeader(http.StatusOK)
}

func (p *paper) Refuse(w http.ResponseWriter, _ *http.Request, status int, message string) {
	w.Header().Set("x-refused", message)
	w.WriteHeader(status)
}

func newPaper(t *testing.T, keyHash string) (*httpapi.Admin, *paper) {
	t.Helper()
	p := &paper{}
	a, err := httpapi.NewAdmin(httpapi.AdminConfig{KeyHash: keyHash, Console: p,
		Breakers: func() []breaker.Snapshot { return nil }, Reset: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	return a, p
}

// visit sends a request as a browser on another machine does, which has no TLS: without
// Sec-Fetch headers, unless they are given.
func visit(a *httpapi.Admin, method, host, path, password string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(""))
	if password != "" {
		r.SetBasicAuth("anybody", password)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// TestConsoleGuard holds who reaches the page: with a key who has it, as a password;
// without one who sits at the machine; and never what another page sent.
func TestConsoleGuard(t *testing.T) {
	t.Parallel()
	const key, lan, local = operatorKey, "10.0.0.5:8081", "localhost:8081"
	for name, c := range map[string]struct {
		keyed                        bool
		method, host, path, password string
		header                       []string
		status                       int
	}{
		"no key":                         {true, "GET", lan, "/ui", "", nil, 401},
		"a wrong key":                    {true, "GET", lan, "/ui", "open-sesame-2", nil, 401},
		"no key, no page":                {true, "GET", lan, "/ui/nothing", "", nil, 401},
		"no key, a form":                 {true, "POST", lan, "/ui/playground", "", nil, 401},
		"a bearer":                       {true, "GET", lan, "/ui", "", []string{"authorization", "Bearer " + key}, 401},
		"the key":                        {true, "GET", lan, "/ui", key, nil, 200},
		"the key, deeper":                {true, "GET", lan, "/ui/assets/console.css", key, nil, 200},
		"the key, a form":                {true, "POST", lan, "/ui/playground", key, []string{"origin", "http://" + lan}, 200},
		"the key, same origin":           {true, "POST", local, "/ui/playground", key, []string{"sec-fetch-site", "same-origin"}, 200},
		"the key, another site":          {true, "POST", lan, "/ui/breakers/reset", key, []string{"sec-fetch-site", "cross-site"}, 403},
		"the key, another port":          {true, "POST", lan, "/ui/breakers/reset", key, []string{"origin", "http://10.0.0.5:9999"}, 403},
		"the key, no origin at all":      {true, "POST", lan, "/ui/breakers/reset", key, []string{"origin", "null"}, 403},
		"the key, a link from elsewhere": {true, "GET", lan, "/ui", key, []string{"sec-fetch-site", "cross-site"}, 200},
		"keyless":                        {false, "GET", local, "/ui", "", nil, 200},
		"keyless, a form":                {false, "POST", local, "/ui/playground", "", []string{"origin", "http://" + local}, 200},
		"keyless, another site":          {false, "POST", local, "/ui/playground", "", []string{"origin", "http://evil.example"}, 403},
		"keyless, another name":          {false, "GET", "evil.example:8081", "/ui", "", nil, 403},
		"keyless, no page":               {false, "GET", "evil.example:8081", "/ui/x", "", nil, 403},
		"a page that panics":             {false, "GET", local, "/ui/panic", "", nil, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hash := ""
			if c.keyed {
				hash = hashOf(operatorKey)
			}
			a, p := newPaper(t, hash)
			w := visit(a, c.method, c.host, c.path, c.password, c.header...)
			if w.Code != c.status {
				t.Errorf("got status %d, want %d", w.Code, c.status)
			}
			if reached := len(p.asked) > 0; reached != (c.status == 200 || c.status == 500) {
				t.Errorf("got %q asked of the page with status %d", p.asked, w.Code)
			}
			asks := w.Header().Get("www-authenticate")
			if want := `Basic realm="callgate", charset="UTF-8"`; (asks == want) != (c.status == 401) {
				t.Errorf("got www-authenticate %q with status %d", asks, w.Code)
			}
			if refused := w.Header().Get("x-refused"); (refused == "") != (c.status == 200) || strings.Contains(refused, key) {
				t.Errorf("got the refusal %q with status %d, want one as a page", refused, w.Code)
			}
		})
	}
}

// TestConsolePasswordElsewhere holds that what a browser sends by itself opens nothing
// but the page.
func TestConsolePasswordElsewhere(t *testing.T) {
	t.Parallel()
	a, p := newPaper(t, hashOf(operatorKey))
	for _, path := range []string{"/admin/breakers", "/metrics", "/uix", "/UI", "/%75i/../admin/breakers"} {
		if w := visit(a, "GET", "localhost", path, operatorKey); w.Code != http.StatusUnauthorized || w.Header().Get("www-authenticate") != "Bearer" {
			t.Errorf("%s: got %d %s, want 401 and Bearer", path, w.Code, w.Header().Get("www-authenticate"))
		}
	}
	if len(p.asked) > 0 {
		t.Errorf("got %q asked of the page", p.asked)
	}
	b, err := httpapi.NewAdmin(httpapi.AdminConfig{Breakers: func() []breaker.Snapshot { return nil }, Reset: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	if w := visit(b, "GET", "localhost", "/ui", ""); w.Code != http.StatusNotFound {
		t.Errorf("got %d without a page, want 404", w.Code)
	}
}
