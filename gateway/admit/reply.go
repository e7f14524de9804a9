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
	replayed bool
	head     []byte // what all chunks say of themselves, in JSON, without the end of the object
	open     []int  // the choices that have begun and have no finish reason yet
	left     []*wire.Frame
	done     bool
}

// Next implements gateway.Reply.
func (r *reply) Next() (*gateway.Frame, error) {
	if r.done {
		if len(r.left) == 0 {
			return nil, io.EOF
		}
		f := r.left[0]
		r.left = r.left[1:]
		return f, nil
	}
	if r.account.cuts && r.Streamed() && r.account.isCut() {
		return r.end()
	}
	f, err := r.Reply.Next()
	if err != nil || f != nil && (f.Done || !r.Streamed()) {
		r.account.finish(r.replayed)
	}
	if f != nil && r.account.cuts && r.Streamed() && f.IsChunk() {
		if r.head == nil {
			r.head = head(f.Data)
		}
		r.follow(f.Choices())
	}
	return f, err
}

// follow notes which choices are open behind a chunk.
func (r *reply) follow(choices []wire.Choice) {
	for i := range choices {
		c := &choices[i]
		at := slices.Index(r.open, c.Index)
		switch {
		case c.Reason != "" && at >= 0:
			r.open = slices.Delete(r.open, at, at+1)
		case c.Reason == "" && at < 0:
			r.open = append(r.open, c.Index)
		}
	}
}

// end ends an answer that a budget cuts, as if the model had no more tokens.
func (r *reply) end() (*gateway.Frame, error) {
	_ = r.Reply.Close() // nobody reads on
	r.account.finish(r.replayed)
	r.done = true
	if r.head == nil { // it is no chat
		return nil, &gateway.Error{Kind: gateway.BudgetSpent, Message: "The budget is spent: the answer is cut here (on_exceed: cut)."}
	}
	done := wire.Done()
	r.left = []*wire.Frame{&done}
	if len(r.open) == 0 {
		return r.Next()
	}
	last := wire.Event(r.cut())
	last.More = true
	return &last, nil
}

// cut is a chunk that ends all choices that are open.
func (r *reply) cut() []byte {
	b := append(wire.AppendKey(bytes.Clone(r.head), "choices"), '[')
	for i, index := range r.open {
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
