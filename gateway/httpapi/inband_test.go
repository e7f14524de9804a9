package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/wire"
)

// breaking is a provider whose streams end with an error in their midst.
type breaking struct{ stream string }

func (p breaking) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return &brokenReply{wire.NewReader(strings.NewReader(p.stream), 0)}, nil
}

type brokenReply struct{ blocks *wire.Reader }

func (*brokenReply) Header() http.Header { return http.Header{} }
func (*brokenReply) Streamed() bool      { return true }
func (*brokenReply) Close() error        { return nil }

func (r *brokenReply) Next() (*gateway.Frame, error) {
	b, err := r.blocks.Next()
	if err != nil {
		return nil, err
	}
	return &gateway.Frame{Raw: b.Raw, Data: b.Data}, nil
}

// TestErrorInStream holds that the client of each protocol hears of an error that the upstream sends behind
// the answer's beginning, whatever fields its event has.
func TestErrorInStream(t *testing.T) {
	t.Parallel()
	const begin = `data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"hello"}}]}` + "\n\n"
	const failure = `data: {"error":{"message":"too many","type":"tokens","code":"rate_limit_exceeded"}}` + "\n\n"
	for _, fields := range []string{"", "event: error\n", ": wait\nid: 7\n"} {
		g, err := flow.New(flow.Options{Providers: map[string]gateway.Provider{"p": breaking{begin + fields + failure}}, Routes: map[string][]gateway.Target{"m": {{Provider: "p"}}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := httpapi.New(httpapi.Config{Gateway: g})
		if err != nil {
			t.Fatal(err)
		}
		for path, x := range map[string]struct{ body, want string }{
			"/v1/chat/completions": {`"messages":[{"role":"user","content":"hi"}]`, fields + failure},
			"/v1/messages":         {`"max_tokens":10,"messages":[{"role":"user","content":"hi"}]`, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"too many\"}"},
			"/v1/responses":        {`"input":"hi"`, `"status":"failed","completed_at":null,"error":{"code":"rate_limit_exceeded","message":"too many"}`},
		} {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1"+path, strings.NewReader(`{"model":"m","stream":true,`+x.body+`}`))
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if got, _ := io.ReadAll(w.Body); w.Code != http.StatusOK || !strings.Contains(string(got), "hello") || !strings.Contains(string(got), x.want) {
				t.Errorf("%s behind %q: got %d %s, want %s", path, fields, w.Code, got, x.want)
			}
		}
	}
}
