package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
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

// TestStalledReader holds that a client which asks for something stored, and does not read it, does
// not keep it, and that one whose connection has rested for long is answered.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 30, Entries: 100}})
		if err != nil {
			t.Fatal(err)
		}
		item := store.Item{ID: "msg_1", Body: []byte(`{"id":"msg_1","text":"` + strings.Repeat("x", 1<<20) + `"}`)}
		if err := kept.CreateConversation(t.Context(), "", &store.Conversation{ID: "conv_1", Metadata: []byte("{}")}, []store.Item{item}); err != nil {
			t.Fatal(err)
		}
		service := state.New(state.Options{Store: kept})
		defer service.Close()
		s, err := New(Config{State: service})
		if err != nil {
			t.Fatal(err)
		}
		listener, stop := onPipes(s)
		defer stop()

		deaf := listener.dial()
		defer deaf.Close()
		fmt.Fprint(deaf, "GET /v1/conversations/conv_1/items HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		time.Sleep(2 * s.stall)
		if answer, _ := io.ReadAll(deaf); len(answer) > len(item.Body)/2 {
			t.Errorf("got %d bytes of what was not read for %v, want the connection closed", len(answer), 2*s.stall)
		}

		conn := listener.dial()
		defer conn.Close()
		answers := bufio.NewReader(conn)
		for range 2 {
			fmt.Fprint(conn, "GET /v1/conversations/conv_1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			time.Sleep(s.stall * 3 / 2) // and less than connections may be idle
		}
	})
}

// TestUnreadBody holds that a client whose body nobody reads cannot keep a connection by not sending it:
// net/http reads what is left of it in front of the answer, which needs no key.
func TestUnreadBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		listener, stop := onPipes(s)
		defer stop()
		for _, head := range []string{
			"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 27\r\n\r\n",
			"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 27\r\n\r\n",
			"GET /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
			"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\nContent-Length: 27\r\n\r\n",
		} {
			conn := listener.dial()
			late := time.AfterFunc(time.Hour, func() { conn.Close() })
			if _, err := io.WriteString(conn, head); err != nil {
				t.Fatal(err)
			}
			if answer, err := io.ReadAll(conn); err != nil {
				t.Errorf("%.30q: got %v behind %q, want the connection closed once the body stalls", head, err, answer)
			}
			late.Stop()
			conn.Close()
		}
	})
}

// TestReadBehindBody holds that net/http's read behind a body, which waits for the client to leave, has no
// deadline, also where it comes before the handler has said that the body is read.
func TestReadBehindBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		c := &connection{Conn: far, stall: stalling{limit: stallLimit}}
		defer c.Close()
		c.beginBody()
		go func() {
			_, _ = io.WriteString(near, "body")
			time.Sleep(3 * stallLimit)
			_, _ = io.WriteString(near, "GET")
		}()
		for _, size := range []int{4, 1} {
			if n, err := c.Read(make([]byte, size)); n != size || err != nil {
				t.Errorf("got %d and %v of a read of %d, want no deadline behind the body", n, err, size)
			}
		}
		// net/http ends its read by a deadline, which nobody may take back.
		c.beginBody()
		_ = c.SetReadDeadline(time.Now())
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("got %d bytes, want the read ended", n)
		}
	})
}
