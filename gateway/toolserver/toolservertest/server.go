// Package toolservertest has a server of the Model Context Protocol for tests that does what
// it is told: what the protocol says, or what a hostile or broken one does. It speaks raw
// JSON-RPC, so that it can say what no SDK would.
package toolservertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

// Call is a request of a client.
type Call struct {
	Method string
	ID     json.RawMessage // nil: a notification
	Params json.RawMessage
	Header http.Header
	W      http.ResponseWriter
	R      *http.Request
}

// Tool is the name and the arguments of a tools/call.
func (c *Call) Tool() (name string, arguments json.RawMessage) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(c.Params, &p)
	return p.Name, p.Arguments
}

// Result answers with a result, which is JSON.
func (c *Call) Result(result string) {
	c.W.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(c.W, `{"jsonrpc":"2.0","id":%s,"result":%s}`, c.ID, result)
}

// Error answers with an error and an HTTP status.
func (c *Call) Error(status, code int, message string) {
	text, _ := json.Marshal(message)
	c.W.Header().Set("Content-Type", "application/json")
	c.W.WriteHeader(status)
	fmt.Fprintf(c.W, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, c.ID, code, text)
}

// Text answers with a result of one text.
func (c *Call) Text(text string) {
	quoted, _ := json.Marshal(text)
	c.Result(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
}

// Stream begins an answer of server-sent events, and Event adds one.
func (c *Call) Stream() {
	c.W.Header().Set("Content-Type", "text/event-stream")
	c.W.WriteHeader(http.StatusOK)
	c.W.(http.Flusher).Flush()
}

// Event writes an event of a stream.
func (c *Call) Event(data string) error {
	_, err := fmt.Fprintf(c.W, "data: %s\n\n", data)
	c.W.(http.Flusher).Flush()
	return err
}

// Server is a server. Its fields are set before the first request, or under Set.
type Server struct {
	URL *url.URL
	// Legacy makes it one with a handshake and sessions; Session is the id it gives.
	Legacy  bool
	Session string
	// Tools are the definitions that it lists, each an object of JSON.
	Tools []string
	TTL   int // of the list, in milliseconds
	// On are answers instead of its own, by method.
	On map[string]func(*Call)
	// Get answers a GET, if it is set; else there is no such stream.
	Get http.HandlerFunc

	http *httptest.Server
	mu   sync.Mutex
	seen map[string]int
	last map[string]http.Header
}

// New starts a server of the newest version with one tool, echo, which says its arguments back.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{Session: "first", Tools: []string{Definition("echo", "Says its arguments back.")}, On: map[string]func(*Call){}, seen: map[string]int{}, last: map[string]http.Header{}}
	s.http = httptest.NewServer(s)
	tb.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	s.URL, _ = url.Parse(s.http.URL + "/mcp")
	return s
}

// Definition is a tool that takes any object.
func Definition(name, description string) string {
	text, _ := json.Marshal(map[string]any{"name": name, "description": description, "inputSchema": map[string]any{"type": "object"}})
	return string(text)
}

// Set changes the server while it runs.
func (s *Server) Set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Count is how often a method was asked for; that of other requests is their HTTP method.
func (s *Server) Count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[method]
}

// Header is that of the last request of a method.
func (s *Server) Header(method string) http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[method]
}

// Restart forgets the session: clients of it get a 404.
func (s *Server) Restart(session string) { s.Set(func() { s.Session = session }) }

// Stop ends the server.
func (s *Server) Stop() { s.http.CloseClientConnections(); s.http.Close() }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &Call{W: w, R: r, Header: r.Header.Clone(), Method: r.Method}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err != nil || json.Unmarshal(body, &m) != nil {
			http.Error(w, "no JSON", http.StatusBadRequest)
			return
		}
		c.ID, c.Method, c.Params = m.ID, m.Method, m.Params
	}
	s.mu.Lock()
	s.seen[c.Method]++
	s.last[c.Method] = c.Header
	own, legacy, session, get := s.On[c.Method], s.Legacy, s.Session, s.Get
	s.mu.Unlock()
	switch {
	case own != nil:
		own(c)
	case r.Method == http.MethodGet && get != nil:
		get(w, r)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case legacy && c.Method != "initialize" && c.Header.Get("Mcp-Session-Id") != "" && c.Header.Get("Mcp-Session-Id") != session:
		http.Error(w, "no such session", http.StatusNotFound)
	default:
		s.answer(c, legacy, session)
	}
}

// answer is what the protocol says.
func (s *Server) answer(c *Call, legacy bool, session string) {
	switch c.Method {
	case "server/discover":
		if legacy {
			c.Error(http.StatusBadRequest, -32601, "Method not found")
			return
		}
		c.Result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}`)
	case "initialize":
		c.W.Header().Set("Mcp-Session-Id", session)
		c.Result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"test","version":"1"}}`)
	case "tools/list":
		s.mu.Lock()
		list, ttl := s.Tools, s.TTL
		s.mu.Unlock()
		text := ""
		for i, t := range list {
			if i > 0 {
				text += ","
			}
			text += t
		}
		c.Result(fmt.Sprintf(`{"resultType":"complete","ttlMs":%d,"cacheScope":"private","tools":[%s]}`, ttl, text))
	case "tools/call":
		_, arguments := c.Tool()
		c.Text(string(arguments))
	case "subscriptions/listen":
		c.Stream()
		<-c.R.Context().Done()
	default:
		if c.ID == nil {
			c.W.WriteHeader(http.StatusAccepted)
			return
		}
		c.Error(http.StatusBadRequest, -32601, "Method not found")
	}
}

// Refuse has the server take no new connection; those that are there go on.
func (s *Server) Refuse() { s.http.Listener.Close() }
