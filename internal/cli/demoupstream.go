package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/callgate/callgate/gateway"
)

// directUpstream serves a provider as its upstream would: what it says goes out as it
// is, and nobody looks after it.
type directUpstream struct {
	provider gateway.Provider
	mu       sync.Mutex
	received []byte // the last body
}

// take returns the last body that came since it was asked before, or nil.
func (d *directUpstream) take() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	body := d.received
	d.received = nil
	return body
}

// ServeHTTP implements http.Handler.
func (d *directUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	d.mu.Lock()
	d.received = body
	d.mu.Unlock()
	req, err := gateway.ParseRequest(body)
	if err == nil {
		err = d.answer(w, r, req)
	}
	if err == nil {
		return
	}
	if errors.Is(err, io.ErrUnexpectedEOF) { // it breaks off before there is anything
		panic(http.ErrAbortHandler)
	}
	e := gateway.AsError(err)
	message := cmp.Or(e.Quote, e.Message) // as it was before the provider gave it a name
	if e.RetryAfter > 0 {
		w.Header().Set("retry-after", fmt.Sprint(int(e.RetryAfter.Seconds())))
	}
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(e.HTTPStatus())
	if e.Body != nil { // it is the upstream's own
		_, _ = w.Write(e.Body) //nolint:gosec // a constant of the demo, and JSON
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": e.Type(), "code": e.CodeOrDefault()}})
}

// answer writes a reply. One that breaks off breaks off.
func (d *directUpstream) answer(w http.ResponseWriter, r *http.Request, req *gateway.Request) error {
	reply, err := d.provider.Chat(r.Context(), req.Model, req)
	if err != nil {
		return err
	}
	defer reply.Close()
	w.Header().Set("content-type", reply.Header().Get("Content-Type"))
	for {
		f, err := reply.Next()
		if err != nil {
			return nil // the client sees that the stream has ended
		}
		if _, err := w.Write(f.Raw); err != nil {
			return nil // the client has gone
		}
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
	}
}
