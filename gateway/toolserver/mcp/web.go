package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/reach"
)

// headerTime is how long a stream of notifications may take to begin.
const headerTime = 10 * time.Second

// web is the HTTP under the SDK: it adds the operator's headers, bounds what is read, and
// notes what the SDK does not tell.
type web struct {
	client  *http.Client
	base    *http.Transport
	headers map[string]string
}

func newWeb(o Options) *web {
	w := &web{base: reach.Transport(reach.Options{URL: o.URL, Private: o.Private}), headers: o.Headers}
	w.client = &http.Client{Transport: w, CheckRedirect: reach.Redirect}
	return w
}

func (w *web) close() { w.base.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(req *http.Request) (*http.Response, error) {
	id := callID(req)
	n := noteOf(req.Context())
	if id == nil && !n.all { // what goes with a call, such as a word that nobody waits for it any more
		n = noteOf(context.Background())
	}
	out := req.Clone(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn:      func(string) { n.set(func() { n.sent = false }) }, // again, where it has reached nobody
		WroteHeaders: func() { n.set(func() { n.sent = true }) },
	}))
	for name, value := range w.headers {
		out.Header.Set(name, value)
	}
	if hop := toolserver.HopOf(req.Context()); hop != nil && id != nil {
		hop.Note(func(f *toolserver.HopFacts) { f.Request = strings.Trim(string(id), `"`) })
	}
	switch {
	case resumes(req):
		return w.resume(out)
	case req.Method == http.MethodGet:
		return w.listen(out)
	case req.Header.Get("Mcp-Method") == "subscriptions/listen":
		return w.begin(out)
	}
	resp, err := w.base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	n.set(func() {
		n.status = resp.StatusCode
		if req.Method == http.MethodPost { // a call that is asked something is sent again: the last answer counts
			n.whole, n.id = nil, id
			n.stream.Reset()
		}
	})
	return recorded(req, resp, n), nil
}

// resumes reports whether a request asks for the rest of an answer that has begun.
func resumes(req *http.Request) bool {
	return req.Method == http.MethodGet && req.Header.Get("Last-Event-ID") != ""
}

// resume asks for the rest of an answer. Whatever becomes of that, the call itself has reached the server.
func (w *web) resume(req *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return recorded(req, resp, noteOf(req.Context())), nil
}

// recorded has n keep what is read of an answer.
func recorded(req *http.Request, resp *http.Response, n *note) *http.Response {
	if isStream(resp) {
		resp.Body = &recorder{body: resp.Body, n: n}
		return resp
	}
	return whole(req, resp, n)
}

// begin sends a request for a stream that lasts. Its headers must come in time, or the SDK
// would wait without end; and it is bounded by its own size, since it is no answer.
func (w *web) begin(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	timer := time.AfterFunc(headerTime, cancel)
	resp, err := w.base.RoundTrip(req.WithContext(ctx))
	if !timer.Stop() && err == nil {
		resp.Body.Close()
		err = errors.New("the stream of notifications does not begin")
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if !isStream(resp) {
		defer cancel()
		return whole(req, resp, noteOf(context.Background())), nil
	}
	resp.Body = &lasting{ctx: ctx, body: resp.Body, left: maxStream, cancel: cancel}
	return resp, nil
}

// listen opens the stream of notifications of a server with sessions. One that has none, or
// does not begin it, must not end the session for that: to the SDK it has none (405).
func (w *web) listen(req *http.Request) (*http.Response, error) {
	resp, err := w.begin(req)
	switch {
	case err == nil && isStream(resp):
		return resp, nil
	case err == nil:
		resp.Body.Close()
	case req.Context().Err() != nil:
		return nil, err
	}
	return &http.Response{Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

func isStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/event-stream" && resp.StatusCode < 300
}

// whole reads an answer that is one message. One that is too large, or no JSON, becomes an
// error of this call: the SDK would give up the connection with all its calls.
func whole(req *http.Request, resp *http.Response, n *note) *http.Response {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	resp.Body.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case len(body) > maxAnswer:
		n.set(func() { n.tooLarge = true })
		body = refusal(req, "the answer is too large")
	case err != nil:
		body = refusal(req, "the answer ends too early")
	case kind == "application/json" && resp.StatusCode < 300 && !json.Valid(body) && resp.StatusCode != http.StatusAccepted:
		body = refusal(req, "the answer is no JSON")
	}
	n.set(func() { n.whole = body })
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp
}

// codeRefused is the code of an answer that is ours, in the range that the protocol leaves free.
const codeRefused = -32099

// refusal is a JSON-RPC error in answer to req; nothing where req has no id.
func refusal(req *http.Request, why string) []byte {
	id := callID(req)
	if id == nil {
		return nil
	}
	out, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": codeRefused, "message": why}})
	return out
}

// callID is the id of the JSON-RPC request that req is the carrier of; nil where it has none.
func callID(req *http.Request) json.RawMessage {
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil || json.NewDecoder(body).Decode(&call) != nil || call.Method == "" { // an answer of ours
		return nil
	}
	return call.ID
}

// recorder keeps what is read of a stream that answers a call, up to a bound, which a stream that goes on with it
// shares. There it ends.
type recorder struct {
	body io.ReadCloser
	n    *note
}

// Read implements io.Reader.
func (r *recorder) Read(p []byte) (int, error) {
	var left int
	r.n.set(func() {
		left = maxAnswer - r.n.stream.Len()
		r.n.tooLarge = r.n.tooLarge || left <= 0
	})
	if left <= 0 {
		return 0, io.EOF
	}
	k, err := r.body.Read(p[:min(len(p), left)])
	r.n.set(func() { r.n.stream.Write(p[:k]) })
	return k, err
}

// Close implements io.Closer. A block that was cut must not run into that of a resumed stream.
func (r *recorder) Close() error {
	r.n.set(func() { r.n.stream.WriteString("\n\n") })
	return r.body.Close()
}

// lasting is a stream of notifications. When it ends, be it by its bound, the SDK would end the
// session with all its calls, so it seems to go on in silence: the list is still asked for
// when its time has come.
type lasting struct {
	ctx    context.Context //nolint:containedctx // that of the request, as a body has it
	body   io.ReadCloser
	left   int
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (l *lasting) Read(p []byte) (int, error) {
	if l.left > 0 {
		k, err := l.body.Read(p[:min(len(p), l.left)])
		l.left -= k
		if err != nil {
			l.left = 0
			l.body.Close()
		}
		if k > 0 {
			return k, nil
		}
	}
	<-l.ctx.Done()
	return 0, l.ctx.Err()
}

// Close implements io.Closer.
func (l *lasting) Close() error {
	l.cancel()
	return l.body.Close()
}
