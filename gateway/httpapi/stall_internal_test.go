package httpapi

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
)

// endless is a provider whose streams have no end; ended tells that one was closed.
type endless struct{ ended chan struct{} }

func (e *endless) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return e, nil
}
func (e *endless) Header() http.Header { return http.Header{} }
func (e *endless) Streamed() bool      { return true }

func (e *endless) Next() (*gateway.Frame, error) {
	return &gateway.Frame{Raw: bytes.Repeat([]byte(": wait\n\n"), 1<<12)}, nil
}

func (e *endless) Close() error {
	close(e.ended)
	return nil
}

// TestStalledClient holds that a client which neither reads its answer nor sends its
// body does not keep a connection, while one that is only slow does.
func TestStalledClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		upstream := &endless{make(chan struct{})}
		g, err := flow.New(flow.Options{Providers: map[string]gateway.Provider{"p": upstream}, Routes: map[string][]gateway.Target{"m": {{Provider: "p"}}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Config{Gateway: g})
		if err != nil {
			t.Fatal(err)
		}
		listener, stop := onPipes(s)
		defer stop()
		send := func(pieces ...string) net.Conn {
			conn := listener.dial()
			for i, piece := range pieces {
				if i > 0 {
					time.Sleep(s.stall / 2)
				}
				if _, err := io.WriteString(conn, piece); err != nil {
					t.Fatal(err)
				}
			}
			return conn
		}
		const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 27\r\n\r\n"

		began := time.Now()
		half := send(head, `{"model":`)
		defer half.Close()
		if answer, err := io.ReadAll(half); err != nil || time.Since(began) > 2*s.stall {
			t.Errorf("a connection whose body stalled stays open for %v: %v behind %q", time.Since(began), err, answer)
		}
		deaf := send(head, `{"model":`, `"m",`, `"stream"`, `:true}`) // and reads nothing
		defer deaf.Close()
		began = time.Now()
		<-upstream.ended
		if took := time.Since(began); took > s.stall {
			t.Errorf("an answer that nobody reads goes on for %v", took)
		}
	})
}
