package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/mcp"
	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
)

func open(t *testing.T, s *toolservertest.Server, change func(*mcp.Options)) *mcp.Server {
	t.Helper()
	o := mcp.Options{Name: "srv", URL: s.URL, Start: 30 * time.Second}
	if change != nil {
		change(&o)
	}
	c := mcp.Open(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func call(ctx context.Context, c *mcp.Server, tool, arguments string) (*toolserver.Result, *toolserver.Error) {
	r, err := c.Call(ctx, tool, json.RawMessage(arguments))
	var e *toolserver.Error
	if err != nil && !errors.As(err, &e) {
		panic(fmt.Sprintf("not a *toolserver.Error: %v", err))
	}
	return r, e
}

// eras plays a test against a server of each era.
func eras(t *testing.T, play func(t *testing.T, s *toolservertest.Server)) {
	t.Helper()
	for name, legacy := range map[string]bool{"modern": false, "legacy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := toolservertest.New(t)
			s.Legacy = legacy
			play(t, s)
		})
	}
}

// TestHostileAnswers has a row for what a server may do to a call: what the caller gets to know,
// and that the connection serves the next call.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 5<<20)
	rows := map[string]struct {
		do   func(*toolservertest.Call)
		want toolserver.Error // of Kind, Sent, Again
		says string           // part of the message
		text string           // or of the result
	}{
		"an endless body": {do: func(c *toolservertest.Call) {
			c.W.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(c.W, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, c.ID)
			for {
				if _, err := io.WriteString(c.W, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		}, want: toolserver.Error{Kind: toolserver.TooLarge, Sent: true}, says: "more than may be read"},
		"an endless event": {do: func(c *toolservertest.Call) {
			c.Stream()
			_, _ = io.WriteString(c.W, "data: ")
			for {
				if _, err := io.WriteString(c.W, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		}, want: toolserver.Error{Kind: toolserver.TooLarge, Sent: true}},
		"endless notifications": {do: func(c *toolservertest.Call) {
			c.Stream()
			for c.Event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"`+strings.Repeat("y", 8<<10)+`"}}`) == nil {
			}
		}, want: toolserver.Error{Kind: toolserver.TooLarge, Sent: true}},
		"a result of 5 MB is too large": {do: func(c *toolservertest.Call) { c.Text(huge) }, want: toolserver.Error{Kind: toolserver.TooLarge, Sent: true}},
		"a result of 100 KB is cut":     {do: func(c *toolservertest.Call) { c.Text(strings.Repeat("ä", 50_000)) }, text: "ää"},
		"a structured result of 100 KB without text": {do: func(c *toolservertest.Call) {
			c.Result(`{"content":[],"structuredContent":{"a":"` + strings.Repeat("x", 100_000) + `"}}`)
		}, want: toolserver.Error{Kind: toolserver.TooLarge, Sent: true}},
		"it asks its user": {do: func(c *toolservertest.Call) {
			c.Result(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Your password?","requestedSchema":{"type":"object"}}}}}`)
		}, want: toolserver.Error{Kind: toolserver.NeedsInput}},
		"it wants an address opened": {do: func(c *toolservertest.Call) { c.Error(200, -32042, "open https://evil.example") }, want: toolserver.Error{Kind: toolserver.NeedsInput}},
		"an unknown kind of result":  {do: func(c *toolservertest.Call) { c.Result(`{"resultType":"task","content":[]}`) }, want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"no JSON": {do: func(c *toolservertest.Call) {
			c.W.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(c.W, "<html>")
		}, want: toolserver.Error{Kind: toolserver.Failed, Sent: true}, says: "against the protocol"},
		"HTML":                      {do: func(c *toolservertest.Call) { c.W.Header().Set("Content-Type", "text/html") }, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true, Again: true}},
		"null in the content":       {do: func(c *toolservertest.Call) { c.Result(`{"content":[null,{"type":"text","text":"x"}]}`) }, want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"content that is no list":   {do: func(c *toolservertest.Call) { c.Result(`{"content":"x"}`) }, want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"a result that is a list":   {do: func(c *toolservertest.Call) { c.Result(`[1]`) }, want: toolserver.Error{Kind: toolserver.Failed, Sent: true}},
		"a result that is null":     {do: func(c *toolservertest.Call) { c.Result(`null`) }},
		"an answer to another call": {do: func(c *toolservertest.Call) { c.ID = json.RawMessage("4711"); c.Text("x") }, want: toolserver.Error{Kind: toolserver.Timeout, Sent: true, Again: true}},
		"a stream without an answer": {do: func(c *toolservertest.Call) {
			c.Stream()
			_ = c.Event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		}, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true, Again: true}},
		"a server request in the stream": {do: func(c *toolservertest.Call) {
			c.Stream()
			_ = c.Event(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}}`)
			_ = c.Event(`{"jsonrpc":"2.0","id":"s2","method":"roots/list"}`)
			_ = c.Event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"went on"}]}}`, c.ID))
		}, text: "went on"},
		"it hangs":            {do: func(c *toolservertest.Call) { <-c.R.Context().Done() }, want: toolserver.Error{Kind: toolserver.Timeout, Sent: true, Again: true}, says: "not answered in time"},
		"it dies in mid-call": {do: func(c *toolservertest.Call) { panic(http.ErrAbortHandler) }, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true, Again: true}},
		"500":                 {do: func(c *toolservertest.Call) { http.Error(c.W, "oops", http.StatusInternalServerError) }, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true, Again: true}, says: "HTTP 500"},
		"503":                 {do: func(c *toolservertest.Call) { http.Error(c.W, "oops", http.StatusServiceUnavailable) }, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true, Again: true}, says: "HTTP 503"},
		"429":                 {do: func(c *toolservertest.Call) { http.Error(c.W, "slow down", http.StatusTooManyRequests) }, want: toolserver.Error{Kind: toolserver.Unavailable, Again: true}, says: "HTTP 429"},
		"401":                 {do: func(c *toolservertest.Call) { http.Error(c.W, "who are you", http.StatusUnauthorized) }, want: toolserver.Error{Kind: toolserver.Unavailable}, says: "HTTP 401"},
		"an endless error body": {do: func(c *toolservertest.Call) {
			c.W.WriteHeader(400)
			for {
				if _, err := io.WriteString(c.W, strings.Repeat("x", 64<<10)); err != nil {
					return
				}
			}
		}, want: toolserver.Error{Kind: toolserver.TooLarge, Sent: true}},
		"invalid arguments": {do: func(c *toolservertest.Call) { c.Error(200, -32602, "city is missing") }, want: toolserver.Error{Kind: toolserver.InvalidArguments}, says: "city is missing"},
		"unknown tool, Go":  {do: func(c *toolservertest.Call) { c.Error(400, -32602, `unknown tool "echo"`) }, want: toolserver.Error{Kind: toolserver.UnknownTool}},
		"unknown tool, TypeScript": {do: func(c *toolservertest.Call) {
			c.Result(`{"isError":true,"content":[{"type":"text","text":"MCP error -32602: Tool echo not found"}]}`)
		}, want: toolserver.Error{Kind: toolserver.UnknownTool}},
		"unknown tool, Python": {do: func(c *toolservertest.Call) {
			c.Result(`{"isError":true,"content":[{"type":"text","text":"Unknown tool: echo"}]}`)
		}, want: toolserver.Error{Kind: toolserver.UnknownTool}},
		"an error with control codes": {do: func(c *toolservertest.Call) { c.Error(200, -32000, "a\x1b[2Jb\n"+huge[:5000]) }, want: toolserver.Error{Kind: toolserver.Failed}, says: `a [2Jb xxx`},
		"a redirect elsewhere": {do: func(c *toolservertest.Call) {
			http.Redirect(c.W, c.R, "http://127.0.0.1:1/steal", http.StatusTemporaryRedirect)
		}, want: toolserver.Error{Kind: toolserver.Unavailable}, says: "redirects to another origin"},
		"a redirect elsewhere behind the work": {do: func(c *toolservertest.Call) {
			http.Redirect(c.W, c.R, "http://127.0.0.1:1/done", http.StatusSeeOther)
		}, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true}, says: "redirects to another origin"},
		"a redirect that makes a GET of it": {do: func(c *toolservertest.Call) { http.Redirect(c.W, c.R, "/mcp", http.StatusFound) }, want: toolserver.Error{Kind: toolserver.Unavailable, Sent: true}, says: "another method"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eras(t, func(t *testing.T, s *toolservertest.Server) {
				ctx, end := within(t, time.Minute), func() {}
				if row.want.Kind == toolserver.Timeout {
					ctx, end = toolservertest.Overdue(t.Context())
				}
				s.On["tools/call"] = func(c *toolservertest.Call) {
					if tool, _ := c.Tool(); tool == "good" {
						c.Text("fine")
						return
					}
					time.AfterFunc(100*time.Millisecond, end) // the client reads what there is
					row.do(c)
				}
				client := open(t, s, nil)
				if _, err := client.List(within(t, time.Minute)); err != nil {
					t.Fatal(err)
				}
				r, e := call(ctx, client, "echo", `{}`)
				switch {
				case e == nil && (row.text != "" || row.want.Kind == ""):
					if !strings.Contains(r.Text, row.text) || len(r.Text) > 64<<10 || len(r.Text) == 64<<10 && r.Cut == 0 {
						t.Errorf("got %.80q with %d bytes, %d cut", r.Text, len(r.Text), r.Cut)
					}
				case e == nil:
					t.Fatalf("got %+v, want an error %s", r, row.want.Kind)
				case e.Kind != row.want.Kind && row.want.Kind != "":
					t.Errorf("got %s %q (%v), want %s", e.Kind, e.Message, e.Err, row.want.Kind)
				case e.Sent != row.want.Sent && row.want.Kind != "":
					t.Errorf("%s: got sent %t (%s, %v), want %t", e.Kind, e.Sent, e.Message, e.Err, row.want.Sent)
				case !strings.Contains(e.Message, row.says) || strings.Contains(e.Message, s.URL.Host) || strings.ContainsAny(e.Message, "\x1b\n") || len(e.Message) > 500:
					t.Errorf("got the message %q, want one line with %q and no address", e.Message, row.says)
				case row.want.Again != e.Again && e.Kind == row.want.Kind:
					t.Errorf("%s: got again %t, want %t", e.Kind, e.Again, row.want.Again)
				}
				if r, e := call(within(t, time.Minute), client, "good", `{}`); e != nil || r.Text != "fine" {
					t.Errorf("the next call: got %+v, %v (%v)", r, e, unwrap(e))
				}
			})
		})
	}
}

