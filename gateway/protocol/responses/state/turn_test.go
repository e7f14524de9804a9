package state_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/wire"
)

// head is a reply of which the writer asks what it is.
type head struct{ gateway.Reply }

func (head) Header() http.Header { return nil }
func (head) Streamed() bool      { return false }

// turns plays turns beside an upstream: a request is read, and its answer written.
type turns struct {
	service *state.Service
	answer  []byte
}

// newTurns are turns of a store, of which each is answered with a text. The test's end closes the store.
func newTurns(tb testing.TB, in store.Store, text string) *turns {
	tb.Helper()
	s := state.New(state.Options{Store: in, Sealer: responses.NewSealer(nil), MaxChain: 10})
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &turns{s, fmt.Appendf(nil, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},`+
		`"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`, text)}
}

// play plays one.
func (t *turns) play(tb testing.TB, body []byte) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	defer cancel()
	f, err := t.service.Parse(ctx, body, protocol.Client{})
	if err != nil {
		tb.Fatal(err)
	}
	w := f.Writer(&gateway.Response{Reply: head{}, Summary: &gateway.Summary{}})
	if _, err := w.Whole(&wire.Frame{Raw: t.answer, Data: t.answer, Whole: true}); err != nil {
		tb.Fatal(err)
	}
}
