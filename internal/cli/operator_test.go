package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestOperatorVariables holds that all commands find the operator's listener by the same variables, and that
// the one of serve, which is an address to listen on, is none of them.
func TestOperatorVariables(t *testing.T) {
	var paths []string
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path+" "+r.Header.Get("authorization"))
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"message":"Not here."}}`))
	}))
	defer admin.Close()
	t.Setenv("CALLGATE_ADMIN", "127.0.0.1:1")
	t.Setenv("CALLGATE_ADMIN_URL", admin.URL)
	t.Setenv("CALLGATE_ADMIN_KEY", "op")
	for line, want := range map[string]string{"key list": "Not here.", "team list": "Not here.", "usage": "keeps no ledger"} {
		if status, _, stderr := command(t, "", strings.Fields(line)...); status != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%s: got status %d and %q, want %q", line, status, stderr, want)
		}
	}
	for _, path := range paths {
		if !strings.HasPrefix(path, "/admin/") || !strings.HasSuffix(path, " Bearer op") {
			t.Errorf("got %q, want a path of the admin API with the key", path)
		}
	}
	if len(paths) != 3 {
		t.Errorf("got %q, want three requests", paths)
	}
}
