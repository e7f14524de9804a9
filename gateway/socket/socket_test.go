package socket_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/socket"
)

// opened is a WebSocket to Sockets with a handler.
type opened struct {
	*testing.T
	sockets *socket.Sockets
	ws      *websocket.Conn
	memory  *inflight.Budget
	logged  *bytes.Buffer // to read behind Shutdown
}

// open opens one, with more headers, each a name and a value. Its messages have 4 KiB at most.
func open(t *testing.T, h http.HandlerFunc, headers ...string) *opened {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer k"}, "X-Request-Id": {"mine"}}
	for pair := range slices.Chunk(headers, 2) {
		header.Set(pair[0], pair[1])
	}
	logged := new(bytes.Buffer)
	o := &opened{T: t, sockets: socket.New(h, slog.New(slog.NewTextHandler(logged, nil))), memory: inflight.New(1 << 20), logged: logged}
	o.sockets.SetMaxMessage(4 << 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "req_1")
		_ = o.sockets.Accept(w, r, socket.Settings{Path: "/v1/responses", Memory: o.memory, Stopped: func() error { return errStopped }})
	}))
	t.Cleanup(server.Close)
	ws, resp, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	o.ws = ws
	t.Cleanup(func() {
		_ = ws.CloseNow()
		if err := o.sockets.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if taken := o.memory.Stats().Taken; taken != 0 {
			t.Errorf("%d bytes are still claimed", taken)
		}
	})
	return o
}

// errStopped is the cause of the end of requests that a shutdown cuts.
var errStopped = errors.New("stopped")

// send sends a message.
func (o *opened) send(text string) {
	o.Helper()
	if err := o.ws.Write(o.Context(), websocket.MessageText, []byte(text)); err != nil {
		o.Fatal(err)
	}
}

// event is the next event.
func (o *opened) event() string {
	o.Helper()
	_, data, err := o.ws.Read(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	if !json.Valid(data) {
		o.Fatalf("got %s, want JSON", data)
	}
	return string(data)
}

func (o *opened) wants(events ...string) {
	o.Helper()
	for _, want := range events {
		if got := o.event(); got != want {
			o.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// closed is how the connection ends.
func (o *opened) closed() websocket.CloseError {
	o.Helper()
	_, data, err := o.ws.Read(o.Context())
	var e websocket.CloseError
	if !errors.As(err, &e) {
		o.Fatalf("got %s, %v, want the end", data, err)
	}
	return e
}

// streams writes a stream.
func streams(w http.ResponseWriter, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range pieces {
		_, _ = io.WriteString(w, piece)
	}
}

// TestTurns holds what the handler gets of a message, and how its stream comes back.
func TestTurns(t *testing.T) {
	t.Parallel()
	o := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength {
			t.Errorf("got %d bytes of %d, %v", len(body), r.ContentLength, err)
		}
		h := r.Header
		got, _ := json.Marshal(fmt.Sprint(r.Method, " ", r.URL.Path, " ", h.Get("Authorization"), " ", h.Get("Content-Type"), " ", h.Get("X-Request-Id"), h.Get("Upgrade"), h.Get("Sec-Websocket-Key"), " ", string(body)))
		w.Header()["X-Request-Id"], w.Header()["X-Callgate-Provider"], w.Header()["Cache-Control"] = []string{"r1"}, []string{"p"}, []string{"no-store"}
		streams(w, "event: response.created\ndata: {\"type\":\"response.created\",\"got\":"+string(got)+"}\n", "\n: ping\n\nevent: x\nda", "ta: {\"n\":1}\n\n",
			": callgate mode=repair calls=1\n\ndata: {\"type\":\"response.completed\"}\n\ndata: [DONE]\n\n")
	})
	const said = `{"type":"response.created","got":"POST /v1/responses Bearer k application/json  {\"stream\":true%s}"%s,"headers":{"x-callgate-provider":"p","x-request-id":"r1"}}`
	o.send(`{"type":"response.create", "model" : "m","stream":false}`)
	o.wants(fmt.Sprintf(said, `,\"model\":\"m\"`, ""), `{"n":1}`, `{"type":"response.completed","callgate":"mode=repair calls=1"}`)
	o.send(`  {"type":"response.create","stream_id":"a","background":null,"unknown":{"x":[1.0]}}  `)
	o.wants(fmt.Sprintf(said, `,\"unknown\":{\"x\":[1.0]}`, `,"stream_id":"a"`), `{"n":1,"stream_id":"a"}`, `{"type":"response.completed","stream_id":"a","callgate":"mode=repair calls=1"}`)
}

// TestHeaders holds which headers of the handshake each request has: those that belong to it alone are such as real
// clients and browsers send.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, sent, want string }{
		{"Accept", "*/*", "*/*"},
		{"User-Agent", "codex_exec/0.169.0", "codex_exec/0.169.0"},
		{"Traceparent", "00-1-2-01", "00-1-2-01"},
		{"Origin", "http://localhost", "http://localhost"},
		{"Content-Type", "text/plain", "application/json"},
		{"Accept-Encoding", "gzip, deflate", ""},
		{"Cache-Control", "no-cache", ""},
		{"Pragma", "no-cache", ""},
		{"Idempotency-Key", "k", ""},
		{"X-Idempotency-Key", "k", ""},
		{"X-Stainless-Retry-Count", "1", ""},
		{"Openai-Beta", "responses_websockets=2026-02-06", ""},
		{"Openai-Beta", "a=1, responses_websockets=2026-02-06,b", "a=1, b"},
		{"Openai-Beta", "a=1", "a=1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			o := open(t, func(w http.ResponseWriter, r *http.Request) {
				got, _ := json.Marshal(strings.Join(r.Header.Values(row.name), ", "))
				streams(w, "data: {\"got\":"+string(got)+"}\n\n")
			}, row.name, row.sent)
			for range 2 {
				o.send(`{"type":"response.create"}`)
				o.wants(fmt.Sprintf(`{"got":%q,"headers":{}}`, row.want))
			}
		})
	}
}

