package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
)

// pausing is a provider whose stream pauses before each of its frames but the first.
type pausing struct {
	pause  time.Duration
	frames []string
}

func (p *pausing) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return &pausingReply{pausing: *p}, nil
}

type pausingReply struct {
	pausing
	at int
}

func (r *pausingReply) Header() http.Header { return http.Header{} }
func (r *pausingReply) Streamed() bool      { return true }
func (r *pausingReply) Close() error        { return nil }

func (r *pausingReply) Next() (*gateway.Frame, error) {
	if r.at == len(r.frames) {
		return nil, io.EOF
	}
	if r.at > 0 {
		time.Sleep(r.pause)
	}
	data := r.frames[r.at]
	r.at++
	f := &gateway.Frame{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data)}
	if f.Done = data == "[DONE]"; f.Done {
		f.Data = nil
	}
	return f, nil
}

// TestHeartbeatOutlastsTheLimit holds that a stream with a heartbeat may be silent for longer
// than a client may stall: a client that takes the comments does not stall.
func TestHeartbeatOutlastsTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pausing{time.Hour, []string{
			`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`[DONE]`,
		}}
		g, err := flow.New(flow.Options{Providers: map[string]gateway.Provider{"p": p}, Routes: map[string][]gateway.Target{"m": {{Provider: "p"}}}, Timeout: 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Config{Gateway: g, Heartbeat: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		s.stall = 10 * time.Minute
		listener, stop := onPipes(s)
		defer stop()
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.dial(), nil }}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		for range 2 { // the second comes over the same connection, on which no deadline is left
			resp, err := client.Post("http://localhost/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true}`))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !strings.HasSuffix(string(body), "data: [DONE]\n\n") || strings.Count(string(body), ": ping\n\n") < 100 {
				t.Errorf("got %v behind %q, want the whole stream, with comments in it", err, body)
			}
		}
	})
}
