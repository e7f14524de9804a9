package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// rawChat is a chat request as bytes.
func rawChat(body string) string {
	return fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// TestClientLeavesBehindSurplus has clients send something behind their body and then leave, in
// every way there is: the upstream, which would wait without end, sees it each time.
func TestClientLeavesBehindSurplus(t *testing.T) {
	t.Parallel()
	surplus := map[string]string{
		"a byte": "x", "a line end": "\r\n", "half a request": "GET /livez HT", "a request": "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
		"a chat": rawChat(prompt("up/m", "again", false)), "a megabyte": strings.Repeat("x", 1<<20), "large chats": strings.Repeat(rawChat(prompt("up/m", strings.Repeat("x", 200_000), false)), 20),
	}
	leaves := map[string]func(c *net.TCPConn){
		"closes":         func(c *net.TCPConn) { c.Close() },
		"resets":         func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"closes writing": func(c *net.TCPConn) { c.CloseWrite() }, // as net/http takes it
	}
	type asked struct{ here, left chan struct{} }
	var cases sync.Map // of asked, by the model's name
	g := serve(t, fmt.Sprintf("{heartbeat: 0s, providers: {up: {type: openai, base_url: %q}}}", upstream(t, func(w http.ResponseWriter, r received) {
		var req struct{ Model string }
		json.Unmarshal([]byte(r.body), &req)
		found, _ := cases.Load(req.Model)
		a, ok := found.(asked)
		if !ok {
			t.Errorf("got a request for %q, want none", req.Model)
			return
		}
		if strings.HasSuffix(req.Model, "begun") {
			w.Header().Set("content-type", events)
			send(w, delta("Hello"))
		}
		close(a.here)
		<-r.Context().Done()
		close(a.left)
	})))
	for what, bytes := range surplus {
		for how, leave := range leaves {
			for _, kind := range []string{"whole", "stream", "stream begun"} {
				name := fmt.Sprintf("%s/%s/%s", what, how, kind)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					a := asked{make(chan struct{}), make(chan struct{})}
					cases.Store(name, a)
					c := g.dial(t)
					io.WriteString(c, rawChat(prompt("up/"+name, "hi", kind != "whole")))
					<-a.here
					go io.WriteString(c, bytes)
					time.Sleep(20 * time.Millisecond) // so that the gateway has read the first of them
					leave(c)
					select {
					case <-a.left:
					case <-time.After(patience):
						t.Error("the upstream never saw that the client had left")
					}
				})
			}
		}
	}
}

// TestPipeliningLongAnswers sends requests behind one that takes longer than the gateway's look at
// the connection: all are answered, in their order, while the client stays.
func TestPipeliningLongAnswers(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}", upstream(t, func(w http.ResponseWriter, r received) {
		select {
		case <-time.After(1200 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
		text := "first"
		if strings.Contains(r.body, "again") {
			text = "second"
		}
		answerWith(w, r, text)
	})))
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			t.Parallel()
			c := g.dial(t)
			io.WriteString(c, rawChat(prompt("up/m", "hi", stream)))
			time.Sleep(20 * time.Millisecond) // the gateway has read the first, and reads on
			io.WriteString(c, rawChat(prompt("up/m", "again", stream))+"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
			reader := bufio.NewReader(c)
			for _, want := range []string{"first", "second", "ok"} {
				resp, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), want) {
					t.Errorf("got status %d, %q and error %v, want 200 and %q", resp.StatusCode, body, err, want)
				}
			}
		})
	}
}