// TestErrors holds what comes back where there is no stream.
func TestErrors(t *testing.T) {
	t.Parallel()
	o := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "limited"):
			w.Header().Set("retry-after", "3")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"Wait.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`+"\n")
		case strings.Contains(string(body), "panic"):
			panic("defect")
		case strings.Contains(string(body), "page"):
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>")
		case strings.Contains(string(body), "cut"):
			streams(w, "data: {\"n\":1}\n\n")
			panic(http.ErrAbortHandler)
		case strings.Contains(string(body), "whole"):
			streams(w, "data: {\"type\":\"response.completed\"}\n\n")
			panic("defect")
		}
	})
	const broken = `{"type":"error","status":500,"error":{"type":"server_error","code":"internal_error","param":null,"message":"The answer broke off."}}`
	const none = `{"type":"error","status":500,"error":{"type":"server_error","code":"internal_error","param":null,"message":"The request has had no answer."},"headers":{}}`
	longest := strings.Repeat("x", 256)
	for _, row := range [][2]string{
		{`{"type":"response.create","input":"limited"}`, `{"type":"error","status":429,"error":{"message":"Wait.","type":"requests","param":null,"code":"rate_limit_exceeded","headers":{"retry-after":"3"}},"headers":{"retry-after":"3"}}`},
		{`{"type":"response.create","input":"panic"}`, none},
		{`{"type":"response.create","input":"page"}`, none},
		{`{"type":"response.create","input":"nothing"}`, none},
		{`{"type":"response.create","input":"cut"}`, `{"n":1,"headers":{}}`},
		{`{"type":"response.create","input":"whole"}`, `{"type":"response.completed","headers":{}}`},
		{`{"type":"response.create","background":true,"stream_id":"a"}`, `{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"invalid_request","param":"background","message":"Over a WebSocket no response runs in the background: leave background out, or use POST /v1/responses."},"stream_id":"a"}`},
		{`{"type":"response.cancel"}`, `{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"invalid_request","param":"type","message":"The message's type is \"response.cancel\"; it must be \"response.create\"."}}`},
		{`{"type":"response.create","stream_id":7}`, `{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"invalid_request","param":"stream_id","message":"stream_id must be a string of at most 256 bytes."}}`},
		{`{"type":"response.create","input":"nothing","stream_id":"` + longest + `"}`, strings.TrimSuffix(none, `,"headers":{}}`) + `,"stream_id":"` + longest + `","headers":{}}`},
		{`{"type":"response.create","stream_id":"` + longest + `x"}`, `{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"invalid_request","param":"stream_id","message":"stream_id must be a string of at most 256 bytes."}}`},
		{`{"type":"response.steer","previous_response_id":"resp_1","input":"Shorter."}`, `{"type":"response.steer.failed","sequence_number":0,"steer":{"input":"Shorter.","previous_response_id":"resp_1"},"error":{"type":"invalid_request_error","code":"steering_not_supported","message":"Responses cannot be steered here: send the input with the next response.create."}}`},
	} {
		o.send(row[0])
		o.wants(row[1])
		if strings.Contains(row[0], "cut") {
			o.wants(broken)
		}
	}
	const noJSON = `{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"invalid_request","param":null,"message":"The message is not a JSON object: send {\"type\": \"response.create\", …} as text."}}`
	for _, text := range []string{"", "[]", `{"type":"response.create"`, `{"type":"response.create"}{}`, "null"} {
		o.send(text)
		o.wants(noJSON)
	}
	if err := o.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"response.create"}`)); err != nil {
		t.Fatal(err)
	}
	o.wants(noJSON)
	o.send(`{"type":"response.create","input":"` + strings.Repeat("x", 5<<10) + `"}`)
	o.wants(`{"type":"error","status":413,"error":{"type":"invalid_request_error","code":"request_too_large","param":null,"message":"The message is larger than 4096 bytes (limits.body)."}}`)
	if e := o.closed(); e.Code != websocket.StatusMessageTooBig {
		t.Errorf("got the end %v", e)
	}
}

// TestLog holds that what no handler sees stands in the log, and is counted.
func TestLog(t *testing.T) {
	t.Parallel()
	o := open(t, func(w http.ResponseWriter, _ *http.Request) { streams(w, "data: {}\n\n") })
	for _, text := range []string{`{"type":"response.create"}`, "[]", `{"type":"response.create","background":true}`, `{"type":"response.steer"}`} {
		o.send(text)
		o.event()
	}
	_ = o.ws.CloseNow()
	if err := o.sockets.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(o.logged.String()) {
		_, said, _ := strings.Cut(line, "level=")
		got = append(got, strings.TrimSpace(said))
	}
	const begin = `INFO msg="message of a WebSocket refused" connection=req_1 code=`
	if want := []string{
		begin + `invalid_request error="The message is not a JSON object: send {\"type\": \"response.create\", …} as text."`,
		begin + `invalid_request error="Over a WebSocket no response runs in the background: leave background out, or use POST /v1/responses."`,
		begin + `steering_not_supported error="Responses cannot be steered here: send the input with the next response.create."`,
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := o.sockets.Stats().Refused; len(got) != 2 || got["invalid_request"] != 2 || got["steering_not_supported"] != 1 {
		t.Errorf("%v are counted", got)
	}
}

// TestLanes holds that the messages of a lane are answered one after the other, and those of others beside
// them, up to a number.
func TestLanes(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan string, 32), map[string]chan struct{}{}
	for _, name := range []string{"a1", "a2", "b1"} {
		goOn[name] = make(chan struct{})
	}
	o := open(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		begun <- body.Input
		if wait := goOn[body.Input]; wait != nil {
			<-wait
		}
		streams(w, `data: {"of":"`+body.Input+"\"}\n\n")
	})
	o.send(`{"type":"response.create","stream_id":"a","input":"a1"}`)
	o.send(`{"type":"response.create","stream_id":"a","input":"a2"}`)
	if first := <-begun; first != "a1" {
		t.Fatalf("%s begins, want a1", first)
	}
	o.send(`{"type":"response.create","input":"b1"}`)
	if second := <-begun; second != "b1" {
		t.Fatalf("%s begins, want b1: a2 is behind a1", second)
	}
	for range 13 {
		o.send(`{"type":"response.create","stream_id":"a","input":"more"}`)
	}
	o.send(`{"type":"response.create","stream_id":"c","input":"too many"}`)
	o.wants(`{"type":"error","status":429,"error":{"type":"invalid_request_error","code":"too_many_turns","param":null,"message":"This WebSocket has as many requests under way as it may have (16): wait for answers."},"stream_id":"c"}`)
	close(goOn["b1"])
	o.wants(`{"of":"b1","headers":{}}`)
	close(goOn["a1"])
	o.wants(`{"of":"a1","stream_id":"a","headers":{}}`)
	close(goOn["a2"])
	o.wants(`{"of":"a2","stream_id":"a","headers":{}}`)
	for range 13 {
		o.wants(`{"of":"more","stream_id":"a","headers":{}}`)
	}
}

