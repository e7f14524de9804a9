package gateway

import (
	"bytes"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/wire"
)

// piece is an entry of tool_calls, as it goes out.
type piece struct {
	call     *nativeCall // nil: nobody knows what it is, and it stays as it is
	part     int         // the place of its choice in the frame, or -1
	at       wire.Span   // the entry in the frame that it stands for, if there is one
	begins   bool        // it is the first of its call
	kept     bool        // nothing of it changes but its index
	from, to int         // its arguments, in the call's text
}

// rewrite gives a frame out anew, with its calls as they should be.
func (n *nativeReply) rewrite(h *heldFrame) {
	var k chunk
	if h.frame.Data == nil || !locate(&k, h.frame.Data, bodyKey(n.Streamed())) {
		n.writeEnd(h)
		return
	}
	var edits []wire.Edit
	for i := range k.parts {
		edits = append(edits, n.rewritePart(h, &k, i)...)
	}
	emptied := len(edits) > 0 && n.Streamed()
	for _, i := range h.renamed {
		edits = append(edits, wire.Edit{At: k.parts[i].finish, With: []byte(`"` + openai.FinishReasonToolCalls + `"`)})
	}
	if len(edits) == 0 {
		n.out = append(n.out, h.frame)
	} else if data := wire.Splice(k.data, edits); !emptied || !isEmptyChunk(data) {
		n.put(h, data)
	}
}

// rewritePart gives out what has to come before a frame because of one of its choices,
// and returns how that changes.
func (n *nativeReply) rewritePart(h *heldFrame, k *chunk, i int) []wire.Edit {
	p := &k.parts[i]
	entries, had := n.entries(h, i)
	body := wire.Edit{At: p.native, With: wire.AppendElements(nil, []byte("[]"), entries)}
	if had && len(entries) == 0 && n.Streamed() {
		body = wire.Edit{At: p.body, With: wire.Without(p.body.Of(k.data), "tool_calls")}
	}
	if late := n.late(h, i); len(late) > 0 { // they come behind the frame's own, and before its finish reason
		if len(entries) > 0 {
			n.put(h, k.slim().with(unfinished(p.index, wire.Splice(k.data[:p.body.End], []wire.Edit{body})[p.body.Start:])))
			body = wire.Edit{At: p.body, With: []byte("{}")}
		}
		n.putEntries(h, k, p.index, late)
	}
	if !had {
		return nil
	}
	return []wire.Edit{body}
}

// writeEnd gives a frame out that is no chunk, such as the end marker, behind what has
// to come before it.
func (n *nativeReply) writeEnd(h *heldFrame) {
	var k chunk
	if locate(&k, n.template, "delta") {
		for i := range h.late {
			n.putEntries(h, &k, h.late[i].call.choice.index, [][]byte{n.entryOf(h, &h.late[i])})
		}
		for _, index := range h.unfinished {
			n.put(h, k.slim().with(finishOnly(index, []byte(`"`+openai.FinishReasonToolCalls+`"`))))
		}
	}
	if h.frame.Raw != nil {
		n.out = append(n.out, h.frame)
	}
}

// entries are the entries for the tool_calls of a choice. had is false if the frame has
// none to stand for.
func (n *nativeReply) entries(h *heldFrame, part int) (entries [][]byte, had bool) {
	for i := range h.pieces {
		if p := &h.pieces[i]; p.part == part {
			had = true
			if e := n.entryOf(h, p); e != nil {
				entries = append(entries, e)
			}
		}
	}
	return entries, had
}

// late are entries of a choice of which the frame has none.
func (n *nativeReply) late(h *heldFrame, part int) (entries [][]byte) {
	for i := range h.late {
		if p := &h.late[i]; p.part == part {
			entries = append(entries, n.entryOf(h, p))
		}
	}
	return entries
}

