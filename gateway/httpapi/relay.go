package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/internal/upload"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/protocol/chat"
)

// endpoint is one beside chat completions, whose requests go to the target of their model as
// they are.
type endpoint struct {
	path string // below /v1/, here and at upstreams
	// one says that targets of different models do not take each other's place: vectors of two
	// models have nothing to do with each other.
	one bool
	// text says that the answer is text, of so many tokens as the request allows.
	text bool
}

// endpoints are those of OpenAI's API that have a model, and rerank, on whose form vLLM, Jina
// and Cohere agree.
var endpoints = []endpoint{
	{path: "embeddings", one: true}, {path: "completions", text: true}, {path: "moderations"}, {path: "rerank", one: true},
	{path: "audio/speech"}, {path: "audio/transcriptions"}, {path: "audio/translations"},
	{path: "images/generations"}, {path: "images/edits"}, {path: "images/variations"},
}

// relays send on what is no request for a chat, and the answers to it.
type relays struct {
	gateway  Chatter
	access   *access
	bodies   *bodies
	uploads  *uploads
	observer *observer
}

// route adds the paths of the endpoints, and those whose requests go to one provider: path to provider.
func (x *relays) route(to *echo.Echo, passthrough map[string]string) {
	for _, e := range endpoints {
		to.POST("/v1/"+e.path, x.handler(e), x.access.middleware(answersAs(chat.NewForm(e.path)))...)
	}
	for prefix, provider := range passthrough {
		handler, before := x.passthrough(provider), x.access.middleware(answersAs(chat.NewForm("passthrough")))
		to.Any(prefix, handler, before...)
		to.Any(prefix+"/*", handler, before...)
	}
}

// handler serves an endpoint.
func (x *relays) handler(e endpoint) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		room := x.bodies.memory.Claim()
		defer room.Close()
		req, body, err := x.relayed(c, room)
		if err != nil {
			return err
		}
		defer body.close()
		if err := x.access.enter(c, req); err != nil {
			return err
		}
		if err := req.Bounded(e.text); err != nil {
			x.access.countCap(err)
			return err
		}
		out := &gateway.Relay{Method: http.MethodPost, Path: e.path, Query: c.Request().URL.RawQuery, Header: req.From.Header, Body: body.open}
		return x.sendOn(c, req, began, func(ctx context.Context) (*gateway.Response, error) { return x.gateway.Relay(ctx, req, out, e.one) })
	}
}

// sendOn sends a request on, and the answer back as it comes.
func (x *relays) sendOn(c echo.Context, req *gateway.Request, began time.Time, send func(context.Context) (*gateway.Response, error)) error {
	ctx, done := x.observer.begin(c)
	defer func() { done(req.Routing.Route) }()
	resp, err := send(ctx)
	if err != nil {
		return err
	}
	defer resp.Close()
	recordOf(c).summary = resp.Summary
	h := c.Response().Header()
	setAnswerHeader(h, resp, true)
	setTiming(h, began, resp.Summary.Overhead)
	return copyAnswer(c, resp)
}

// passthrough serves a path whose requests go to one provider, whatever they are for.
func (x *relays) passthrough(provider string) echo.HandlerFunc {
	return func(c echo.Context) error {
		began, r := time.Now(), c.Request()
		path, err := below(r.URL.EscapedPath())
		if err != nil {
			return err
		}
		body, err := x.uploads.read(c)
		if err != nil {
			return err
		}
		defer body.Close()
		req := gateway.Bare()
		if err := x.access.enter(c, req); err != nil {
			return err
		}
		relay := &gateway.Relay{Method: r.Method, Path: path, Query: r.URL.RawQuery, Header: req.From.Header}
		relay.Body = func(string) (io.ReadCloser, int64, error) {
			if body.Size() == 0 {
				return http.NoBody, 0, nil
			}
			out, size := body.Open(upload.Span{}, nil)
			return io.NopCloser(out), size, nil
		}
		return x.sendOn(c, req, began, func(ctx context.Context) (*gateway.Response, error) {
			return x.gateway.Passthrough(ctx, provider, req, relay)
		})
	}
}