// TestPrepares holds that the handler is told of generate: false.
func TestPrepares(t *testing.T) {
	t.Parallel()
	o := open(t, func(w http.ResponseWriter, r *http.Request) {
		streams(w, fmt.Sprintf("data: {\"prepares\":%t}\n\n", socket.Prepares(r.Context())))
	})
	for text, want := range map[string]string{`,"generate":false`: "true", `,"generate":true`: "false", "": "false",
		`,"generate":true,"prompt_cache_options":{"prewarm":true}`: "true", `,"prompt_cache_options":{"prewarm":false}`: "false",
		`,"prompt_cache_options":null`: "false", `,"prompt_cache_options":[{"prewarm":true}]`: "false"} {
		o.send(`{"type":"response.create"` + text + `}`)
		o.wants(`{"prepares":` + want + `,"headers":{}}`)
	}
}

// TestLeaves holds that a client that leaves ends its requests, and that what waits behind them is not asked: an
// upstream might be paid for it.
func TestLeaves(t *testing.T) {
	t.Parallel()
	begun, over := make(chan struct{}), make(chan struct{})
	o := open(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun) // a second request panics
		<-r.Context().Done()
		close(over)
	})
	o.send(`{"type":"response.create"}`)
	<-begun
	o.send(`{"type":"response.create"}`)
	o.send("[]")
	o.event()
	_ = o.ws.CloseNow()
	<-over
	if err := o.sockets.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	const dropped = `msg="message of a WebSocket dropped" connection=req_1 why="the connection has ended before its turn"`
	if log := o.logged.String(); strings.Count(log, dropped) != 1 || strings.Contains(log, "panic") {
		t.Errorf("got this log: %s", log)
	}
	if got := o.sockets.Stats().Refused["dropped"]; got != 1 {
		t.Errorf("%d dropped messages are counted, want 1", got)
	}
}

