package gateway

import (
	"bytes"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/repair"
)

// closeChoice ends the calls of a choice. part is its place in the frame, or -1. ok is
// false if the arguments of one are no JSON.
func (n *nativeReply) closeChoice(h *heldFrame, c *nativeChoice, part int, reason string) (ok bool) {
	ok = true
	for i, call := range c.calls {
		if call.closed || call.foreign {
			continue
		}
		n.touch(call)
		from := len(call.text)
		cut := reason == string(openai.FinishReasonLength) && i == len(c.calls)-1
		extra, fine := n.closeCall(call, cut)
		from = min(from, len(call.text))
		if to := len(call.text); to > from {
			n.attach(h, piece{call: call, part: part, from: from, to: to})
		}
		for _, args := range extra {
			n.attach(h, piece{call: n.further(call, args), part: part, begins: true, to: len(args)})
		}
		ok = ok && fine
	}
	return ok
}

// closeCall ends a call. cut says that the model had no more tokens. extra are the
// arguments of further calls, and ok is false if those of the call are no JSON.
func (n *nativeReply) closeCall(call *nativeCall, cut bool) (extra [][]byte, ok bool) {
	call.closed = true
	if !call.begun || len(call.half) > 0 {
		half := call.half
		call.half = nil
		n.feed(call, nil)
		call.text = append(call.text, call.args.Feed(half)...)
	}
	rest, extra, problem := call.args.End()
	if len(extra) > 0 && !n.splits(call, extra) {
		rest = call.unsent(extra)
		problem = &repair.Problem{Class: repair.InvalidJSON,
			Message: "The arguments are several objects, of which not all fit the tool.",
			Hint:    "Give one object, and make several calls if several are meant."}
	}
	call.text = append(call.text, rest...)
	if !call.shown {
		n.show(call)
	}
	n.countRepairs(call, problem == nil)
	switch {
	case problem != nil && cut:
		n.judge.warn("truncated_call")
		return nil, false
	case problem != nil:
		n.refuse(call, call.args.Raw(), problem)
		return nil, false
	}
	n.fault(call, call.args.Class())
	if !call.approved {
		n.check(call)
	}
	return extra, true
}

// countRepairs counts what was done to the arguments of a call. apart says that several
// objects in them were taken apart.
func (n *nativeReply) countRepairs(call *nativeCall, apart bool) {
	for _, kind := range call.args.Repairs() {
		switch kind {
		case repair.ArgsSplit, repair.ArgsRepeated:
			if !apart {
				continue
			}
		case repair.ArgsJSON:
			if call.joined { // it was counted
				continue
			}
		}
		n.repaired(kind)
	}
}

// unsent are the arguments that have not gone out, as they came, of a call with further
// objects behind the first. Where that was mended they are the objects alone.
func (c *nativeCall) unsent(extra [][]byte) []byte {
	if raw := c.args.Raw(); bytes.HasPrefix(raw, c.text) {
		return raw[len(c.text):]
	}
	return bytes.Join(extra, nil)
}

// splits reports whether further objects behind the arguments of a call are calls of
// their own: each of them fits the tool. Otherwise nobody knows what was meant.
func (n *nativeReply) splits(call *nativeCall, extra [][]byte) bool {
	if n.judge.tool(call.name) == nil || len(call.choice.calls)+len(extra) > maxCalls {
		return false
	}
	for _, args := range extra {
		if n.judge.arguments(call.name, string(args)) != nil {
			return false
		}
	}
	return true
}

// further adds a call of the same tool, which the upstream has put behind another.
func (n *nativeReply) further(call *nativeCall, args []byte) *nativeCall {
	id, _ := n.ids.claim(call.choice.index, "", call.name)
	further := call.choice.add(&entryFields{index: -1, name: call.said, typed: true})
	further.name, further.id, further.text = call.name, id, bytes.Clone(args)
	further.shown, further.closed, further.edited = true, true, true
	n.touch(further)
	return further
}

// attach puts arguments where they belong: to the last entry of their call in the
// frame, or in front of the end.
func (n *nativeReply) attach(h *heldFrame, p piece) {
	for i := len(h.pieces) - 1; i >= 0; i-- {
		if own := &h.pieces[i]; own.call == p.call && own.part == p.part && !own.kept {
			own.to = p.to
			return
		}
	}
	if n.Streamed() {
		h.late = append(h.late, p)
	} else {
		h.pieces = append(h.pieces, p)
	}
}
