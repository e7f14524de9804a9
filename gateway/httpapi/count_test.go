package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/httpapi"
)

// countless is a gateway whose upstreams count no tokens.
type countless struct{ httpapi.Chatter }

func (countless) Relay(context.Context, *gateway.Request, *gateway.Relay, bool) (*gateway.Response, error) {
	return nil, &gateway.Error{Kind: gateway.NotFound, Message: "The upstream counts no tokens."}
}

// TestCountTraceEnds has the tokens of a request counted: the span that was begun for the upstream's
// count is ended, once, though nobody has asked for an answer.
func TestCountTraceEnds(t *testing.T) {
	t.Parallel()
	begun, ended := 0, 0
	s, err := httpapi.New(httpapi.Config{Gateway: countless{}, Trace: func(ctx context.Context, _ http.Header, _, protocol string) (context.Context, func(gateway.Record)) {
		if begun++; protocol != "messages/count_tokens" {
			t.Errorf("got a span of %q", protocol)
		}
		return ctx, func(gateway.Record) { ended++ }
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/v1/messages/count_tokens", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"input_tokens"`) {
		t.Errorf("got %d %s, want an estimate", w.Code, w.Body)
	}
	if got := w.Header().Get("x-callgate-warnings"); got != "tokens_estimated" {
		t.Errorf("got the warnings %q, want it said that this is an estimate", got)
	}
	if begun != 1 || ended != 1 {
		t.Errorf("got %d spans begun and %d ended, want one", begun, ended)
	}
}
