package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callgate/callgate/gateway/toolserver"
)

const (
	// modern is the first version without a handshake and sessions; handshake is the last
	// version before it.
	modern    = "2026-07-28"
	handshake = "2025-11-25"

	maxAnswer = 4 << 20  // bytes of one answer, of whatever form
	maxStream = 16 << 20 // bytes of a stream of notifications, before it is left
	maxPages  = 64
	maxTools  = 1000
	maxList   = 16 << 20 // bytes of all pages
)

// session is one connection.
type session struct {
	cs     *sdk.ClientSession
	legacy bool
	proc   *process // nil over HTTP
	ended  bool     // under Server.mu

	lister sync.Mutex // one asks for the list at a time
	pages  []page     // as they last came, for those that the SDK has kept
}

// page is a page of a list of tools, in the server's own bytes.
type page struct {
	cursor string
	raw    json.RawMessage
}

// open connects, with the handshake of the server's version.
func (s *Server) open(ctx context.Context, legacy bool) (_ *session, err error) {
	at := new(session)
	defer func() {
		if err != nil && at.proc != nil { // also if the SDK has panicked
			at.proc.end()
		}
	}()
	defer protect(&err)
	options := &sdk.ClientSessionOptions{}
	if legacy {
		options.ProtocolVersion = handshake
	}
	var transport sdk.Transport
	if s.web != nil {
		web := &sdk.StreamableClientTransport{
			Endpoint: s.o.URL.String(), HTTPClient: s.web.client, MaxEventSize: maxAnswer + 64<<10,
			MaxRetries:           2, // to resume a stream, which repeats no call
			DisableStandaloneSSE: s.o.Changed == nil,
		}
		if s.o.SignIn != nil {
			web.OAuthHandler = s.o.SignIn
		}
		transport = web
	} else {
		if at.proc, err = start(s.o); err != nil {
			return nil, err
		}
		transport = &watched{Transport: &sdk.IOTransport{Reader: at.proc, Writer: at.proc.stdin, MaxLineLength: maxAnswer}}
	}
	n := &note{all: true}
	at.cs, err = s.client.Connect(n.with(ctx), transport, options)
	if err != nil {
		why := ""
		if at.proc != nil {
			why = at.proc.cause(err)
			at.proc.end()
		}
		return nil, &connectError{err, n, why}
	}
	at.legacy = at.version() < modern
	return at, nil
}

// connectError is why there is no connection.
type connectError struct {
	err error
	n   *note
	why string // what its process says of it; "" for nothing
}

func (e *connectError) Error() string {
	if e.why == "" {
		return e.err.Error()
	}
	return e.err.Error() + "; " + e.why
}
func (e *connectError) Unwrap() error { return e.err }

func (at *session) version() string {
	if r := at.cs.InitializeResult(); r != nil {
		return r.ProtocolVersion
	}
	return ""
}

// close ends the connection. It takes some seconds at most: a process is killed then.
func (at *session) close() {
	if at.proc != nil {
		at.proc.end()
	}
	_ = at.cs.Close()
}

// list asks for all pages of the list.
func (at *session) list(ctx context.Context) (_ *toolserver.Listing, n *note, err error) {
	defer protect(&err)
	at.lister.Lock()
	defer at.lister.Unlock()
	var out toolserver.Listing
	out.Version = at.version()
	var pages []page
	cursor, size := "", 0
	for range maxPages {
		n = new(note)
		result, err := at.cs.ListTools(n.with(ctx), &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, n, err
		}
		raw := at.raw(n, cursor)
		if size += len(raw); size > maxList {
			return nil, n, errTooMuch
		}
		pages = append(pages, page{cursor, raw})
		if err := add(&out, raw, result.Tools); err != nil {
			return nil, n, err
		}
		if ttl := min(time.Duration(result.GetTTLMs())*time.Millisecond, 24*time.Hour); ttl > 0 && (out.TTL == 0 || ttl < out.TTL) {
			out.TTL = ttl
		}
		if len(out.Tools) > maxTools {
			return nil, n, errTooMuch
		}
		if result.NextCursor == "" || result.NextCursor == cursor {
			at.pages = pages
			return &out, n, nil
		}
		cursor = result.NextCursor
	}
	return nil, n, errTooMuch
}

