package anthropic_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/anthropic"
)

const (
	short = 50 * time.Millisecond // a timer that shall run out
	slow  = 5 * time.Minute       // what takes longer hangs
)

// serve serves every request by h until the test ends.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// hang serves a stream that sends pieces and then waits. left is closed when the
// provider has gone.
func hang(t *testing.T, contentType string, pieces ...string) (url string, started, left chan struct{}) {
	t.Helper()
	started, left = make(chan struct{}), make(chan struct{})
	url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(http.StatusOK)
			io.WriteString(w, strings.Join(pieces, "")) // at once, or a timer might run out in between
			w.(http.Flusher).Flush()
		}
		close(started)
		<-r.Context().Done()
		close(left)
	})
	return url, started, left
}

func wantLeft(t *testing.T, left <-chan struct{}) {
	t.Helper()
	select {
	case <-left:
	case <-time.After(slow):
		t.Error("the upstream did not see the end of the request")
	}
}

// wantError checks an error's class, and that nothing in it holds the key.
func wantError(t *testing.T, err error, kind gateway.Kind, code string, texts ...string) *gateway.Error {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	e := gateway.AsError(err)
	if e.Kind != kind || e.CodeOrDefault() != code {
		t.Errorf("got kind %d, code %q, want %d, %q; error: %v", e.Kind, e.CodeOrDefault(), kind, code, e)
	}
	for _, text := range texts {
		if !strings.Contains(e.Message, text) {
			t.Errorf("got message %q, want it to say %q", e.Message, text)
		}
	}
	var header strings.Builder
	_ = e.Header.Write(&header) // a Builder does not fail
	if strings.Contains(e.Error()+e.Message+string(e.Body)+header.String(), key[:len(key)-4]) {
		t.Errorf("the error quotes the key: %v", e)
	}
	return e
}

const (
	startEvent = `data: {"type":"message_start","message":{"id":"m"}}` + "\n\n"
	pingEvent  = `data: {"type":"ping"}` + "\n\n"
	textEvent  = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}` + "\n\n"
	endEvents  = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
)

// TestCancel checks that the upstream request ends when the client's does. It is not
// parallel: it looks for goroutines that were left behind.
func TestCancel(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("before the header", func(t *testing.T) { cancelChat(t, "") })
	t.Run("in a whole answer", func(t *testing.T) { cancelChat(t, "application/json", wholeAnswer[:9]) })
	for name, end := range map[string]func(cancel func(), reply gateway.Reply){
		"in a stream":   func(cancel func(), _ gateway.Reply) { cancel() },
		"stream closed": func(_ func(), reply gateway.Reply) { reply.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			url, _, left := hang(t, "text/event-stream", startEvent, "data: ha")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			reply, err := connect(t, anthropic.Config{BaseURL: url, APIKey: key}).Chat(ctx, model, request(t, streamBody))
			if err != nil {
				t.Fatal(err)
			}
			defer reply.Close()
			if _, err := reply.Next(); err != nil {
				t.Fatal(err)
			}
			failed := make(chan error, 1)
			go func() {
				_, err := reply.Next()
				failed <- err
			}()
			end(cancel, reply)
			wantLeft(t, left)
			wantError(t, <-failed, gateway.Canceled, "client_closed_request")
		})
	}
}

func cancelChat(t *testing.T, contentType string, pieces ...string) {
	t.Helper()
	url, started, left := hang(t, contentType, pieces...)
	p := connect(t, anthropic.Config{BaseURL: url, APIKey: key})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	req := request(t, plainBody)
	go func() {
		_, err := p.Chat(ctx, model, req)
		failed <- err
	}()
	<-started
	cancel()
	wantLeft(t, left)
	wantError(t, <-failed, gateway.Canceled, "client_closed_request")
}

// TestTimers checks that each timer that runs out is named. Neither the start of the
// message nor a ping is a first token.
func TestTimers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		pieces   []string
		timeouts anthropic.Timeouts
		want     string
	}{
		{"first token", nil, anthropic.Timeouts{FirstToken: short}, "(timeouts.first_token)"},
		{"first token behind the start", []string{startEvent, pingEvent}, anthropic.Timeouts{FirstToken: short, Idle: slow}, "(timeouts.first_token)"},
		{"idle", []string{startEvent, textEvent, pingEvent}, anthropic.Timeouts{FirstToken: slow, Idle: short}, "(timeouts.idle)"},
		{"total", []string{startEvent, textEvent}, anthropic.Timeouts{Total: short}, "(timeouts.total)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for reached := false; !reached; { // a busy machine may take all of the time to connect
				url, started, left := hang(t, "text/event-stream", tt.pieces...)
				_, err := ask(t, connect(t, anthropic.Config{BaseURL: url, APIKey: key, Timeouts: tt.timeouts}), streamBody)
				wantError(t, err, gateway.Timeout, "upstream_timeout", tt.want)
				select {
				case <-started:
					reached = true
					wantLeft(t, left)
				default:
				}
			}
		})
	}
}

// TestConnectionEnds checks streams and whole answers that their connection cuts.
func TestConnectionEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, contentType, text string
		code                    string
		want                    string
	}{
		{"whole", "application/json", wholeAnswer[:20], "upstream_error", "broke off"},
		{"stream early", "text/event-stream", startEvent + pingEvent, "upstream_cut", "before its first chunk"},
		{"stream", "text/event-stream", startEvent + textEvent, "upstream_cut", "in mid-stream"},
		{"stream in an event", "text/event-stream", startEvent + textEvent + "data: {", "upstream_cut", "in mid-stream"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				io.WriteString(w, tt.text)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			_, err := ask(t, connect(t, anthropic.Config{BaseURL: url, APIKey: key}), streamBody)
			wantError(t, err, gateway.Unavailable, tt.code, tt.want)
		})
	}
}

// TestCompressed checks that a stream and a whole answer with gzip are read.
func TestCompressed(t *testing.T) {
	t.Parallel()
	for contentType, text := range map[string]string{"application/json": wholeAnswer, "text/event-stream": startEvent + textEvent + endEvents} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			io.WriteString(z, text)
			z.Close()
			url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				w.Header().Set("Content-Encoding", "gzip")
				w.Write(b.Bytes())
			})
			d, err := ask(t, connect(t, anthropic.Config{BaseURL: url, APIKey: key}), streamBody)
			if err != nil || assemble(t, d).finish != "stop" {
				t.Errorf("got %q, %v, want a whole answer", d.raw, err)
			}
		})
	}
}

// TestUnasked checks that the upstream's content type decides whether the reply is a
// stream.
func TestUnasked(t *testing.T) {
	t.Parallel()
	for _, body := range []string{plainBody, streamBody} {
		for contentType, text := range map[string]string{"application/json": wholeAnswer, "text/event-stream": startEvent + textEvent + endEvents} {
			p := open(t, answering(contentType, strings.NewReader(text)))
			reply, err := p.Chat(t.Context(), model, request(t, body))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := reply.Streamed(), contentType != "application/json"; got != want {
				t.Errorf("%s: got a stream: %v, want %v", contentType, got, want)
			}
			if d := drain(t, reply); d.err != io.EOF {
				t.Errorf("got %v, want the end", d.err)
			}
			reply.Close()
			reply.Close()
		}
	}
}
