package gateway

import (
	"bytes"
	"slices"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/internal/span"
)

// piece is an entry of tool_calls, as it goes out.
type piece struct {
	call     *nativeCall // nil: nobody knows what it is, and it stays as it is
	part     int         // the place of its choice in the frame, or -1
	at       span.Span   // the entry in the frame that it stands for, if there is one
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
	var edits []edit
	for i := range k.parts {
		edits = append(edits, n.rewritePart(h, &k, i)...)
	}
	emptied := len(edits) > 0 && n.Streamed()
	for _, i := range h.renamed {
		edits = append(edits, edit{k.parts[i].finish, []byte(`"` + openai.FinishReasonToolCalls + `"`)})
	}
	if len(edits) == 0 {
		n.out = append(n.out, h.frame)
	} else if data := splice(k.data, edits); !emptied || !isEmptyChunk(data) {
		n.put(h, data)
	}
}

// rewritePart gives out what has to come before a frame because of one of its choices,
// and returns how that changes.
func (n *nativeReply) rewritePart(h *heldFrame, k *chunk, i int) []edit {
	p := &k.parts[i]
	entries, had := n.entries(h, i)
	body := edit{p.native, appendElements(nil, []byte("[]"), entries)}
	if had && len(entries) == 0 && n.Streamed() {
		body = edit{p.body, without(p.body.Of(k.data), "tool_calls")}
	}
	if late := n.late(h, i); len(late) > 0 { // they come behind the frame's own, and before its finish reason
		if len(entries) > 0 {
			n.put(h, k.slim().with(unfinished(p.index, splice(k.data[:p.body.End], []edit{body})[p.body.Start:])))
			body = edit{p.body, []byte("{}")}
		}
		n.putEntries(h, k, p.index, late)
	}
	if !had {
		return nil
	}
	return []edit{body}
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
	span.Members(k.data, 0, func(key []byte, v span.Span) bool {
		switch string(key) {
		case "id", "object", "created", "model":
			if v.End-v.Start <= mostCopied/4 {
				small = append(appendKey(small, string(key)), v.Of(k.data)...)
			}
		}
		return true
	})
	var slim chunk
	locate(&slim, append(appendKey(small, "choices"), "[]}"...), "delta")
	return &slim
}

// unfinished is a choice of a chunk with a delta and no finish reason.
func unfinished(index int, delta []byte) []byte {
	b := append(appendInt([]byte(`{"index":`), index), `,"delta":`...)
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

// without is an object without one of its members.
func without(object []byte, member string) []byte {
	out, _ := appendOthers([]byte{'{'}, object, member)
	return append(out, '}')
}

// entryOf writes the entry that a piece stands for; nil if there is nothing to say.
func (n *nativeReply) entryOf(h *heldFrame, p *piece) []byte {
	old, c := p.at.Of(h.frame.Data), p.call
	switch {
	case c == nil, !n.Streamed() && !p.at.Empty() && (p.kept || !c.edited && c.same(false)):
		return bytes.Clone(old)
	case p.kept:
		out, _ := appendOthers(appendInt(appendKey([]byte{'{'}, "index"), c.wire), old, "index")
		return append(out, '}')
	}
	out, skip := []byte{'{'}, []string{"id", "type", "function"}
	if n.Streamed() {
		out, skip = appendInt(appendKey(out, "index"), c.wire), append(skip, "index")
	}
	if p.begins {
		out = quote(appendKey(out, "id"), c.id)
		out = append(appendKey(out, "type"), `"function"`...)
	}
	out, says := appendOthers(out, old, skip...)
	function := span.Find(old, span.Span{End: len(old)}, "function").Of(old)
	out, more := c.appendFunction(appendKey(out, "function"), function, p)
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
		out = quote(appendKey(out, "name"), c.name)
	}
	out, says = appendOthers(out, old, "name", "arguments")
	out = quoteText(appendKey(out, "arguments"), c.text[p.from:p.to])
	return append(out, '}'), says
}

// appendKey begins a member of an object.
func appendKey(b []byte, key string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), key...), `":`...)
}

// appendOthers writes the members of an object but those that are to be left out, as
// they came. any reports whether there are some.
func appendOthers(b, object []byte, leftOut ...string) (_ []byte, any bool) {
	span.Members(object, 0, func(key []byte, v span.Span) bool {
		if !slices.Contains(leftOut, string(key)) {
			any = true
			b = append(appendKey(b, string(key)), v.Of(object)...)
		}
		return true
	})
	return b, any
}
