package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
)

// note is what the transport sees of one call and the SDK does not tell: whether it went out,
// the status, and the answer in its own bytes. It travels with the call's context.
type note struct {
	all bool // what goes with the call counts too: it is a handshake

	mu       sync.Mutex
	sent     bool // a byte of the call has left
	status   int  // of HTTP; 0 for none
	tooLarge bool
	id       json.RawMessage // of the call over HTTP, nil if that is not known
	whole    []byte          // an answer that is one JSON-RPC message
	stream   bytes.Buffer    // or one that is a stream of events
	result   json.RawMessage // or, from a process, the result
}

type noteKey struct{}

func (n *note) with(ctx context.Context) context.Context { return context.WithValue(ctx, noteKey{}, n) }

// noteOf finds the note of a request; for what is no call, one that nobody reads.
func noteOf(ctx context.Context) *note {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		return n
	}
	return new(note)
}

func (n *note) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

// facts are what errors are made of.
func (n *note) facts() (sent, tooLarge bool, status int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent, n.tooLarge, n.status
}

// unrun reports whether a call whose session is missing has not run: it did not go out, or was refused for that. One
// that goes on in a stream, or has no answer yet, may have run in a session that was there.
func (n *note) unrun() bool {
	sent, _, status := n.facts()
	return !sent || status == http.StatusNotFound
}

// message is what matters of a JSON-RPC answer.
type message struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
}

// isOf reports whether a message answers the call with an id: a server may send others in its stream.
func (m *message) isOf(id json.RawMessage) bool {
	return id == nil || bytes.Equal(m.ID, id)
}

// answer is the result in the server's own bytes, nil if there is none.
func (n *note) answer() json.RawMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.result != nil {
		return n.result
	}
	if n.whole != nil {
		var m message
		_ = json.Unmarshal(n.whole, &m) // the SDK has read it
		return m.Result
	}
	blocks := wire.NewReader(bytes.NewReader(n.stream.Bytes()), maxAnswer)
	for {
		b, err := blocks.Next()
		if err != nil {
			return nil
		}
		var m message
		if json.Unmarshal(b.Data, &m) == nil && m.Result != nil && m.isOf(n.id) {
			return m.Result
		}
	}
}

// watched is a connection to a process whose calls are noted.
type watched struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (t *watched) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Connection: c, notes: map[jsonrpc.ID]*note{}}, nil
}

type watchedConn struct {
	sdk.Connection
	mu    sync.Mutex
	notes map[jsonrpc.ID]*note // of calls that are open
}

// Write implements sdk.Connection.
func (c *watchedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	req, ok := m.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return c.Connection.Write(ctx, m)
	}
	if ctx.Err() != nil { // it would not be written, and counts as no call that may have run
		return ctx.Err()
	}
	n := noteOf(ctx)
	n.set(func() { n.sent = true })
	toolserver.HopOf(ctx).Note(func(f *toolserver.HopFacts) { f.Request = fmt.Sprint(req.ID.Raw()) })
	c.mu.Lock()
	c.notes[req.ID] = n
	c.mu.Unlock()
	context.AfterFunc(ctx, func() { c.take(req.ID) }) // its answer is not waited for
	return c.Connection.Write(ctx, m)
}

// Read implements sdk.Connection.
func (c *watchedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil && err != io.EOF {
		c.mu.Lock()
		for _, n := range c.notes {
			n.set(func() { n.tooLarge = n.tooLarge || isTooLong(err) })
		}
		c.mu.Unlock()
	}
	if r, ok := m.(*jsonrpc.Response); ok {
		if n := c.take(r.ID); n != nil {
			n.set(func() { n.result = r.Result })
		}
	}
	return m, err
}

func (c *watchedConn) take(id jsonrpc.ID) *note {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.notes[id]
	delete(c.notes, id)
	return n
}