// putEntries gives out chunks with nothing but entries of a choice's calls, one each:
// clients take a delta to hold the piece of one.
func (n *nativeReply) putEntries(h *heldFrame, k *chunk, choice int, entries [][]byte) {
	k = k.slim()
	for _, e := range entries {
		n.put(h, k.with(unfinished(choice, append(append([]byte(`{"tool_calls":[`), e...), "]}"...))))
	}
}

// mostCopied is how many bytes a chunk may have of which further ones are made.
const mostCopied = 16 << 10

// slim is the chunk itself, or if it is large one with the few members that clients
// read. Many chunks may be made of one, and what they hold besides must not multiply.
func (k *chunk) slim() *chunk {
	if len(k.data) <= mostCopied {
		return k
	}
	small := []byte{'{'}
	wire.Members(k.data, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "id", "object", "created", "model":
			if v.End-v.Start <= mostCopied/4 {
				small = append(wire.AppendKey(small, string(key)), v.Of(k.data)...)
			}
		}
		return true
	})
	var slim chunk
	locate(&slim, append(wire.AppendKey(small, "choices"), "[]}"...), "delta")
	return &slim
}

// unfinished is a choice of a chunk with a delta and no finish reason.
func unfinished(index int, delta []byte) []byte {
	b := append(wire.AppendInt([]byte(`{"index":`), index), `,"delta":`...)
	return append(append(b, delta...), `,"finish_reason":null}`...)
}

// put gives out a frame like h's with other data.
func (n *nativeReply) put(h *heldFrame, data []byte) {
	if !n.Streamed() {
		n.out = append(n.out, Frame{Raw: data, Data: data})
		return
	}
	before, after := []byte("data: "), []byte("\n\n")
	if h.frame.Data != nil {
		before, after = around(h.frame.Raw, h.frame.Data)
	}
	data = bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '}) // between values of JSON, where it came on several lines
	raw := append(append(append(make([]byte, 0, len(before)+len(data)+len(after)), before...), data...), after...)
	n.out = append(n.out, Frame{Raw: raw, Data: raw[len(before) : len(before)+len(data)]})
}

// entryOf writes the entry that a piece stands for; nil if there is nothing to say.
func (n *nativeReply) entryOf(h *heldFrame, p *piece) []byte {
	old, c := p.at.Of(h.frame.Data), p.call
	switch {
	case c == nil, !n.Streamed() && !p.at.Empty() && (p.kept || !c.edited && c.same(false)):
		return bytes.Clone(old)
	case p.kept:
		out, _ := wire.AppendOthers(wire.AppendInt(wire.AppendKey([]byte{'{'}, "index"), c.wire), old, "index")
		return append(out, '}')
	}
	out, skip := []byte{'{'}, []string{"id", "type", "function"}
	if n.Streamed() {
		out, skip = wire.AppendInt(wire.AppendKey(out, "index"), c.wire), append(skip, "index")
	}
	if p.begins {
		out = wire.AppendQuoted(wire.AppendKey(out, "id"), c.id)
		out = append(wire.AppendKey(out, "type"), `"function"`...)
	}
	out, says := wire.AppendOthers(out, old, skip...)
	function := wire.Find(old, wire.Span{End: len(old)}, "function").Of(old)
	out, more := c.appendFunction(wire.AppendKey(out, "function"), function, p)
	if !says && !more && !p.begins && p.from == p.to {
		return nil
	}
	return append(out, '}')
}

// appendFunction writes the function of an entry, with the members that its old one
// has besides. says reports whether there are any.
func (c *nativeCall) appendFunction(out, old []byte, p *piece) (_ []byte, says bool) {
	out = append(out, '{')
	if p.begins {
		out = wire.AppendQuoted(wire.AppendKey(out, "name"), c.name)
	}
	out, says = wire.AppendOthers(out, old, "name", "arguments")
	out = quoteText(wire.AppendKey(out, "arguments"), c.text[p.from:p.to])
	return append(out, '}'), says
}
