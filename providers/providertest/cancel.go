package providertest

import (
	"context"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

func cancelCases() []testCase {
	return []testCase{
		{"client leaves before the header", "The upstream request ends with the client's, before an answer.", leaveEarly},
		{"client leaves while a whole answer is pending", "The upstream request ends with the client's, within an answer.", leaveWhole},
		{"client leaves a stream", "The upstream request ends with the client's, while a chunk is awaited.", leaveStream},
		{"stream closed", "Close ends the upstream request, also while a chunk is awaited.", closeStream},
		{"stream closed unread", "Close ends the upstream request of a stream that nobody read, and may be repeated.", closeUnread},
	}
}

// wantLeft checks that the upstream, which goes on without end, sees the end of the request.
func wantLeft(t *testing.T, left <-chan struct{}) {
	t.Helper()
	select {
	case <-left:
	case <-time.After(slow):
		t.Errorf("the upstream's request goes on %v after its end", slow)
	}
}

func leaveChat(t *testing.T, f Factory, contentType string, pieces ...string) {
	t.Helper()
	url, started, left := hang(t, contentType, pieces...)
	p := open(t, f, Settings{BaseURL: url})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	req := plainRequest(t)
	go func() {
		_, err := p.Chat(ctx, Model, req)
		failed <- err
	}()
	<-started
	cancel()
	wantLeft(t, left)
	wantError(t, <-failed, gateway.Canceled, "client_closed_request")
}

func leaveEarly(t *testing.T, f Factory) { leaveChat(t, f, "") }

func leaveWhole(t *testing.T, f Factory) { leaveChat(t, f, "application/json", wholeAnswer[:9]) }

func leaveStream(t *testing.T, f Factory) {
	url, _, left := hang(t, "text/event-stream", "data: "+chunk1+"\n\n", "data: half")
	ctx, cancel := context.WithCancel(t.Context())
	reply := chat(ctx, t, open(t, f, Settings{BaseURL: url}), streamRequest(t))
	if _, err := reply.Next(); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := reply.Next()
		failed <- err
	}()
	cancel()
	wantLeft(t, left)
	wantError(t, <-failed, gateway.Canceled, "client_closed_request")
}

func closeStream(t *testing.T, f Factory) {
	url, _, left := hang(t, "text/event-stream", "data: "+chunk1+"\n\n")
	reply := chat(t.Context(), t, open(t, f, Settings{BaseURL: url}), streamRequest(t))
	if _, err := reply.Next(); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := reply.Next()
		failed <- err
	}()
	reply.Close()
	wantLeft(t, left)
	wantError(t, <-failed, gateway.Canceled, "client_closed_request")
}

func closeUnread(t *testing.T, f Factory) {
	url, _, left := hang(t, "text/event-stream", "data: "+chunk1+"\n\n")
	reply := chat(t.Context(), t, open(t, f, Settings{BaseURL: url}), streamRequest(t))
	reply.Close()
	wantLeft(t, left)
	reply.Close()
}