func unwrap(e *toolserver.Error) error {
	if e == nil {
		return nil
	}
	return e.Err
}

// TestTooLargeSparesOthers holds that one answer without end does not end other calls of the
// same connection.
func TestTooLargeSparesOthers(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		began, end := make(chan struct{}), make(chan struct{})
		s.On["tools/call"] = func(c *toolservertest.Call) {
			if tool, _ := c.Tool(); tool == "slow" {
				close(began)
				<-end
				c.Text("slow and fine")
				return
			}
			c.Text(strings.Repeat("x", 5<<20))
		}
		client := open(t, s, nil)
		var slow sync.WaitGroup
		slow.Go(func() {
			if r, e := call(within(t, time.Minute), client, "slow", `{}`); e != nil || r.Text != "slow and fine" {
				t.Errorf("the other call: got %+v, %v (%v)", r, e, unwrap(e))
			}
		})
		<-began
		if _, e := call(within(t, time.Minute), client, "huge", `{}`); e == nil || e.Kind != toolserver.TooLarge {
			t.Errorf("got %v, want too_large", e)
		}
		close(end)
		slow.Wait()
	})
}

// TestOwnAnswers holds that of many calls at a time each gets its own answer, whatever the order in
// which they come.
func TestOwnAnswers(t *testing.T) {
	t.Parallel()
	play := func(t *testing.T, client *mcp.Server) {
		t.Helper()
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				arguments := fmt.Sprintf(`{"n":%d}`, i)
				if r, e := call(within(t, time.Minute), client, "echo", arguments); e != nil || r.Text != arguments {
					t.Errorf("%s: got %+v, %v (%v)", arguments, r, e, unwrap(e))
				}
			})
		}
		all.Wait()
	}
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		var mu sync.Mutex
		var waiting []chan struct{}
		s.On["tools/call"] = func(c *toolservertest.Call) { // pairs, the second first
			mu.Lock()
			if len(waiting) == 0 {
				wait := make(chan struct{})
				waiting = append(waiting, wait)
				mu.Unlock()
				<-wait
			} else {
				defer close(waiting[0])
				waiting = nil
				mu.Unlock()
			}
			_, arguments := c.Tool()
			c.Text(string(arguments))
		}
		play(t, open(t, s, nil))
	})
	t.Run("process", func(t *testing.T) { play(t, process(t, "echo", nil)) })
}

