package httpapi_test

import (
	"encoding/json"
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

// TestKeyErrors gives each field of a key a wrong value: the answer names the field, repeats the value and says what to write.
func TestKeyErrors(t *testing.T) {
	t.Parallel()
	admin := newKeysAdmin(t, keystest.NewMemory())
	for body, want := range map[string][3]string{ // the parameter, and what the message has: the value and the remedy
		`{"name":" bad "}`:                                                    {"name", `" bad "`, "1 to 64 printable"},
		`{"name":7}`:                                                          {"name", "is 7", "takes a text"},
		`{"name":"a","name":"b"}`:                                             {"name", "twice", "leave one"},
		`{"nme":"a"}`:                                                         {"nme", `"nme"`, `"name"?`},
		`[1]`:                                                                 {"", "is a list", "one JSON object"},
		`{"name":`:                                                            {"", "at byte 8", "one JSON object"},
		`{"name":"a","team":"nope"}`:                                          {"team", `"nope"`, "correct the name"},
		`{"name":"a","models":"gpt"}`:                                         {"models", `"gpt"`, "takes a list of texts"},
		`{"name":"a","models":["x\u0001"]}`:                                   {"models[0]", `"x\\x01\"`, "1 to 256 printable"},
		`{"name":"a","models":["x","x"]}`:                                     {"models[1]", `"x"`, "twice"},
		`{"name":"a","tools":[3]}`:                                            {"tools[0]", "is 3", "takes a text"},
		`{"name":"a","max_tokens":-5}`:                                        {"max_tokens", "-5", "from 1 to 10000000"},
		`{"name":"a","max_tokens":99999999999}`:                               {"max_tokens", "99999999999", "from 1 to 10000000"},
		`{"name":"a","max_tokens":"12"}`:                                      {"max_tokens", `is "12"`, "takes a whole number"},
		`{"name":"a","max_tokens":1.5}`:                                       {"max_tokens", "is 1.5", "takes a whole number"},
		`{"name":"a","cidr":["10.0.0.1/8"]}`:                                  {"cidr[0]", `"10.0.0.1/8"`, "the first address of the network: 10.0.0.0/8"},
		`{"name":"a","cidr":["hello"]}`:                                       {"cidr[0]", `"hello"`, "write for example 10.0.0.0/8"},
		`{"name":"a","expires":"tomorrow"}`:                                   {"expires", `"tomorrow"`, "write for example"},
		`{"name":"a","expires":"2020-01-01"}`:                                 {"expires", "2020-01-01T00:00:00Z is over", "a time to come"},
		`{"name":"a","labels":{"a b":"x"}}`:                                   {"labels.a b", `"a b"`, "1 to 64 characters"},
		`{"name":"a","labels":{"a":"x\u0001"}}`:                               {"labels.a", `"x\\x01\"`, "at most 128"},
		`{"name":"a","labels":{"a":7}}`:                                       {"labels.a", "is 7", "takes a text"},
		`{"name":"a","labels":7}`:                                             {"labels", "is 7", "takes an object"},
		`{"name":"a","arms":["x"]}`:                                           {"arms[0]", `"x"`, "write rollout/arm"},
		`{"name":"a","limits":{"usd":3}}`:                                     {"limits", "is an object", "takes a list"},
		`{"name":"a","limits":[{"usd":-1,"per":"month"}]}`:                    {"limits[0]", "usd: -1", "from 0.000001 to 4500000"},
		`{"name":"a","limits":[{"usd":1e-9,"per":"month"}]}`:                  {"limits[0]", "usd: 0.000000001", "from 0.000001 to 4500000"},
		`{"name":"a","limits":[{"usd":"3","per":"month"}]}`:                   {"limits[0].usd", `is "3"`, "takes a number"},
		`{"name":"a","limits":[{"requests":-3,"per":"1m"}]}`:                  {"limits[0]", "requests: -3", "from 1 to 1000000000"},
		`{"name":"a","limits":[{"requests":3,"per":"month"}]}`:                {"limits[0]", "window such as month", "such as 24h"},
		`{"name":"a","limits":[{"concurrency":3,"per":"1m"}]}`:                {"limits[0]", `per: "1m"`, "leave it out"},
		`{"name":"a","limits":[{"usd":3,"per":"month","burst":4}]}`:           {"limits[0]", "burst: 4", "leave it out"},
		`{"name":"a","limits":[{"requests":3,"per":"1m","on_exceed":"cut"}]}`: {"limits[0]", "on_exceed: cut", "leave it out"},
		`{"name":"a","limits":[{"usd":3,"per":"month","models":["` + strings.Repeat("x", 257) + `"]}]}`: {"limits[0]", `models: \"xxx`, "1 to 256 printable"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/admin/keys", strings.NewReader(body))
		w := httptest.NewRecorder()
		admin.ServeHTTP(w, r)
		var got struct {
			Error struct{ Param, Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusBadRequest {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
			continue
		}
		value := strings.ReplaceAll(strings.ReplaceAll(want[1], `\"`, `"`), `\\`, `\`)
		if e := got.Error; e.Param != want[0] || !strings.Contains(e.Message, value) || !strings.Contains(e.Message, want[2]) || want[0] != "" && !strings.Contains(e.Message, want[0]) {
			t.Errorf("%s: got %q for %q, want %q with %q and %q", body, e.Message, e.Param, want[0], value, want[2])
		}
	}
}
