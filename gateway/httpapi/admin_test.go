package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/sso"
	"github.com/callgate/callgate/internal/logtest"
)

const operatorKey = "open-sesame-1"

func hashOf(key string) string {
	hash := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(hash[:])
}

// station is an admin server with breakers of its own, which notes what was reached.
type station struct {
	*httpapi.Admin
	breakers map[string]*breaker.Breaker
	log      logtest.Buffer

	mu      sync.Mutex
	reached []string
}

func (s *station) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = append(s.reached, what)
}

// took returns what was reached since the last call.
func (s *station) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	reached := s.reached
	s.reached = nil
	return reached
}

func newStation(t *testing.T, keyHash string, names ...string) *station {
	t.Helper()
	s := &station{breakers: map[string]*breaker.Breaker{}}
	for _, name := range names {
		s.breakers[name] = breaker.New(breaker.Settings{Name: name, Failures: 1})
	}
	var err error
	s.Admin, err = httpapi.NewAdmin(httpapi.AdminConfig{
		KeyHash: keyHash,
		Breakers: func() []breaker.Snapshot {
			s.note("breakers")
			var list []breaker.Snapshot
			for _, name := range names {
				list = append(list, s.breakers[name].Snapshot())
			}
			return list
		},
		Reset: func(name string) bool {
			s.note("reset " + name)
			b, ok := s.breakers[name]
			if ok {
				b.Reset("by the operator")
			}
			return ok
		},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			s.note("metrics")
			w.Header().Set("content-type", "text/plain; version=0.0.4")
			fmt.Fprintln(w, "up 1")
		}),
		Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// do sends a request without a socket.
func (s *station) do(method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// errorOf reads OpenAI's error envelope, all of whose keys are there.
func errorOf(t *testing.T, body []byte) (message, code string) {
	t.Helper()
	var envelope struct {
		Error struct {
			Message, Type *string
			Param, Code   json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	e := envelope.Error
	if e.Message == nil || e.Type == nil || e.Param == nil || e.Code == nil {
		t.Fatalf("a key is missing in %s", body)
	}
	return *e.Message, strings.Trim(string(e.Code), `"`)
}

func TestAdminBreakers(t *testing.T) {
	t.Parallel()
	s := newStation(t, "", "anthropic", "local")
	pass, _ := s.breakers["local"].Allow()
	pass.Done(breaker.Failure, "upstream_timeout")

	w := s.do(http.MethodGet, "/admin/breakers", "")
	var list struct{ Breakers []breaker.Snapshot }
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d, %v: %s", w.Code, err, w.Body)
	}
	if len(list.Breakers) != 2 || list.Breakers[0].Name != "anthropic" || list.Breakers[1].State != breaker.Open {
		t.Errorf("got %s, want anthropic closed and local open", w.Body)
	}
	for name, want := range map[string]string{
		"content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}

	w = s.do(http.MethodPost, "/admin/breakers/local/reset", "{}")
	var entry breaker.Snapshot
	if err := json.Unmarshal(w.Body.Bytes(), &entry); err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d, %v: %s", w.Code, err, w.Body)
	}
	if entry.Name != "local" || entry.State != breaker.Closed || entry.History[1].Reason != "by the operator" {
		t.Errorf("got %s, want local closed by the operator", w.Body)
	}
	if !strings.Contains(s.log.String(), "breaker=local") {
		t.Errorf("the reset is not in the log: %s", s.log.String())
	}
}

func TestAdminEmptyList(t *testing.T) {
	t.Parallel()
	s := newStation(t, "")
	if got, want := s.do(http.MethodGet, "/admin/breakers", "").Body.String(), "{\"breakers\":[]}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAdminNames holds that a reset finds the breaker whose name it was given, however
// that has to be written in a path, and no other.
func TestAdminNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"local", "a/b", "..", ".", "100%", "%41", "a b", "ü?#", "reset", "a+b", ":name", "*"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStation(t, "", name, "A")
			for _, escaped := range []string{url.PathEscape(name), escapeAll(name)} {
				w := s.do(http.MethodPost, "/admin/breakers/"+escaped+"/reset", "")
				if got := s.took(); w.Code != http.StatusOK || got[0] != "reset "+name {
					t.Errorf("%s: got %d and %q: %s", escaped, w.Code, got, w.Body)
				}
			}
		})
	}
}

// escapeAll writes every byte as an escape, the least that a path can be misread in.
func escapeAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