// TestSessionMissing holds that a session that the server has forgotten is begun anew, once, and
// that the call, which has not run, is sent again.
func TestSessionMissing(t *testing.T) {
	t.Parallel()
	s := toolservertest.New(t)
	s.Legacy = true
	client := open(t, s, nil)
	if _, e := call(within(t, time.Minute), client, "echo", `{"n":1}`); e != nil {
		t.Fatal(e, e.Err)
	}
	s.Restart("second")
	if r, e := call(within(t, time.Minute), client, "echo", `{"n":2}`); e != nil || r.Text != `{"n":2}` {
		t.Fatalf("got %+v, %v", r, e)
	}
	if n := s.Count("initialize"); n != 2 {
		t.Errorf("got %d handshakes, want 2", n)
	}
	if n := s.Count("server/discover"); n != 1 {
		t.Errorf("got %d questions for the version, want 1: the era is remembered", n)
	}
	// A server that always forgets is given up.
	s.Set(func() {
		s.On["tools/call"] = func(c *toolservertest.Call) { http.Error(c.W, "no such session", http.StatusNotFound) }
	})
	before := s.Count("tools/call")
	if _, e := call(within(t, time.Minute), client, "echo", `{}`); e == nil || e.Kind != toolserver.Unavailable {
		t.Errorf("got %v, want unavailable", e)
	}
	if n := s.Count("tools/call") - before; n != 2 {
		t.Errorf("got %d attempts, want 2", n)
	}
}