// below is what follows /v1/ in a path. It may not lead elsewhere.
func below(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "/v1/")
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.ToLower(rest), "%2e", "."), "/") {
		name, _, _ := strings.Cut(strings.ReplaceAll(part, "%3b", ";"), ";") // some servers take what follows for no part of the name
		ok = ok && name != ".." && name != "." && name != "" && !strings.Contains(part, "%2f") && !strings.Contains(part, "%5c") && !strings.Contains(part, "%00")
	}
	if !ok {
		return "", &gateway.Error{Kind: gateway.Invalid, Param: "path", Message: fmt.Sprintf("The path %q is not one below /v1/ without empty parts and dots.", gateway.Excerpt([]byte(keys.Hide(path))))}
	}
	return rest, nil
}

// copyAnswer writes an upstream's bytes as they come. Events are flushed one by one.
func copyAnswer(c echo.Context, resp *gateway.Response) error {
	w, rec := c.Response(), recordOf(c)
	events := strings.HasPrefix(w.Header().Get("content-type"), "text/event-stream")
	if events {
		streamHeader(w.Header())
	}
	var sent tail
	for {
		f, err := resp.Next()
		switch {
		case err == io.EOF, f != nil && f.Done:
			if !w.Committed {
				w.WriteHeader(resp.Status)
			}
			return nil
		case err != nil:
			return err
		case f == nil:
			continue
		}
		if !w.Committed {
			w.WriteHeader(resp.Status)
		}
		sent.add(f.Raw)
		rec.raw = !events || !sent.endsEvent()
		if _, err := w.Write(f.Raw); err != nil {
			return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: err}
		}
		w.Flush()
	}
}

// tail is the last bytes of what was sent of an answer.
type tail [3]byte

func (t *tail) add(piece []byte) {
	last := slices.Concat(t[:], piece[max(len(piece)-len(t), 0):])
	copy(t[:], last[len(last)-len(t):])
}

// endsEvent reports whether an event of ours may follow: the blank line is there that ends the one before.
func (t *tail) endsEvent() bool {
	s := string(t[:])
	return strings.HasSuffix(s, "\n\n") || strings.HasSuffix(s, "\n\r\n") || strings.HasSuffix(s, "\r\r")
}

// relayedBody is the body of a request that is sent on.
type relayedBody struct {
	open  func(model string) (io.ReadCloser, int64, error)
	close func()
}

// relayed reads a request's body, JSON or a form, and which model it names.
func (x *relays) relayed(c echo.Context, room *inflight.Claim) (*gateway.Request, *relayedBody, error) {
	kind, params, err := mime.ParseMediaType(c.Request().Header.Get("content-type"))
	if err == nil && kind == "multipart/form-data" {
		if !hasOneBoundary(c.Request().Header["Content-Type"]) {
			return nil, nil, &gateway.Error{Kind: gateway.Invalid, Param: "content-type", Message: "The header content-type must be there once and name the form's boundary once, as \"boundary\": servers read it in different ways."}
		}
		return x.relayedForm(c, params["boundary"])
	}
	data, err := x.bodies.read(c, room)
	if err != nil {
		return nil, nil, err
	}
	req, err := x.bodies.limits.Parse(data, room)
	if err != nil {
		return nil, nil, err
	}
	open := func(model string) (io.ReadCloser, int64, error) {
		body := req.With(model, nil).Join()
		return io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	return req, &relayedBody{open, func() {}}, nil
}

// hasOneBoundary reports whether a form has one for all who read it. That of RFC 2231, boundary*, only some know; of two that
// are alike nobody gets here.
func hasOneBoundary(types []string) bool {
	return len(types) == 1 && !strings.Contains(strings.ToLower(types[0]), "boundary*")
}

// relayedForm reads a form. The field "model" may stand behind the files.
func (x *relays) relayedForm(c echo.Context, boundary string) (*gateway.Request, *relayedBody, error) {
	body, err := x.uploads.read(c)
	if err != nil {
		return nil, nil, err
	}
	done := func() { _ = body.Close() }
	name, at, err := body.Field(boundary, "model")
	if err == nil && name == "" {
		err = errors.New("the field \"model\" is missing: name the model to use")
	}
	var req *gateway.Request
	if err != nil {
		err = &gateway.Error{Kind: gateway.Invalid, Param: "model", Message: "The request body cannot be read as a form: " + err.Error() + "."}
	} else {
		req, err = gateway.ModelRequest(name)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	open := func(model string) (io.ReadCloser, int64, error) {
		out, size := body.Open(at, []byte(model))
		return io.NopCloser(out), size, nil
	}
	return req, &relayedBody{open, done}, nil
}