func TestAdminErrors(t *testing.T) {
	t.Parallel()
	s := newStation(t, "", "anthropic", "local-vllm", "local-sglang")
	for _, c := range []struct {
		name, method, target, body string
		status                     int
		code, message              string
	}{
		{"a slip", "POST", "/admin/breakers/antropic/reset", "", 404, "breaker_not_found", `Did you mean "anthropic"?`},
		{"another case", "POST", "/admin/breakers/Anthropic/reset", "", 404, "breaker_not_found", `Did you mean "anthropic"?`},
		{"a part", "POST", "/admin/breakers/local/reset", "", 404, "breaker_not_found", `"local-vllm", "local-sglang"?`},
		{"like none", "POST", "/admin/breakers/xxxxxxxxxxxxxxxxxx/reset", "", 404, "breaker_not_found", `"xxxxxxxxxxxxxxxxxx". GET`},
		{"no name", "POST", "/admin/breakers//reset", "", 404, "breaker_not_found", `"". GET`},
		{"a long name", "POST", "/admin/breakers/" + strings.Repeat("local", 2000) + "/reset", "", 404, "breaker_not_found", `local". GET`},
		{"no reset", "POST", "/admin/breakers/local", "", 404, "not_found", "POST /admin/breakers/{name}/reset"},
		{"no path", "GET", "/nope", "", 404, "not_found", "GET /metrics"},
		{"the other listener", "GET", "/v1/models", "", 404, "not_found", "http://127.0.0.1:8080"},
		{"all paths", "GET", "/admin", "", 404, "not_found", "GET /admin/tools, GET /admin/quality, GET /admin/rollouts, GET /admin/usage, GET /admin/plugins, POST /admin/rollouts/{name}/stop, POST /admin/rollouts/{name}/resume"},
		{"a reset by GET", "GET", "/admin/breakers/anthropic/reset", "", 405, "method_not_allowed", ""},
		{"a list by POST", "POST", "/admin/breakers", "", 405, "method_not_allowed", ""},
		{"a body", "POST", "/admin/breakers/anthropic/reset", strings.Repeat("x", 4<<10+1), 413, "request_too_large", "4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := s.do(c.method, c.target, c.body)
			message, code := errorOf(t, w.Body.Bytes())
			if w.Code != c.status || code != c.code || !strings.Contains(message, c.message) {
				t.Errorf("got %d %s, want %d, %s and %q in the message", w.Code, w.Body, c.status, c.code, c.message)
			}
			if len(message) > 500 || w.Header().Get("cache-control") != "no-store" {
				t.Errorf("got %v, %s", w.Header(), w.Body)
			}
		})
	}
	for name, b := range s.breakers {
		if len(b.Snapshot().History) != 0 {
			t.Errorf("%s was reset", name)
		}
	}
}

func TestAdminKey(t *testing.T) {
	t.Parallel()
	s := newStation(t, hashOf(operatorKey), "p")
	for _, c := range []struct {
		name   string
		header []string
		want   int
	}{
		{"the key", []string{"Authorization", "Bearer " + operatorKey}, 200},
		{"the scheme in small letters", []string{"Authorization", "bearer " + operatorKey}, 200},
		{"nothing", nil, 401},
		{"an empty key", []string{"Authorization", "Bearer "}, 401},
		{"no scheme", []string{"Authorization", operatorKey}, 401},
		{"another scheme", []string{"Authorization", "Basic " + operatorKey}, 401},
		{"another key", []string{"Authorization", "Bearer x"}, 401},
		{"the key and more", []string{"Authorization", "Bearer " + operatorKey + "x"}, 401},
		{"the hash", []string{"Authorization", "Bearer " + hashOf(operatorKey)}, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, target := range []string{"GET /metrics", "GET /admin/breakers", "POST /admin/breakers/p/reset"} {
				method, path, _ := strings.Cut(target, " ")
				w := s.do(method, path, "", c.header...)
				if reached := len(s.took()) > 0; w.Code != c.want || reached != (c.want == 200) {
					t.Errorf("%s: got %d, reached %t, want %d", target, w.Code, reached, c.want)
				}
				if c.want == 401 {
					if message, code := errorOf(t, w.Body.Bytes()); code != "invalid_api_key" || !strings.Contains(message, "operator") {
						t.Errorf("%s: got %s", target, w.Body)
					}
				}
			}
		})
	}
	if w := s.do(http.MethodGet, "/livez", ""); w.Code != http.StatusOK || w.Body.String() != "ok\n" {
		t.Errorf("/livez without a key: got %d %q", w.Code, w.Body)
	}
	if w := s.do(http.MethodGet, "/no/such/path", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("an unknown path without a key: got %d, want 401", w.Code)
	}
	if strings.Contains(s.log.String(), operatorKey) {
		t.Errorf("the key is in the log: %s", s.log.String())
	}
}

// TestAdminSameSite holds that no web page reaches an admin server without a key.
func TestAdminSameSite(t *testing.T) {
	t.Parallel()
	s := newStation(t, "", "p")
	for _, c := range []struct {
		name, host, origin string
		want               int
	}{
		{"a program", "127.0.0.1:9090", "", 200},
		{"by name", "localhost:9090", "", 200},
		{"a page from here", "localhost:9090", "http://localhost:9090", 200},
		{"a page from afar", "localhost:9090", "http://evil.example", 403},
		{"a name bound to us", "evil.example:9090", "", 403},
		{"no address of ours", "8.8.8.8", "", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://"+c.host+"/admin/breakers/p/reset", nil)
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if reached := len(s.took()) > 0; w.Code != c.want || reached != (c.want == 200) {
				t.Errorf("got %d %s, reached %t, want %d", w.Code, w.Body, reached, c.want)
			}
		})
	}
}

func TestAdminConfigErrors(t *testing.T) {
	t.Parallel()
	list := func() []breaker.Snapshot { return nil }
	reset := func(string) bool { return false }
	for _, c := range []struct {
		name string
		cfg  httpapi.AdminConfig
	}{
		{"no list", httpapi.AdminConfig{Reset: reset}},
		{"no reset", httpapi.AdminConfig{Breakers: list}},
		{"a key that is no hash", httpapi.AdminConfig{Breakers: list, Reset: reset, KeyHash: operatorKey}},
		{"a short hash", httpapi.AdminConfig{Breakers: list, Reset: reset, KeyHash: "sha256:00"}},
		{"operators who sign in, and no key", httpapi.AdminConfig{Breakers: list, Reset: reset, SSO: &sso.Gate{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := httpapi.NewAdmin(c.cfg); err == nil || strings.Contains(err.Error(), operatorKey) {
				t.Errorf("got %v, want an error without the key", err)
			}
		})
	}
	a, err := httpapi.NewAdmin(httpapi.AdminConfig{Breakers: list, Reset: reset})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/metrics", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("/metrics without a handler: got %d, want 404", w.Code)
	}
}