// TestNoSecondRun holds that no failure but a missing session makes this layer send a call twice.
func TestNoSecondRun(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		var ran atomic.Int32
		s.On["tools/call"] = func(c *toolservertest.Call) {
			ran.Add(1)
			panic(http.ErrAbortHandler)
		}
		client := open(t, s, nil)
		if _, e := call(within(t, time.Minute), client, "echo", `{}`); e == nil || !e.Sent {
			t.Errorf("got %+v, want an error of a call that was sent", e)
		}
		if n := ran.Load(); n != 1 {
			t.Errorf("got %d runs, want 1", n)
		}
	})
}

// TestRedirectKeepsCredentials holds that the operator's headers do not follow a redirect, and
// that one within the origin is followed.
func TestRedirectKeepsCredentials(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	s := toolservertest.New(t)
	s.On["server/discover"] = func(c *toolservertest.Call) {
		http.Redirect(c.W, c.R, thief.URL, http.StatusTemporaryRedirect)
	}
	s.On["initialize"] = s.On["server/discover"]
	client := open(t, s, func(o *mcp.Options) { o.Headers = map[string]string{"Authorization": "Bearer secret"} })
	_, err := client.List(within(t, time.Minute))
	if err == nil || !strings.Contains(err.Error(), "redirects to another origin") {
		t.Errorf("got %v", err)
	}
	if n := stolen.Load(); n != 0 {
		t.Errorf("got %d requests at the other origin, want none", n)
	}
	within2 := toolservertest.New(t)
	within2.On["tools/call"] = func(c *toolservertest.Call) {
		if c.R.URL.Path == "/mcp" {
			http.Redirect(c.W, c.R, "/elsewhere", http.StatusPermanentRedirect)
			return
		}
		c.Text("followed")
	}
	if r, e := call(within(t, time.Minute), open(t, within2, nil), "echo", `{}`); e != nil || r.Text != "followed" {
		t.Errorf("within the origin: got %+v, %v", r, e)
	}
}

// TestHeaders holds that a server gets its own credentials and nothing of anybody else's.
func TestHeaders(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		client := open(t, s, func(o *mcp.Options) {
			o.Headers = map[string]string{"Authorization": "Bearer ours", "X-Team": "a"}
		})
		if _, e := call(within(t, time.Minute), client, "echo", `{}`); e != nil {
			t.Fatal(e)
		}
		for _, method := range []string{"server/discover", "tools/call"} {
			h := s.Header(method)
			if h.Get("Authorization") != "Bearer ours" || h.Get("X-Team") != "a" {
				t.Errorf("%s: got %v", method, h)
			}
			for name := range h {
				switch name {
				case "Authorization", "X-Team", "Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent", "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name":
				default:
					t.Errorf("%s: got the header %s, which nobody has asked for", method, name)
				}
			}
		}
	})
}

