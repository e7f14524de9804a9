package messages

import (
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

// maxKept is how many bytes of thoughts are kept for a call that may follow.
const maxKept = 256 << 10

// kept is what the model has thought that the client does not want to see. With a call the client gets it in a seal:
// DeepSeek and Kimi refuse the next turn of a call whose reasoning_content is missing, and Gemini over OpenRouter
// wants its reasoning_details back; see LiteLLM's llms/deepseek and llms/moonshot, chat/transformation.py.
type kept struct {
	tools   bool     // the request has tools: there may be a call
	thought []byte   // inner text
	details [][]byte // blocks
	size    int
	lost    bool // there was no room, or no use, for all of it
	called  bool // there was a call
}

// room reports whether there is room for another n bytes. Half of a thought is none.
func (k *kept) room(n int) bool {
	if k.lost = k.lost || !k.tools || k.size+n > maxKept; k.lost {
		k.thought = nil
	}
	k.size += n
	return !k.lost
}

// keepThought keeps a piece of the reasoning.
func (b *blocks) keepThought(inner []byte) {
	if b.kept.room(len(inner)) {
		b.kept.thought = append(b.kept.thought, inner...)
	}
}

// encrypted takes a block of what only the upstream can read.
func (b *blocks) encrypted(block value) error {
	if b.shown != hidden {
		return b.opaque(block)
	}
	if b.kept.room(len(block)) {
		b.kept.details = append(b.kept.details, slices.Clone(block))
	}
	return nil
}

// release gives the client what was kept, once there is a call. calls says that one begins or goes on in this
// chunk: what is thought behind it comes in pieces, and is for the next one.
func (b *blocks) release(calls bool) error {
	k := &b.kept
	k.called = k.called || calls
	if calls && len(k.thought) > 0 {
		detail := protocol.DetailOfThought(k.thought)
		k.size, k.thought = k.size-len(k.thought), nil
		if err := b.opaque(sealedBlock(detail)); err != nil {
			return err
		}
	}
	for ; k.called && len(k.details) > 0; k.details = k.details[1:] {
		if err := b.opaque(k.details[0]); err != nil {
			return err
		}
	}
	return nil
}

// sealedBlock is the block in which a client keeps an entry of reasoning_details.
func sealedBlock(detail []byte) value {
	return append(wire.AppendQuoted([]byte(`{"type":"redacted_thinking","data":`), gateway.SealDetail(detail)), '}')
}

// hasHidden reports whether there were thoughts that the client got in no form.
func (b *blocks) hasHidden() bool {
	k := &b.kept
	return b.hid || b.shown == hidden && (k.lost || len(k.thought) > 0 || len(k.details) > 0) || b.shown == sealed && k.called && k.lost
}

// hasElements reports whether a value is an array with something in it.
func hasElements(v value) bool { return isArray(v) && !protocol.IsHollow(v) }
