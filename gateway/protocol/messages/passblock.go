package messages

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/wire"
)

// begin takes message_start.
func (p *passage) begin(e *upstreamEvent, f *wire.Frame) bool {
	w := p.w
	m := e.find("message")
	content := e.within(m, "content").Of(e.data)
	if !isArray(content) || !p.begun(content) {
		return false
	}
	w.started, p.reason = true, isString(e.within(m, "stop_reason").Of(e.data))
	id, model, usage := e.within(m, "id"), e.within(m, "model"), e.within(m, "usage")
	isMessage := text(e.within(m, "type").Of(e.data)) == "message" && text(e.within(m, "role").Of(e.data)) == "assistant"
	if id.Empty() || !isString(model.Of(e.data)) || !isObject(usage.Of(e.data)) || !isMessage {
		if p.index >= 0 {
			return false
		}
		w.started = false
		w.start(f)
		return true
	}
	h := readHead(m.Of(e.data))
	var edits []wire.Edit
	if string(h.id) != string(id.Of(e.data)) {
		edits = append(edits, wire.Edit{At: id, With: h.id})
	}
	if len(inner(h.model)) == 0 {
		edits = append(edits, wire.Edit{At: model, With: wire.AppendQuoted(nil, cmp.Or(w.summary.Model, w.front.model))})
	}
	w.blocks.content.id = string(inner(h.id))
	p.put(e, edits)
	return true
}

// begun takes the blocks that a message begins with, which have no events of their own.
func (p *passage) begun(content value) bool {
	b := &p.w.blocks
	calls, good := 0, true
	_ = elements(content, func(i int, v value) error {
		p.index = i
		if text(find(v, "type")) == "tool_use" {
			id := find(v, "id")
			good = good && i < maxCalls && len(inner(id)) > 0 && len(inner(find(v, "name"))) > 0 && string(appendToolID(nil, id)) == string(id)
			b.calls = append(b.calls, &call{index: calls, begun: true, ended: true, fed: true, progress: progress{done: true}})
			calls++
		}
		b.content.spoke = true
		p.w.print.index++
		return nil
	})
	return good
}

// start takes the beginning of a block.
func (p *passage) start(e *upstreamEvent, f *wire.Frame) bool {
	b := &p.w.blocks
	c := &b.content
	at := e.find("content_block")
	if c.open != noBlock || len(b.wait) > 0 || len(c.space) > 0 || p.ended || e.index <= p.index || !isObject(at.Of(e.data)) {
		return false
	}
	k, of := p.blockOf(e, at, f)
	if k == noBlock {
		return false
	}
	var edits []wire.Edit
	if k == callBlock {
		id := e.within(at, "id")
		if shown := appendToolID(nil, id.Of(e.data)); string(shown) != string(id.Of(e.data)) {
			edits = append(edits, wire.Edit{At: id, With: shown})
		}
		b.calls, c.call = append(b.calls, of), of
	}
	edits = p.placed(e, edits)
	if k == textBlock && len(inner(e.within(at, "text").Of(e.data))) == 0 {
		p.text = begunText{index: p.index, spoke: c.spoke, events: []begunEvent{{p.frame.Copy(), e.append(nil, edits)}}}
	} else {
		p.put(e, edits)
	}
	c.open, c.next, c.ends = k, next{}, nil
	c.signedBefore = k == thinkingBlock && len(inner(e.within(at, "signature").Of(e.data))) > 0
	c.spoke = c.spoke || k != thinkingBlock
	p.index, p.pieces = e.index, pieces{}
	return true
}

// blockOf is what kind of block begins, with its call, noBlock if it is not as the API has it.
func (p *passage) blockOf(e *upstreamEvent, at wire.Span, f *wire.Frame) (kind, *call) {
	switch text(e.within(at, "type").Of(e.data)) {
	case "":
		return noBlock, nil
	case "text":
		if isString(e.within(at, "text").Of(e.data)) {
			return textBlock, nil
		}
		return noBlock, nil
	case "thinking":
		if thought := e.within(at, "thinking").Of(e.data); isString(thought) && (!p.w.blocks.content.sealed || len(inner(thought)) == 0) {
			return thinkingBlock, nil
		}
		return noBlock, nil
	case "tool_use":
		if of := p.call(e, at, f); of != nil {
			return callBlock, of
		}
		return noBlock, nil
	}
	return opaqueBlock, nil
}

// call is the call that a block begins, nil if it is not as the API has it.
func (p *passage) call(e *upstreamEvent, at wire.Span, f *wire.Frame) *call {
	id, name, input := e.within(at, "id").Of(e.data), e.within(at, "name").Of(e.data), e.within(at, "input").Of(e.data)
	if len(p.w.blocks.calls) >= maxCalls || len(inner(id)) == 0 || len(inner(name)) == 0 || !isObject(input) {
		return nil
	}
	of := &call{index: -1, id: bytes.Clone(id), name: bytes.Clone(name), begun: true}
	for _, f := range append(p.pending, f) {
		for i := range f.Choices() {
			calls := f.Choices()[i].Calls.Of(f.Data)
			_ = elements(calls, func(i int, v value) error {
				if entry := readEntry(i, v); len(inner(entry.name)) > 0 && bytes.Equal(entry.id, id) {
					of.index = entry.index
				}
				return nil
			})
		}
	}
	if of.index < 0 {
		return nil
	}
	if !wire.Blank(input[1 : len(input)-1]) {
		of.fed, of.progress.done = true, true
	}
	return of
}