// TestCapabilities holds that the gateway offers servers nothing: no roots, no sampling, no
// elicitation.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		var mu sync.Mutex
		var offered []string
		look := func(c *toolservertest.Call) {
			var p struct {
				Capabilities json.RawMessage            `json:"capabilities"`
				Meta         map[string]json.RawMessage `json:"_meta"`
			}
			_ = json.Unmarshal(c.Params, &p)
			mu.Lock()
			defer mu.Unlock()
			for _, raw := range []json.RawMessage{p.Capabilities, p.Meta["io.modelcontextprotocol/clientCapabilities"]} {
				if raw != nil {
					offered = append(offered, string(raw))
				}
			}
		}
		s.On["initialize"] = func(c *toolservertest.Call) {
			look(c)
			c.Result(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"t","version":"1"}}`)
		}
		s.On["tools/call"] = func(c *toolservertest.Call) { look(c); c.Text("x") }
		if _, e := call(within(t, time.Minute), open(t, s, nil), "echo", `{}`); e != nil {
			t.Fatal(e, e.Err)
		}
		if len(offered) == 0 {
			t.Error("got no capabilities at all")
		}
		for _, o := range offered {
			if o != "{}" {
				t.Errorf("got %s, want {}", o)
			}
		}
	})
}

// TestNumbers holds that structured results and schemas keep their bytes: the SDK would make
// floats of numbers, and put members in another order.
func TestNumbers(t *testing.T) {
	t.Parallel()
	const value = `{"z":12345678901234567890,"a":1.10,"<":"ü&"}`
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		s.Tools = []string{`{"name":"n","inputSchema":{"type":"object","properties":{"z":{"const":12345678901234567890},"a":{"maximum":1.10}}}}`}
		s.On["tools/call"] = func(c *toolservertest.Call) {
			tool, arguments := c.Tool()
			if string(arguments) != value {
				t.Errorf("the server got %s, want %s", arguments, value)
			}
			if tool == "streamed" {
				c.Stream()
				_ = c.Event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
				_ = c.Event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`, c.ID, value))
				return
			}
			c.Result(`{"content":[],"structuredContent":` + value + `}`)
		}
		client := open(t, s, nil)
		l, err := client.List(within(t, time.Minute))
		if err != nil || string(l.Tools[0].Parameters) != `{"type":"object","properties":{"z":{"const":12345678901234567890},"a":{"maximum":1.10}}}` {
			t.Errorf("got %+v, %v", l, err)
		}
		for _, tool := range []string{"whole", "streamed"} {
			r, e := call(within(t, time.Minute), client, tool, value)
			if e != nil || string(r.Structured) != value {
				t.Errorf("%s: got %+v, %v", tool, r, e)
			}
		}
	})
}

// TestCancelled holds that a caller who leaves ends the request at the server.
func TestCancelled(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		began, ended := make(chan struct{}), make(chan struct{})
		s.On["tools/call"] = func(c *toolservertest.Call) {
			close(began)
			<-c.R.Context().Done()
			close(ended)
		}
		client := open(t, s, nil)
		ctx, leave := context.WithCancel(t.Context())
		go func() { <-began; leave() }()
		_, e := call(ctx, client, "echo", `{}`)
		if e == nil || e.Again || !e.Sent {
			t.Errorf("got %+v, want an error that is not to be repeated", e)
		}
		<-ended
	})
}

