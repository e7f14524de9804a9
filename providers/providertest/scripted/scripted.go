// Package scripted holds upstreams for tests, each speaking the wire of one vendor,
// its quirks included. All of them play the same tool loop of three turns:
//
//  1. two parallel calls, get_weather of Oslo and get_time,
//  2. with both results, one call of book whose arguments quote them,
//  3. with its result, a text that quotes that.
//
// A request that lacks one of the three tools gets a text at once. Every request is
// checked as strictly as the vendor checks it (its path, its key, what it demands of
// the conversation) and refused with the vendor's own words. Nothing is remembered
// between requests: the conversation alone says which turn it is.
package scripted

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Key is the credential that every server here takes.
const Key = "sk-scripted-0123456789"

// maxBody is the limit in bytes on a request.
const maxBody = 64 << 20

// Server is an upstream that plays the script until its test ends.
type Server struct {
	// URL is what a user would configure as the provider's base URL or endpoint.
	URL string

	mu       sync.Mutex
	requests []Request
}

// Request is a request as it arrived, and the status that it was answered with.
type Request struct {
	Method, URL string // the second without scheme and host
	Header      http.Header
	Body        []byte
	Status      int
}

// Requests returns what arrived so far, in the order of the answers' beginnings.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// answerer writes the answer to a request whose body has been read.
type answerer func(w http.ResponseWriter, r *http.Request, body []byte)

// serve starts a server whose requests a answers.
func serve(t testing.TB, a answerer) *Server {
	t.Helper()
	s := &Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusRequestEntityTooLarge)
			return
		}
		note := Request{Method: r.Method, URL: r.URL.String(), Header: r.Header.Clone(), Body: body}
		a(&noting{ResponseWriter: w, server: s, request: note}, r, body)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// noting notes a request together with the status of its answer.
type noting struct {
	http.ResponseWriter
	server  *Server
	request Request
}

// WriteHeader implements [http.ResponseWriter]. All answers here call it once.
func (n *noting) WriteHeader(status int) {
	n.request.Status = status
	n.server.mu.Lock()
	n.server.requests = append(n.server.requests, n.request)
	n.server.mu.Unlock()
	n.ResponseWriter.WriteHeader(status)
}

// refusal is an answer that means an error.
type refusal struct {
	status int
	body   string // JSON
}

func (r refusal) write(w http.ResponseWriter) { writeJSON(w, r.status, r.body) }

// writeJSON writes a whole answer.
func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // who has left needs no answer
}

// writeEvents writes a stream, its blocks one by one.
func writeEvents(w http.ResponseWriter, blocks []string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	for _, block := range blocks {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
		_ = flush.Flush()
	}
}

// Unwrap lets a flush reach the connection.
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
