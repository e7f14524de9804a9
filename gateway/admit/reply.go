package admit

import (
	"bytes"
	"io"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// reply is an answer whose request holds something. It settles when the answer has ended, before the client
// knows that it has.
type reply struct {
	gateway.Reply
	account  *account
	summary  *gateway.Summary
	cutter   *cutter // nil where no budget cuts the answer
	replayed bool
}

// Next implements gateway.Reply.
func (r *reply) Next() (*gateway.Frame, error) {
	c := r.cutter
	if c != nil && c.done {
		return c.next()
	}
	if by, cut := r.account.cut(); c != nil && cut {
		r.summary.WarnCut(by)
		_ = r.Reply.Close() // nobody reads on
		r.account.finish(r.replayed)
		return c.end()
	}
	f, err := r.Reply.Next()
	if err != nil || f != nil && (f.Done || !r.Streamed()) {
		r.account.finish(r.replayed)
	}
	if c != nil && f != nil && f.IsChunk() {
		c.follow(f)
	}
	return f, err
}

// cutter ends a stream that a budget cuts, as if the model had no more tokens.
type cutter struct {
	head []byte // what all chunks say of themselves, in JSON, without the end of the object
	open []int  // the choices that have begun and have no finish reason yet
	left []*wire.Frame
	done bool
}

// follow notes what a chunk says of itself, and which choices are open behind it.
func (c *cutter) follow(f *wire.Frame) {
	if c.head == nil {
		c.head = head(f.Data)
	}
	choices := f.Choices()
	for i := range choices {
		one := &choices[i]
		at := slices.Index(c.open, one.Index)
		switch {
		case one.Reason != "" && at >= 0:
			c.open = slices.Delete(c.open, at, at+1)
		case one.Reason == "" && at < 0:
			c.open = append(c.open, one.Index)
		}
	}
}

// end returns the first frame of the end.
func (c *cutter) end() (*wire.Frame, error) {
	c.done = true
	if c.head == nil { // it is no chat
		return nil, &gateway.Error{Kind: gateway.BudgetSpent, Message: "The budget is spent: the answer is cut here (on_exceed: cut)."}
	}
	done := wire.Done()
	c.left = []*wire.Frame{&done}
	if len(c.open) == 0 {
		return c.next()
	}
	last := wire.Event(c.last())
	last.More = true
	return &last, nil
}

// next returns what is left of the end.
func (c *cutter) next() (*wire.Frame, error) {
	if len(c.left) == 0 {
		return nil, io.EOF
	}
	f := c.left[0]
	c.left = c.left[1:]
	return f, nil
}

// last is a chunk that ends all choices that are open.
func (c *cutter) last() []byte {
	b := append(wire.AppendKey(bytes.Clone(c.head), "choices"), '[')
	for i, index := range c.open {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendInt(append(b, `{"index":`...), index), `,"delta":{},"finish_reason":"length"}`...)
	}
	return append(b, "]}"...)
}

// head is the beginning of a chunk like another one.
func head(data []byte) []byte {
	b := []byte{'{'}
	for _, key := range []string{"id", "object", "created", "model"} {
		if at := wire.Find(data, wire.Span{End: len(data)}, key); !at.Empty() {
			b = append(wire.AppendKey(b, key), at.Of(data)...)
		}
	}
	return b
}

// Close implements gateway.Reply.
func (r *reply) Close() error {
	err := r.Reply.Close()
	r.account.finish(r.replayed)
	return err
}
