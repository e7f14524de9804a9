// Package history repairs the conversation that a client sends with its request,
// for upstreams that demand more of it than others: arguments that parse, a result
// for every call, ids of a form. A conversation goes wrong by what happened to it
// before: a stream was cut, a user interrupted a call, another model wrote the
// turns so far.
//
// What needs no repair keeps its bytes, and nothing is dropped. Messages stay in
// their order; only a result without a call, which stands between results that have
// one, goes behind them. A repair depends on the messages up to the next one that is
// no tool result, and on no state: so a turn is sent the same way each time, and an
// upstream's cache of the conversation so far stays good.
package history

import (
	"slices"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// The kinds of repair, as a report to the client names them.
const (
	// KindArgs counts calls whose arguments were not a JSON object.
	KindArgs = "history_args"
	// KindResult counts calls that were given a result, which says that there is none.
	KindResult = "history_result"
	// KindOrphan counts results that belong to no call and became user messages.
	KindOrphan = "history_orphan"
	// KindID counts calls that have another id upstream than the client gave them, and
	// results that had none or one of the wrong form.
	KindID = "history_id"
)

// maxEntries bounds what is held of a conversation, some hundred bytes for each of
// its calls and results. None that means anything has as many.
const maxEntries = 1 << 18

// Fix repairs the text of a call's arguments, which is not a strict JSON object. ok is
// false where that would be a guess. The caller of Repair gives the one that repairs
// the calls of answers, so that both follow the same rules. text is valid until it
// returns, and fixed may be a part of it.
type Fix func(text []byte) (fixed []byte, ok bool)

// Repair returns the edits that c.Text needs, in the order of the text and apart
// from each other, and how many repairs of each kind they are. Both are nil if
// nothing is needed.
//
// It is the array messages of a chat completion request, in JSON that was
// validated. Whatever in it is not made as OpenAI's reference says is left for the
// upstream to complain about. Without a fix, broken arguments are only quoted.
//
// Arguments that cannot be repaired are kept as a text, 4 MiB of them in all: no model writes that
// much. Of a conversation with more the error is ErrTooLong.
//
// Time and memory are linear in it. A text of nothing but the shortest calls,
// the worst, grows by a factor of fourteen. A conversation of more than 262,144 calls
// and results is left as it is: the error is ErrTooMany.
func Repair(c *conversation.Conversation, needs Needs, fix Fix) (edits []wire.Edit, repairs map[string]int, err error) {
	if needs == (Needs{}) {
		return nil, nil, nil
	}
	r := repairer{text: c.Text, needs: needs, fix: fix, ids: map[string]known{}}
	for _, m := range c.Messages {
		if r.message(m); r.entries > maxEntries {
			return nil, nil, ErrTooMany
		}
		if r.kept > MaxKept {
			return nil, nil, ErrTooLong
		}
	}
	r.endTurn()
	slices.SortFunc(r.edits, func(a, b wire.Edit) int { return a.At.Start - b.At.Start })
	return r.edits, r.repairs, nil
}

// IDs returns the ids that the calls and results of a conversation have, and how many
// calls there are. The reader of an answer asks, to give a new call an id that the
// conversation does not have yet, and Kimi's next number. It does not look further
// than 262,144 calls.
func IDs(c *conversation.Conversation) (inUse map[string]bool, calls int) {
	inUse = map[string]bool{}
	use := func(at wire.Span) {
		if id, ok := conversation.Decode(c.Text, at); ok && len(id) > 0 {
			inUse[string(id)] = true
		}
	}
	for _, m := range c.Messages {
		if isResult(c.Text, m) {
			use(m.CallID)
		} else if m.Role == conversation.Assistant {
			eachCall(c.Text, m.Calls, func(e entry) bool {
				calls++
				use(e.id)
				return calls < maxEntries
			})
		}
		if calls >= maxEntries || len(inUse) >= maxEntries {
			break
		}
	}
	return inUse, calls
}

// repairer reads a conversation message by message and collects edits.
type repairer struct {
	text  []byte
	needs Needs
	fix   Fix

	edits   []wire.Edit
	repairs map[string]int
	entries int // calls and results so far
	kept    int // bytes of arguments that were kept as texts

	calls   []call
	ids     map[string]known // by what the client, or the upstream, calls them
	turn    turn
	scratch []byte
}

// message takes in the next message. Results are collected until the turn ends,
// which any other message does.
func (r *repairer) message(m conversation.Message) {
	if isResult(r.text, m) {
		if r.entries++; r.needs.links() {
			r.turn.results = append(r.turn.results, result{at: m.At, id: m.CallID})
		}
		return
	}
	r.endTurn()
	r.turn = turn{head: m.At, first: len(r.calls), results: r.turn.results[:0]}
	if m.Role == conversation.Assistant {
		r.readCalls(m.Calls)
	}
}

// readCalls repairs what stands in the calls of one message, and has them wait for
// their results.
func (r *repairer) readCalls(list wire.Span) {
	eachCall(r.text, list, func(e entry) bool {
		if r.entries++; r.needs.Arguments {
			r.repairArguments(e.function)
		}
		if r.needs.links() {
			r.addCall(e)
		}
		return r.entries <= maxEntries
	})
	// Of calls with the same id the first is to be found first.
	for i := len(r.calls) - 1; i >= r.turn.first; i-- {
		c := &r.calls[i]
		k := r.ids[c.id]
		c.under = k.waiting
		k.waiting = i + 1
		r.ids[c.id] = k
	}
}

func (r *repairer) edit(at wire.Span, with []byte) {
	r.edits = append(r.edits, wire.Edit{At: at, With: with})
}

// set gives a member of object a value, in JSON. at is the place of the one it has,
// or empty.
func (r *repairer) set(object, at wire.Span, name string, value []byte) {
	if !at.Empty() {
		r.edit(at, value)
		return
	}
	with := append([]byte(`"`+name+`":`), value...)
	if !wire.Blank(r.text[object.Start+1 : object.End-1]) {
		with = append(with, ',')
	}
	r.edit(wire.Span{Start: object.Start + 1, End: object.Start + 1}, with)
}

func (r *repairer) count(kind string) {
	if r.repairs == nil {
		r.repairs = map[string]int{}
	}
	r.repairs[kind]++
}