// placed are edits of an event with its place among the blocks that the client has got.
func (p *passage) placed(e *upstreamEvent, edits []wire.Edit) []wire.Edit {
	if e.index != p.w.print.index {
		edits = append(edits, wire.Edit{At: e.place, With: wire.AppendInt(nil, p.w.print.index)})
	}
	return edits
}

// delta takes a piece of the open block.
func (p *passage) delta(e *upstreamEvent) bool {
	c := &p.w.blocks.content
	at := e.find("delta")
	if c.open == noBlock || e.index != p.index || p.ended || !isObject(at.Of(e.data)) {
		return false
	}
	kind := text(e.within(at, "type").Of(e.data))
	if kind == "" {
		return false
	}
	k, member := c.pieceOf(kind)
	edits := p.placed(e, nil)
	if k != noBlock {
		piece := e.within(at, member)
		if !isString(piece.Of(e.data)) || !p.take(k, inner(piece.Of(e.data))) {
			return false
		}
		p.learn(e, piece, k, edits)
		if k != textBlock || piece.End-piece.Start > len(`""`) {
			p.say()
		}
	} else {
		p.say()
	}
	c.signedBefore = c.signedBefore || c.open == thinkingBlock && kind == "signature_delta"
	p.put(e, edits)
	return true
}

// pieceOf is of what text of the open block a delta has a piece, and the name of that; noBlock for another one.
func (c *content) pieceOf(delta string) (k kind, member string) {
	switch {
	case delta == "text_delta" && c.open == textBlock:
		return textBlock, "text"
	case delta == "thinking_delta" && c.open == thinkingBlock:
		return thinkingBlock, "thinking"
	case delta == "input_json_delta" && c.open == callBlock:
		return callBlock, "partial_json"
	}
	return noBlock, ""
}

// take notes a piece of a text.
func (p *passage) take(k kind, in []byte) bool {
	c := &p.w.blocks.content
	switch {
	case k == thinkingBlock && c.sealed && len(in) > 0:
		return false
	case k == callBlock:
		c.call.fed = c.call.fed || !blank(in)
		c.call.progress.feed(in)
	}
	p.w.print.said += len(in)
	return true
}

// learn notes what deltas have in common that differ from this one in their text alone.
func (p *passage) learn(e *upstreamEvent, piece wire.Span, k kind, edits []wire.Edit) {
	p.pieces = pieces{}
	if !e.named || e.at < 0 {
		return
	}
	from, to := e.at+piece.Start+1, e.at+piece.End-1 // in the block
	out, moved := e.append(nil, edits), 0
	for _, edit := range edits {
		if edit.At.Start < piece.Start {
			moved += len(edit.With) - (edit.At.End - edit.At.Start)
		}
	}
	p.pieces = pieces{kind: k, before: bytes.Clone(e.block[:from]), after: bytes.Clone(e.block[to:]), outBefore: out[: from+moved : from+moved], outAfter: out[to+moved:]}
}

// again takes an event that differs from the one before in its text alone.
func (p *passage) again(block []byte) bool {
	s := &p.pieces
	if len(s.before) == 0 || len(block) < len(s.before)+len(s.after) || !bytes.HasPrefix(block, s.before) || !bytes.HasSuffix(block, s.after) {
		return false
	}
	in := block[len(s.before) : len(block)-len(s.after)]
	if !wire.InString(in) || !p.take(s.kind, in) {
		return false
	}
	p.w.print.dst = append(append(append(p.w.print.dst, s.outBefore...), in...), s.outAfter...)
	return true
}

// end takes the end of the open block.
func (p *passage) end(e *upstreamEvent) bool {
	c := &p.w.blocks.content
	if c.open == noBlock || e.index != p.index || p.ended {
		return false
	}
	p.say()
	p.put(e, p.placed(e, nil))
	if c.call != nil {
		c.call.ended = true
	}
	c.open, c.call, c.signedBefore, p.pieces = noBlock, nil, false, pieces{}
	p.w.print.index++
	return true
}

// finish takes message_delta. Some servers send several.
func (p *passage) finish(e *upstreamEvent) bool {
	b := &p.w.blocks
	if b.content.open != noBlock || len(b.wait) > 0 || !isObject(e.find("delta").Of(e.data)) || !isObject(e.find("usage").Of(e.data)) {
		return false
	}
	p.ended = true
	p.put(e, nil)
	return true
}

// isWhole reports whether the upstream's events are what there is to say of the answer's end.
func (p *passage) isWhole() bool {
	return !p.stopped && p.ended && p.w.end.isOwn(p.w.blocks.outcome()) && (!p.w.summary.Execution || slices.ContainsFunc(p.final, isDelta))
}

// writeEnd writes the events of the answer's end.
func (p *passage) writeEnd() {
	w := p.w
	rest := p.final
	for i, block := range p.final {
		e := readEvent(block)
		var edits []wire.Edit
		if e.kind == messageStop {
			break
		}
		if e.kind == messageDelta && w.summary.Execution && !slices.ContainsFunc(p.final[i+1:], isDelta) {
			at := len(e.data) - len("}")
			edits = append(edits, wire.Edit{At: wire.Span{Start: at, End: at}, With: append([]byte(`,"execution":`), observe.Execution(w.summary, true)...)})
		}
		w.print.dst, rest = e.append(w.print.dst, edits), p.final[i+1:]
	}
	if !w.summary.Replayed() {
		w.print.dst = append(w.print.dst, observe.Comment(w.summary)...)
	}
	if len(rest) == 0 { // it was left out
		w.print.dst = append(w.print.dst, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
	}
	for _, block := range rest {
		e := readEvent(block)
		w.print.dst = e.append(w.print.dst, nil)
	}
}

func isDelta(block []byte) bool {
	e := readEvent(block)
	return e.kind == messageDelta
}
