package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/wire"
)

// saveTime bounds how long the end of a response waits for the store.
const saveTime = 20 * time.Second

// prepare makes the chat completion, and sees to it that the response is stored.
func (e *exchange) prepare(ctx context.Context) error {
	s := e.service
	switch {
	case e.Store():
		given, size, err := nameItems(e.NewItems(), "input")
		if err != nil {
			return err
		}
		now := e.Conversation() != "" || e.Background()
		switch large := size > s.o.Record; {
		case large && now:
			return s.shelf.failed(store.ErrTooLarge, "", "")
		case large:
			e.Warn("not_stored", "too_large")
		default:
			e.Stored, e.Save = true, e.save
			e.given = given
		}
		if e.Conversation() != "" {
			e.input = normal(e.given)
			if err := s.shelf.distinct(ctx, e.tenant, e.Conversation(), e.input); err != nil {
				return err
			}
		}
	case e.session != nil && e.Conversation() == "":
		given, _, err := nameItems(e.NewItems(), "input")
		if err != nil {
			return err
		}
		e.Save, e.given = e.keepApart, given
	}
	return e.Translate()
}

// stored are the request's own items as they are stored. Where nobody needs them before, they are
// made when the answer is here, and what went upstream is not needed any more.
func (e *exchange) stored() []store.Item {
	if e.input == nil {
		e.input = normal(e.given)
	}
	return e.input
}

// save stores the response. It is called before the client is told that it is over, and the
// next request of the conversation may come then.
func (e *exchange) save(r responses.Result) error {
	defer e.unlock()
	if _, ok := e.service.shelf.store.(store.Immediate); ok {
		return e.put(context.Background(), r)
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	return e.put(ctx, r)
}

// isCancelled reports whether a response in the background was cancelled or deleted at another
// gateway: what is deleted does not come back.
func (e *exchange) isCancelled(ctx context.Context) bool {
	have, err := e.service.shelf.store.GetResponse(ctx, e.tenant, e.ID())
	return errors.Is(err, store.ErrNotFound) || err == nil && status(have.Body) == responses.Cancelled
}

func (e *exchange) put(ctx context.Context, r responses.Result) error {
	if e.Background() && r.Status != responses.Queued && e.isCancelled(ctx) {
		return nil
	}
	record := &store.Response{ID: r.ID, Previous: e.PreviousResponseID(), Conversation: e.Conversation(), Body: without(r.Response),
		Input: e.stored(), Created: time.Unix(e.Created(), 0)}
	if (e.shorter || e.apart) && e.Conversation() == "" { // the chain begins with what it goes on from
		record.Previous, record.Input = "", slices.Concat(e.earlier, e.stored())
	}
	record.Output = make([]store.Item, 0, len(r.Items))
	for _, item := range r.Items {
		record.Output = append(record.Output, store.Item{ID: item.ID, Body: item.JSON})
	}
	done := r.Status == responses.Completed || r.Status == responses.Incomplete
	err := e.service.shelf.store.PutResponse(ctx, e.tenant, record, done)
	if err == nil {
		return nil
	}
	if e.Conversation() != "" || e.Background() {
		return e.service.shelf.failed(err, "Conversation", e.Conversation())
	}
	why := "failure"
	if errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrFull) {
		why = "too_large"
	}
	e.service.o.Log.Warn("a response was not stored", "id", r.ID, "error", err)
	return &responses.NotStoredError{Why: why, Err: err}
}

// output is the place of a response's output.
func output(response []byte) wire.Span {
	return wire.Find(response, wire.Span{End: len(response)}, "output")
}

// without is a copy of a response without its output items, which are stored by themselves.
func without(response []byte) []byte {
	at := output(response)
	if at.Empty() {
		return bytes.Clone(response)
	}
	return bytes.Join([][]byte{response[:at.Start], []byte("[]"), response[at.End:]}, nil)
}

// prefixes are what ids of input items begin with, by their type.
var prefixes = map[string]string{
	"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "function_call_output": "fco_", "custom_tool_call": "ctc_",
	"custom_tool_call_output": "ctco_", "compaction": "cmp_",
	"mcp_list_tools": "mcpl_", "mcp_call": "mcp_", "mcp_approval_request": "mcpr_", "mcp_approval_response": "mcpa_",
}

const (
	// idDigits is less than what ids of answers have, by which a history tells what was one.
	idDigits = 32
	maxID    = 256
	// quotedID has room for the ids that the gateway makes, in quotes; others take memory of their own.
	quotedID = 80
)

// named is an input item, and what its copy in the store has.
type named struct {
	item     []byte
	id, kind string
	size     int  // of the copy
	typed    bool // the item says its type,
	stated   bool // its status,
	answer   bool // and that it is the model's
}

