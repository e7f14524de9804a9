package moonshot_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/moonshot"
	"github.com/callgate/callgate/providers/openai"
	"github.com/callgate/callgate/providers/providertest"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustNew(t testing.TB, c openai.Config) *openai.Provider {
	t.Helper()
	p, err := moonshot.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// It is not parallel: it looks for goroutines that were left.
func TestContract(t *testing.T) {
	providertest.Run(t, providertest.OpenAI(), func(t *testing.T, s providertest.Settings) gateway.Provider {
		return mustNew(t, openai.Config{
			Name: "test", BaseURL: s.BaseURL, APIKey: s.Key,
			Timeouts: openai.Timeouts{Connect: s.Connect, FirstToken: s.FirstToken, Idle: s.Idle, Total: s.Total},
		})
	})
}

// TestLoop sees that Kimi's ids come and go as they are.
func TestLoop(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			t.Parallel()
			s := scripted.Moonshot(t)
			p := mustNew(t, openai.Config{BaseURL: s.URL, APIKey: scripted.Key})
			rounds := scripted.Loop{Provider: p, Model: "kimi-k2", Stream: stream}.Run(t)
			for i, want := range []string{"functions.get_weather:0", "functions.get_time:1", "functions.book:2"} {
				if got := append(rounds[0], rounds[1]...)[i].ID; got != want {
					t.Errorf("got id %q, want %q", got, want)
				}
			}
		})
	}
}

// TestForeignID sees why Needs asks for Kimi's form.
func TestForeignID(t *testing.T) {
	t.Parallel()
	s := scripted.Moonshot(t)
	_, err := ask(t, mustNew(t, openai.Config{BaseURL: s.URL, APIKey: scripted.Key}), `{"role":"user","content":"hi"},`+
		`{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},`+
		`{"role":"tool","tool_call_id":"call_1","content":"x"}`)
	var e *gateway.Error
	if !errors.As(err, &e) || e.Kind != gateway.Rejected || !strings.Contains(string(e.Body), "call_1 is not of the form") {
		t.Errorf("got %+v, want Moonshot's refusal of the id", err)
	}
	want := gateway.Needs{Arguments: true, Pairs: true, IDs: gateway.KimiID}
	if got := mustNew(t, openai.Config{}).Needs(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestQuota knows an account without money from a rate limit: both have status 429.
func TestQuota(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]gateway.Kind{
		"exceeded_current_quota_error": gateway.QuotaExceeded,
		"rate_limit_reached_error":     gateway.RateLimited,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprintf(w, `{"error":{"message":"m","type":%q}}`, typ)
		}))
		t.Cleanup(s.Close)
		_, err := ask(t, mustNew(t, openai.Config{BaseURL: s.URL}), `{"role":"user","content":"hi"}`)
		var e *gateway.Error
		if !errors.As(err, &e) || e.Kind != want || (e.RetryAfter == 0) != (want == gateway.QuotaExceeded) {
			t.Errorf("%s: got %+v, want kind %d, and no wait if the quota is spent", typ, err, want)
		}
	}
}

// ask sends messages and returns the first error.
func ask(t *testing.T, p gateway.Provider, messages string) (gateway.Reply, error) {
	t.Helper()
	req, err := gateway.ParseRequest([]byte(`{"model":"m","messages":[` + messages + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return p.Chat(t.Context(), "kimi-k2", req)
}
