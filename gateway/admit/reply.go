package admit

import (
	"bytes"
	"io"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// reply is an answer whose request holds something. It settles when the answer has ended, before the client
// knows that it has.
type reply struct {
	gateway.Reply
	account  *account
	head     []byte // what all chunks say of themselves, in JSON, without the end of the object
	left     []*wire.Frame
	replayed bool
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
	if r.account.hold.cuts && r.Streamed() && r.account.isCut() {
		return r.end()
	}
	f, err := r.Reply.Next()
	if err != nil || f != nil && (f.Done || !r.Streamed()) {
		r.account.finish(r.replayed)
	}
	if f != nil && r.account.hold.cuts && r.head == nil && f.IsChunk() {
		r.head = head(f.Data)
	}
	return f, err
}

// end ends an answer that a budget cuts, as if the model had no more tokens.
func (r *reply) end() (*gateway.Frame, error) {
	_ = r.Reply.Close() // nobody reads on
	r.account.finish(r.replayed)
	r.done = true
	if r.head == nil { // it is no chat
		return nil, &gateway.Error{Kind: gateway.BudgetSpent, Message: "The budget is spent: the answer is cut here (on_exceed: cut)."}
	}
	last := wire.Event(append(bytes.Clone(r.head), `"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`...))
	last.More = true
	r.left = []*wire.Frame{{Raw: []byte("data: [DONE]\n\n"), Done: true}}
	return &last, nil
}

// head is the beginning of a chunk like another one.
func head(data []byte) []byte {
	b := []byte{'{'}
	for _, key := range []string{"id", "object", "created", "model"} {
		if at := wire.Find(data, wire.Span{End: len(data)}, key); !at.Empty() {
			b = append(append(wire.AppendKey(b, key), at.Of(data)...), ',')
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