// errTooMuch says that a list has more pages, tools or bytes than any list should.
var errTooMuch = errors.New("the list of tools is too long")

// raw is a page in the server's bytes. If the SDK has answered out of its own memory, since the
// server has said how long the list holds, so do we.
func (at *session) raw(n *note, cursor string) json.RawMessage {
	if raw := n.answer(); raw != nil {
		return raw
	}
	for _, p := range at.pages {
		if p.cursor == cursor {
			return p.raw
		}
	}
	return nil
}

// add reads a page's tools as they were sent. Tools that the SDK has left out cannot be called:
// what they want in headers is against the rules. Nor can those that run as tasks only.
func add(out *toolserver.Listing, raw json.RawMessage, kept []*sdk.Tool) error {
	var own struct {
		Tools []*toolserver.Definition `json:"tools"`
	}
	if raw == nil {
		return errors.New("the list of tools cannot be read")
	}
	if err := json.Unmarshal(raw, &own); err != nil {
		return fmt.Errorf("the list of tools cannot be read: %w", err)
	}
	good := map[string]bool{}
	for _, t := range kept {
		good[t.Name] = true
	}
	tasks := onlyTasks(raw)
	for _, d := range own.Tools {
		switch {
		case d == nil:
		case tasks[d.Name]:
			out.Refused = append(out.Refused, toolserver.Missing{Tool: d.Name, Why: "it runs only as a task (taskSupport: required), and the gateway makes plain calls"})
		case !good[d.Name]:
			out.Refused = append(out.Refused, toolserver.Missing{Tool: d.Name, Why: "what it wants in headers (x-mcp-header) is against the protocol"})
		default:
			out.Tools = append(out.Tools, *d)
		}
	}
	return nil
}

// onlyTasks are the names of a page's tools that refuse a plain call (execution.taskSupport of 2025-11-25).
func onlyTasks(raw json.RawMessage) map[string]bool {
	var page struct {
		Tools []struct {
			Name      string `json:"name"`
			Execution struct {
				TaskSupport string `json:"taskSupport"`
			} `json:"execution"`
		} `json:"tools"`
	}
	if json.Unmarshal(raw, &page) != nil { // what is no text there says nothing
		return nil
	}
	only := map[string]bool{}
	for _, t := range page.Tools {
		only[t.Name] = t.Execution.TaskSupport == "required"
	}
	return only
}

// call runs a tool.
func (at *session) call(ctx context.Context, tool string, arguments json.RawMessage) (_ *toolserver.Result, n *note, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // what still comes of a stream is not read
	n = new(note)
	defer protect(&err)
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	hop := toolserver.HopOf(ctx)
	version := at.version()
	hop.Note(func(f *toolserver.HopFacts) { *f = toolserver.HopFacts{Version: version} })
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	hop.Headers(func(name, value string) {
		if params.Meta == nil {
			params.Meta = sdk.Meta{}
		}
		params.Meta[name] = value
	})
	if _, err := at.cs.CallTool(n.with(ctx), params); err != nil {
		if e := answered(err); e != nil && e.Code != codeRefused {
			hop.Note(func(f *toolserver.HopFacts) { f.Code = int(e.Code) })
		}
		return nil, n, err
	}
	result, err := read(n.answer())
	if err == nil {
		hop.Note(func(f *toolserver.HopFacts) { f.Failed = result.Failed })
	}
	if err == nil && result.Failed && unknownTool(toolserver.Words(result.Text)) {
		err = errUnknownTool // some servers say it in a result
	}
	return result, n, err
}