// TestListBounds has a row for each way in which a list has no end.
func TestListBounds(t *testing.T) {
	t.Parallel()
	rows := map[string]func(n int) string{
		"endless pages": func(n int) string {
			return fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","nextCursor":"c%d","tools":[%s]}`, n, toolservertest.Definition(fmt.Sprint("t", n), ""))
		},
		"many tools": func(n int) string {
			var b strings.Builder
			for i := range 300 {
				fmt.Fprintf(&b, `%s,`, toolservertest.Definition(fmt.Sprintf("t%d_%d", n, i), ""))
			}
			return fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","nextCursor":"c%d","tools":[%s]}`, n, strings.TrimSuffix(b.String(), ","))
		},
		"large pages": func(n int) string {
			return fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","nextCursor":"c%d","tools":[%s]}`, n, toolservertest.Definition(fmt.Sprint("t", n), strings.Repeat("x", 3<<20)))
		},
		"a page that is too large": func(n int) string {
			return fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[%s]}`, toolservertest.Definition(fmt.Sprint("t", n), strings.Repeat("x", 5<<20)))
		},
	}
	for name, page := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := toolservertest.New(t)
			var pages atomic.Int32
			s.On["tools/list"] = func(c *toolservertest.Call) { c.Result(page(int(pages.Add(1)))) }
			_, err := open(t, s, nil).List(within(t, time.Minute))
			var e *toolserver.Error
			if !errors.As(err, &e) || e.Kind != toolserver.TooLarge {
				t.Errorf("got %v, want too_large", err)
			}
			if n := pages.Load(); n > 64 {
				t.Errorf("got %d pages read, want at most 64", n)
			}
		})
	}
}

// TestStuck holds that a server which takes connections and says nothing, at any step, is given
// up when the time is over.
func TestStuck(t *testing.T) {
	t.Parallel()
	hang := func(c *toolservertest.Call) { <-c.R.Context().Done() }
	for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list", "subscriptions/listen"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := toolservertest.New(t)
			s.Legacy = strings.Contains(method, "initialize")
			s.On[method] = hang
			client := open(t, s, func(o *mcp.Options) { o.Start = 300 * time.Millisecond; o.Changed = func() {} })
			_, err := client.List(within(t, 2*time.Second))
			if err == nil && method != "subscriptions/listen" {
				t.Error("got a list, want an error")
			}
		})
	}
}

// TestChanged holds that a server's word that its list has changed is heard in both eras, and
// that a stream of notifications that ends, or is none, ends no call.
func TestChanged(t *testing.T) {
	t.Parallel()
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		s.Get = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", changed) // and it ends
		}
		s.On["subscriptions/listen"] = func(c *toolservertest.Call) {
			c.Stream()
			_ = c.Event(changed)
		}
		heard := make(chan struct{}, 10)
		client := open(t, s, func(o *mcp.Options) { o.Changed = func() { heard <- struct{}{} } })
		if _, err := client.List(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		<-heard
		for range 3 {
			if _, e := call(within(t, time.Minute), client, "echo", `{}`); e != nil {
				t.Fatal(e, e.Err)
			}
		}
		if n := s.Count("initialize") + s.Count("server/discover"); n > 2 {
			t.Errorf("got %d handshakes: the stream's end has ended the session", n)
		}
	})
}

// TestForeignAnswerInStream holds that the answer to another call, in the stream of this one, is not taken
// for this one's.
func TestForeignAnswerInStream(t *testing.T) {
	t.Parallel()
	eras(t, func(t *testing.T, s *toolservertest.Server) {
		s.On["tools/call"] = func(c *toolservertest.Call) {
			c.Stream()
			_ = c.Event(`{"jsonrpc":"2.0","id":987654,"result":{"content":[{"type":"text","text":"another's"}]}}`)
			_ = c.Event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"its own"}]}}`, c.ID))
		}
		client := open(t, s, nil)
		r, e := call(within(t, time.Minute), client, "echo", `{}`)
		if e != nil || r.Text != "its own" {
			t.Errorf("got %+v, %v, want the call's own answer", r, e)
		}
	})
}

// TestAway holds that a server that is not there costs nothing, and is found again.
func TestAway(t *testing.T) {
	t.Parallel()
	s := toolservertest.New(t)
	client := open(t, s, nil)
	if _, e := call(within(t, time.Minute), client, "echo", `{}`); e != nil {
		t.Fatal(e)
	}
	s.Stop()
	_, _ = call(within(t, time.Minute), client, "echo", `{}`) // it may have met the end on its way
	_, e := call(within(t, time.Minute), client, "echo", `{}`)
	if e == nil || e.Kind != toolserver.Unavailable || e.Sent || !e.Again {
		t.Errorf("got %+v, want unavailable, not sent", e)
	}
	// A client that was closed says so.
	client.Close()
	if _, e := call(within(t, time.Minute), client, "echo", `{}`); e == nil || e.Kind != toolserver.Unavailable {
		t.Errorf("got %+v", e)
	}
}

// TestPrivateAddress holds which names may lead where.
func TestPrivateAddress(t *testing.T) {
	t.Parallel()
	s := toolservertest.New(t)
	port := s.URL.Port()
	hosts := map[string]string{"127.0.0.1": "", "localhost": "", "localtest.invalid": "does not answer", "169.254.169.254": "does not answer"}
	if name, err := os.Hostname(); err == nil { // most machines have themselves in /etc/hosts
		if found, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip", name); err == nil && !slices.ContainsFunc(found, func(ip netip.Addr) bool { return !ip.IsLoopback() && !ip.IsPrivate() }) {
			hosts[name] = "set private_network: true"
		}
	}
	for host, says := range hosts {
		client := mcp.Open(mcp.Options{Name: "srv", URL: &url.URL{Scheme: "http", Host: host + ":" + port, Path: "/mcp"}, Start: time.Second})
		_, err := client.List(within(t, 5*time.Second))
		client.Close()
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", host, err, says)
		}
	}
}
