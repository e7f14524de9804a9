package anthropic

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// repeated is what the deltas of one text have in common, and the chunks that are made of them: nearly all of a stream
// differ in their text alone. It is for clients of the Messages API.
type repeated struct {
	before, after         []byte // of a block of the stream, around the text; empty: nothing is known
	lineBefore, lineAfter []byte // of the line with it
	chunk, end            []byte // of the frame
	of                    *block
	thinks                bool // the text is reasoning, and kept
	misses                int  // texts in a row that were learned for nothing
}

// maxMisses is how many texts are learned for nothing.
const maxMisses = 32

// again makes a frame of a block that differs from the one before in its text alone, and reports false for any other.
func (s *stream) again(b *wire.Block) bool {
	r := &s.repeated
	raw := b.Raw
	if len(r.before) == 0 || b.Cut || len(raw) <= len(r.before)+len(r.after) || len(raw) > maxEvent || !bytes.HasPrefix(raw, r.before) || !bytes.HasSuffix(raw, r.after) {
		return false
	}
	piece := raw[len(r.before) : len(raw)-len(r.after)]
	if !isInner(piece) {
		return false
	}
	r.misses = 0
	blocks := &s.decoder.blocks
	if r.thinks && blocks.keep(r.of, len(piece)) {
		r.of.thinking = append(r.of.thinking, piece...)
	}
	o := &s.origins
	o.number++
	out := make([]byte, 0, lineRoom+len(raw)+len(r.chunk)+len(piece)+len(r.end))
	out = wire.AppendOrigin(out, wire.Origin{Number: o.number, Data: r.lineBefore})
	out = append(append(append(out[:len(out)-1], piece...), r.lineAfter...), '\n')
	at := len(out) + len("data: ")
	out = append(append(append(out, r.chunk...), piece...), r.end...)
	s.chunks.frames = append(s.chunks.frames, gateway.Frame{Raw: out, Data: out[at : len(out)-len("\n\n")]})
	return true
}

// isInner reports whether b is what stands between the quotes of a JSON string.
func isInner(b []byte) bool {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c < ' ' || c == '"':
			return false
		case c != '\\':
			continue
		}
		if i++; i == len(b) {
			return false
		}
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			if i+4 >= len(b) || slices.ContainsFunc(b[i+1:i+5], isNoHex) {
				return false
			}
			i += 4
		default:
			return false
		}
	}
	return true
}

func isNoHex(c byte) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F')
}

// learn takes note of a block of which one frame was made. plain says that nothing of those before stands in that.
func (s *stream) learn(b *wire.Block, data value, plain bool) {
	misses := s.repeated.misses
	s.repeated = repeated{misses: misses}
	o := &s.decoder.blocks
	if !plain || misses > maxMisses || len(s.chunks.frames) != 1 || s.chunks.frames[0].Data == nil || o.waits > 0 || len(o.owed) > 0 {
		return
	}
	of, piece := o.pieceOf(data)
	at := bytes.Index(b.Raw, data)
	if of == nil || at < 0 {
		return
	}
	frame, name := s.chunks.frames[0], chunkMembers[of.kind]
	chunk := bytes.Index(frame.Data, []byte(name)) + len(name)
	if chunk < len(name) || !bytes.HasPrefix(frame.Data[chunk:], piece.Of(data)) {
		return
	}
	line, flat := wire.AppendFlat(nil, b.Raw)
	if !flat || bytes.HasPrefix(b.Raw, []byte(bom)) || bytes.Count(b.Raw, []byte("\r")) != bytes.Count(b.Raw, []byte("\r\n")) {
		return
	}
	from, to := at+piece.Start+1, at+piece.End-1
	end := frame.Raw[len(frame.Raw)-len(frame.Data)-len("\n\n"):]
	s.repeated = repeated{
		before: bytes.Clone(b.Raw[:from]), after: bytes.Clone(b.Raw[to:]), lineBefore: line[:from:from], lineAfter: line[to:],
		chunk: append([]byte("data: "), frame.Data[:chunk+1]...), end: bytes.Clone(end[chunk+piece.End-piece.Start-1:]),
		of: of, thinks: of.kind == "thinking", misses: misses + 1,
	}
}

// chunkMembers are what stands in a chunk in front of a piece of a block's text.
var chunkMembers = map[string]string{"text": `"delta":{"content":`, "thinking": `"delta":{"reasoning_content":`, "tool_use": `"function":{"arguments":`}

// pieceOf is the block of whose text an event has a piece, and where that stands in it; nil for another event.
func (o *openBlocks) pieceOf(data value) (of *block, piece wire.Span) {
	event, ok := once(data, wire.Span{End: len(data)}, "type", "index", "delta")
	if !ok || text(event[0].Of(data)) != "content_block_delta" {
		return nil, piece
	}
	kind := text(get(event[2].Of(data), "type"))
	delta, ok := once(data, event[2], "type", textMembers[kind])
	of = o.blocks[number(event[1].Of(data))]
	if !ok || of == nil || kind != textDeltas[of.kind] || !isString(delta[1].Of(data)) {
		return nil, piece
	}
	return of, delta[1]
}

// textDeltas are the deltas of a block's text.
var textDeltas = map[string]string{"text": "text_delta", "thinking": "thinking_delta", "tool_use": "input_json_delta"}

// once are the places of members of an object; ok is false where one is not there, or more than once.
func once(data value, object wire.Span, names ...string) (at []wire.Span, ok bool) {
	at = make([]wire.Span, len(names))
	ok = true
	wire.Members(data[:object.End], object.Start, func(key []byte, v wire.Span) bool {
		if i := slices.Index(names, string(wire.Key(key))); i >= 0 {
			ok = ok && at[i].Empty()
			at[i] = v
		}
		return true
	})
	return at, ok && !slices.ContainsFunc(at, wire.Span.Empty)
}