// TestShutdown holds that a connection ends behind the answer that is under way, that nothing more is
// answered on it, and that no new one is taken.
func TestShutdown(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan struct{}), make(chan struct{})
	var asked atomic.Int32
	o := open(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		close(begun)
		<-goOn
		streams(w, "data: {\"n\":1}\n\n")
	})
	o.send(`{"type":"response.create"}`)
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- o.sockets.Shutdown(t.Context()) }()
	for { // until it has begun
		err := o.sockets.Accept(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), socket.Settings{})
		if errors.Is(err, socket.ErrBusy) {
			break
		}
	}
	o.send(`{"type":"response.create"}`)
	close(goOn)
	o.wants(`{"n":1,"headers":{}}`)
	if e := o.closed(); e.Code != websocket.StatusGoingAway || e.Reason != "the gateway restarts: connect anew" {
		t.Errorf("got the end %v", e)
	}
	if err := <-ended; err != nil || asked.Load() != 1 {
		t.Errorf("got %v, and %d requests", err, asked.Load())
	}
}

// TestShutdownCuts holds that what still runs at the end of the time is cut, and that the client is told: what had
// its turn, and what waited for it.
func TestShutdownCuts(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	o := open(t, func(w http.ResponseWriter, r *http.Request) {
		streams(w, "data: {\"n\":1}\n\n")
		close(begun)
		<-r.Context().Done()
		if cause := context.Cause(r.Context()); !errors.Is(cause, errStopped) {
			t.Errorf("the cause is %v", cause)
		}
	})
	o.send(`{"type":"response.create"}`)
	<-begun
	o.send(`{"type":"response.create"}`)
	o.send("[]") // behind whose refusal the one before it waits
	o.wants(`{"n":1,"headers":{}}`)
	o.event()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- o.sockets.Shutdown(ctx) }()
	o.wants(`{"type":"error","status":500,"error":{"type":"server_error","code":"internal_error","param":null,"message":"The answer broke off."}}`,
		`{"type":"error","status":503,"error":{"type":"server_error","code":"overloaded","param":null,"message":"The gateway is being stopped."}}`)
	if e := o.closed(); e.Code != websocket.StatusGoingAway {
		t.Errorf("got the end %v", e)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cut", err)
	}
}

// TestShutdownCutsSilent holds that a client that does not answer the close frame is not waited for.
func TestShutdownCutsSilent(t *testing.T) {
	t.Parallel()
	o := open(t, func(http.ResponseWriter, *http.Request) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.sockets.Shutdown(ctx); err != nil || o.sockets.Open() != 0 { // nothing ran that was cut
		t.Errorf("got %v, and %d connections", err, o.sockets.Open())
	}
}

// TestMaxMessage holds that the largest message of an open connection changes.
func TestMaxMessage(t *testing.T) {
	t.Parallel()
	o := open(t, func(w http.ResponseWriter, _ *http.Request) { streams(w, "data: {}\n\n") })
	o.sockets.SetMaxMessage(64 << 10)
	o.send(`{"type":"response.create","input":"` + strings.Repeat("x", 32<<10) + `"}`)
	o.wants(`{"headers":{}}`)
	o.sockets.SetMaxMessage(16 << 10)
	o.send(`{"type":"response.create","input":"` + strings.Repeat("x", 32<<10) + `"}`)
	o.event()
	if e := o.closed(); e.Code != websocket.StatusMessageTooBig {
		t.Errorf("got the end %v", e)
	}
}

// TestMemory holds that a message waits in memory that is counted, and is refused where there is none.
func TestMemory(t *testing.T) {
	t.Parallel()
	o := open(t, func(w http.ResponseWriter, _ *http.Request) { streams(w, "data: {}\n\n") })
	for { // small ones may take the last of it
		other := o.memory.Claim()
		defer other.Close()
		if other.Grow(1<<10) != nil {
			break
		}
	}
	o.send(`{"type":"response.create"}`)
	o.wants(`{"type":"error","status":503,"error":{"type":"server_error","code":"memory_spent","param":null,"message":"The gateway has no memory for a message of this size at the moment: try again later."}}`)
	if e := o.closed(); e.Code != websocket.StatusTryAgainLater {
		t.Errorf("got the end %v", e)
	}
}
