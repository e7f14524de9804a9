// Package httptool makes tools of plain HTTP APIs: a method, an address with places for
// arguments, headers, and which part of the answer is the result. Whatever the arguments are,
// the request goes to the host that the operator wrote.
package httptool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/reach"
)

// Tool is a tool that is one HTTP request.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object; nil takes no arguments
	Output      json.RawMessage // JSON schema of the result; nil says none
	Method      string          // in capitals
	// URL is an address with {argument} in its path and query. A part of the query whose
	// argument is not given is left out.
	URL     string
	Headers map[string]string // for every request
	// Body is where arguments go that the URL has no place for: json, form, or none.
	Body string
	// Result is a JSON pointer to the part of the answer that is the result; "" is all of it.
	Result string
	// Private is reach.Options.Private.
	Private bool
}

// Bodies of requests.
const (
	JSON = "json"
	Form = "form"
	None = "none"
)

// Server is a list of such tools. It is made by Open, and may be used by several goroutines.
type Server struct {
	name    string
	tools   []*ready
	listing toolserver.Listing
}

type ready struct {
	Tool
	url    template
	client *http.Client
	base   *http.Transport
}

// Open makes a Server of tools that Check has let pass.
func Open(name string, tools []Tool) (*Server, error) {
	s := &Server{name: name}
	for _, t := range tools {
		parsed, err := parse(t.URL)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		base := reach.Transport(reach.Options{URL: parsed.base, Private: t.Private})
		base.DisableKeepAlives = repeats(t)
		s.tools = append(s.tools, &ready{Tool: t, url: parsed, base: base, client: &http.Client{Transport: base, CheckRedirect: reach.Redirect}})
		s.listing.Tools = append(s.listing.Tools, toolserver.Definition{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Output: t.Output, Annotations: annotations(t.Method)})
	}
	return s, nil
}

// repeats reports whether net/http would send the request of a tool again by itself, where a connection that had
// been used before breaks behind it. Such a tool has no connection that is used twice: nobody knows whether the
// server has run what it has read.
func repeats(t Tool) bool {
	for name := range t.Headers {
		if name = http.CanonicalHeaderKey(name); name == "Idempotency-Key" || name == "X-Idempotency-Key" {
			return true
		}
	}
	return t.Method == http.MethodGet
}

// annotations are what a method says of itself (RFC 9110, 9.2).
func annotations(method string) json.RawMessage {
	switch method {
	case http.MethodGet:
		return json.RawMessage(`{"readOnlyHint":true,"idempotentHint":true}`)
	case http.MethodPut, http.MethodDelete:
		return json.RawMessage(`{"readOnlyHint":false,"idempotentHint":true}`)
	}
	return json.RawMessage(`{"readOnlyHint":false,"idempotentHint":false}`)
}

// List is what the configuration says.
func (s *Server) List(context.Context) (*toolserver.Listing, error) {
	l := s.listing
	return &l, nil
}

// Close ends idle connections.
func (s *Server) Close() error {
	for _, t := range s.tools {
		t.base.CloseIdleConnections()
	}
	return nil
}

// Call sends the request of a tool once. The error is a [*toolserver.Error].
func (s *Server) Call(ctx context.Context, tool string, arguments json.RawMessage) (*toolserver.Result, error) {
	i := slices.IndexFunc(s.tools, func(t *ready) bool { return t.Name == tool })
	if i < 0 {
		return nil, &toolserver.Error{Kind: toolserver.UnknownTool, Message: fmt.Sprintf("Tool server %q has no tool %.80q.", s.name, tool)}
	}
	t := s.tools[i]
	req, err := t.request(ctx, arguments)
	if err != nil {
		return nil, &toolserver.Error{Kind: toolserver.InvalidArguments, Message: fmt.Sprintf("The arguments of %s cannot be sent: %v.", tool, err), Err: err}
	}
	var sent atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn:      func(string) { sent.Store(false) }, // again, where it has reached nobody
		WroteHeaders: func() { sent.Store(true) },
	}))
	resp, err := t.client.Do(req)
	if err != nil {
		return nil, s.failure(ctx, sent.Load(), err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, s.failure(ctx, true, err)
	case len(body) > maxAnswer:
		return nil, &toolserver.Error{Kind: toolserver.TooLarge, Message: s.says("gave more than may be read"), Hint: "Ask for less.", Sent: true}
	}
	return s.read(t, resp, body)
}

// request fills in the arguments.
func (t *ready) request(ctx context.Context, arguments json.RawMessage) (*http.Request, error) {
	args, err := members(arguments)
	if err != nil {
		return nil, err
	}
	address, rest, err := t.url.fill(args)
	if err != nil {
		return nil, err
	}
	if t.Body == None && len(rest) > 0 {
		return nil, fmt.Errorf("there is no place for %s", strings.Join(names(rest), ", "))
	}
	var body io.Reader
	kind := ""
	switch t.Body {
	case JSON:
		body, kind = strings.NewReader(object(rest)), "application/json"
	case Form:
		form, err := formOf(rest)
		if err != nil {
			return nil, err
		}
		body, kind = strings.NewReader(form), "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(ctx, t.Method, address, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.1")
	req.Header.Set("User-Agent", "callgate")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	toolserver.HopOf(ctx).Headers(req.Header.Set)
	for name, value := range t.Headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

// Check says what is wrong with a tool, for the configuration. Field is the setting that it is
// about.
func Check(t Tool) (field string, err error) {
	parsed, err := parse(t.URL)
	if err != nil {
		return "url", err
	}
	if _, err := pointer(t.Result); err != nil {
		return "result", err
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(t.Parameters) > 0 {
		if err := json.Unmarshal(t.Parameters, &schema); err != nil {
			return "parameters", fmt.Errorf("it is not the JSON schema of an object")
		}
	}
	for _, name := range parsed.names() {
		if _, ok := schema.Properties[name]; !ok {
			return "url", fmt.Errorf("there is a place for {%s}, and no such property in parameters", name)
		}
	}
	if t.Body == None {
		for _, name := range names(schema.Properties) {
			if !slices.Contains(parsed.names(), name) {
				return "parameters", fmt.Errorf("the argument %s goes nowhere: write {%[1]s} into url, or set body: json", name)
			}
		}
	}
	return "", nil
}