// readNamed reads an item, without the size.
func readNamed(item []byte) (n named) {
	n.item = item
	var role []byte
	given := false
	wire.Members(item, 0, func(key []byte, v wire.Span) bool {
		if v.IsNull(item) {
			return true
		}
		switch string(key) {
		case "id":
			n.id, given = wire.Unquote(v.Of(item)), true
		case "type":
			n.kind, n.typed = wire.Unquote(v.Of(item)), true
		case "status":
			n.stated = true
		case "role":
			role = v.Of(item)
		}
		return true
	})
	n.answer = wire.Unquote(role) == "assistant"
	if !n.typed {
		n.kind = responses.UntypedItem(role != nil, given)
	}
	return n
}

// nameItems gives input items ids, those of the client's where it has given them, and says how many
// bytes they count in a store.
func nameItems(items [][]byte, place string) (list []named, size int, err error) {
	list = make([]named, 0, len(items))
	for at, item := range items {
		n := readNamed(item)
		if !isID(n.id) {
			return nil, 0, invalid(fmt.Sprintf("%s[%d].id", place, at), "%s[%d].id must have at most %d characters, all of them printable ASCII.", place, at, maxID)
		}
		if n.id == "" {
			n.id = givenID(n.kind)
		}
		n.measure()
		list = append(list, n)
		size += store.Item{ID: n.id}.Size() + n.size
	}
	return list, size, nil
}

// normal makes copies of input items as they are stored and listed: with an id, a type, and
// the content of a message as parts.
func normal(items []named) []store.Item {
	out := make([]store.Item, 0, len(items))
	for i := range items {
		out = append(out, store.Item{ID: items[i].id, Body: items[i].body()})
	}
	return out
}

// renamed is the copy of an item under another id.
func renamed(item []byte, id string) store.Item {
	n := readNamed(item)
	n.id = id
	n.measure()
	return store.Item{ID: id, Body: n.body()}
}

// body is the copy of the item. It is made in one go: an item may have many megabytes.
func (n *named) body() []byte {
	w := normalWriter{b: append(make([]byte, 0, n.size), '{')}
	w.members(n)
	return append(w.b, '}')
}

// measure says how many bytes body makes.
func (n *named) measure() {
	w := normalWriter{counts: true}
	w.members(n)
	n.size = len("{}") - len(",") + w.size // the first member has none in front
}

// normalWriter takes the members of the copy of an item: it counts their bytes, or appends them.
type normalWriter struct {
	counts bool
	size   int
	b      []byte
}

// add takes a member, with the pieces of its value.
func (w *normalWriter) add(name string, open string, value []byte, end string) {
	if w.counts {
		w.size += len(`,"":`) + len(name) + len(open) + len(value) + len(end)
		return
	}
	w.b = append(append(append(wire.AppendKey(w.b, name), open...), value...), end...)
}

// members takes the members of the copy of an item.
func (w *normalWriter) members(n *named) {
	var quoted [quotedID]byte
	message := n.kind == "message"
	w.add("id", "", wire.AppendQuoted(quoted[:0], n.id), "")
	if !n.typed {
		w.add("type", "", wire.AppendQuoted(quoted[:0], n.kind), "")
	}
	if message && !n.stated {
		w.add("status", `"completed"`, nil, "")
	}
	wire.Members(n.item, 0, func(key []byte, v wire.Span) bool {
		value := v.Of(n.item)
		switch name := string(key); {
		case name == "id", v.IsNull(n.item) && (name == "type" || name == "status"):
		case message && name == "content" && value[0] == '"': // one text, as parts
			if n.answer {
				w.add(name, `[{"type":"output_text","text":`, value, `,"annotations":[]}]`)
			} else {
				w.add(name, `[{"type":"input_text","text":`, value, "}]")
			}
		default:
			w.add(name, "", value, "")
		}
		return true
	})
}

// isID reports whether a client's id of an item may be kept, or is none.
func isID(id string) bool {
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return len(id) <= maxID
}

// valueOf is a member's value, nil for none or null.
func valueOf(object []byte, name string) []byte {
	at := wire.Find(object, wire.Span{End: len(object)}, name)
	if at.Empty() || at.IsNull(object) {
		return nil
	}
	return at.Of(object)
}

// cut is a copy of an object without a member.
func cut(object []byte, name string) []byte {
	out := []byte{'{'}
	wire.Members(object, 0, func(key []byte, v wire.Span) bool {
		if string(key) != name {
			out = append(wire.AppendKey(out, string(key)), v.Of(object)...)
		}
		return true
	})
	return append(out, '}')
}
