package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
)

// asked counts requests for answers.
type asked struct{ records []gateway.Record }

func (a *asked) Begin()                    {}
func (a *asked) End()                      {}
func (a *asked) Request(r *gateway.Record) { a.records = append(a.records, *r) }

// nobody is a gateway that is not asked.
type nobody struct{ httpapi.Chatter }

func (nobody) Chat(context.Context, *gateway.Request) (*gateway.Response, error) {
	return nil, &gateway.Error{Kind: gateway.Unavailable}
}

// TestDetachRefused asks for a response in the background where none is taken any more: the request is
// over with that, and metrics are told of it.
func TestDetachRefused(t *testing.T) {
	t.Parallel()
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 20, Entries: 100}})
	if err != nil {
		t.Fatal(err)
	}
	service := state.New(state.Options{Store: kept, Sealer: responses.NewSealer([]byte("0123456789abcdef0123456789abcdef")), Gateway: nobody{}})
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	metrics := &asked{}
	s, err := httpapi.New(httpapi.Config{Gateway: nobody{}, State: service, Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/v1/responses", strings.NewReader(`{"model":"m","input":"hi","background":true}`))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "being stopped") {
		t.Fatalf("got %d %s, want that the gateway is being stopped", w.Code, w.Body)
	}
	if len(metrics.records) != 1 || metrics.records[0].Code != "overloaded" {
		t.Errorf("metrics were told of %+v, want the one request", metrics.records)
	}
}
