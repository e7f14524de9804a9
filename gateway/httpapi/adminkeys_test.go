package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/keys/keystest"
)

// newKeysAdmin is an admin server of a gateway whose keys are kept by k. It asks for no operator's key.
func newKeysAdmin(t *testing.T, k keys.Keeper) http.Handler {
	t.Helper()
	book := keys.NewBook(keys.Options{Keeper: k})
	book.Configure(nil, nil, true)
	if err := book.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin, err := httpapi.NewAdmin(httpapi.AdminConfig{Keys: book, Breakers: func() []breaker.Snapshot { return nil }, Reset: func(string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// TestTeamEditedAtTwoGateways changes one team at two gateways with one store: the second one has not
// heard of the first one's change, and must not undo it.
func TestTeamEditedAtTwoGateways(t *testing.T) {
	t.Parallel()
	store := keystest.NewMemory()
	first, second := newKeysAdmin(t, store), newKeysAdmin(t, store)
	send := func(to http.Handler, method, path, body string, want int) string {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
		w := httptest.NewRecorder()
		to.ServeHTTP(w, r)
		if w.Code != want {
			t.Fatalf("%s %s: got %d %s, want %d", method, path, w.Code, w.Body, want)
		}
		return w.Body.String()
	}
	send(first, "POST", "/admin/teams", `{"name":"red","models":["a"],"max_tokens":5}`, http.StatusCreated)
	send(first, "POST", "/admin/keys", `{"name":"app","team":"red"}`, http.StatusCreated)
	send(second, "PATCH", "/admin/teams/red", `{"max_tokens":6}`, http.StatusOK)
	send(first, "PATCH", "/admin/teams/red", `{"models":["b"]}`, http.StatusOK)
	got := send(second, "PATCH", "/admin/teams/red", `{"labels":{"x":"y"}}`, http.StatusOK)
	for _, want := range []string{`"models":["b"]`, `"max_tokens":6`, `"x":"y"`, `"keys":1`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
