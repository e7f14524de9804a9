package hint

import (
	"crypto/rand"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/prefix"
)

// request is what is kept of one.
type request struct {
	ends     ends
	tools    uint32
	system   int      // how many messages at the beginning are the system's
	messages []uint32 // their hashes
	blocks   []uint32 // hashes of all up to the end of each block
}

// ends are hashes of what a request ends with, 0 where that would say too little: of all
// that users said with the ids of results, and of the last answer with the last message.
type ends [2]uint64

// How many bytes say enough to take a request for another's next: of what users said, and
// of an answer and what follows it.
const (
	leastSaid = 16
	leastTail = 256
)

func (r *request) words() int { return len(r.messages) + len(r.blocks) }

func (r *request) equal(other *request) bool {
	return r.ends == other.ends && r.tools == other.tools && slices.Equal(r.messages, other.messages)
}

// changed says what of r a later request does not begin with, nil if it is nothing. A
// later one that is shorter, and agrees as far as it goes, has changed nothing.
func (r *request) changed(later *request) *Change {
	c := &Change{Part: Tools, Message: -1}
	if r.tools == later.tools {
		c.Message = differ(r.messages, later.messages)
		if c.Message < 0 {
			return nil
		}
		c.Part = Messages
		if c.Message < max(r.system, later.system) {
			c.Part = System
		}
	}
	block := differ(r.blocks, later.blocks)
	if block < 0 { // it is in the last one, which is not whole
		block = min(len(r.blocks), len(later.blocks))
	}
	c.Offset = block * prefix.BlockBytes
	return c
}

// differ is the first place where two lists differ, or -1 if one begins with the other.
func differ(a, b []uint32) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// hasher makes hashes that are of no use to anybody else: they depend on secrets of this
// process.
type hasher struct {
	seed   maphash.Seed
	blocks prefix.Key
}

func newHasher() hasher {
	h := hasher{seed: maphash.MakeSeed()}
	_, _ = rand.Read(h.blocks[:]) // never fails
	return h
}

// read hashes a request. before is what the one before it ended with.
func (h *hasher) read(scope []string, tools []byte, c *conversation.Conversation) (r *request, before ends) {
	r = &request{messages: make([]uint32, 0, len(c.Messages))}
	blocks := prefix.NewHasher(h.blocks, len(tools)+len(c.Text))
	_, _ = blocks.Write(tools) // never fails
	r.tools = uint32(maphash.Bytes(h.seed, tools))
	said := h.begin(scope)
	bytes, last := 0, -1
	end := endBefore(c, len(c.Messages)-1)
	reader := reader{c, nextKey(c.Text, 0, cacheControl) >= 0}
	var pieces [][]byte
	for i := range c.Messages {
		m := &c.Messages[i]
		pieces = reader.message(pieces[:0], m)
		r.messages = append(r.messages, h.message(pieces, blocks))
		switch m.Role {
		case conversation.System:
			if r.system == i {
				r.system++
			}
		case conversation.Assistant:
			last = i
		case conversation.User, conversation.Tool:
			bytes += write(&said, m.CallID.Of(c.Text))
			if m.Role == conversation.User {
				bytes += write(&said, reader.content(pieces[:0], m)...)
			}
		}
		if i != end && i != len(c.Messages)-1 {
			continue
		}
		var all ends
		if bytes >= leastSaid {
			all[0] = said.Sum64()
		}
		if last >= 0 && i > last {
			all[1] = h.tail(scope, &reader, last, i)
		}
		if r.ends = all; i == end {
			before = all
		}
	}
	for _, hash := range blocks.Chain() {
		r.blocks = append(r.blocks, uint32(hash))
	}
	return r, before
}

// begin begins a hash for a scope.
func (h *hasher) begin(scope []string) (out maphash.Hash) {
	out.SetSeed(h.seed)
	for _, s := range scope {
		write(&out, []byte(s))
	}
	return out
}

// write adds pieces of a text to a hash, and what keeps the text apart from the next. It
// returns the length of the text.
func write(h *maphash.Hash, pieces ...[]byte) (n int) {
	for _, p := range pieces {
		_, _ = h.Write(p) // never fails
		n += len(p)
	}
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	return n
}

func (h *hasher) message(pieces [][]byte, blocks *prefix.Hasher) uint32 {
	var sum maphash.Hash
	sum.SetSeed(h.seed)
	for _, p := range pieces {
		_, _ = sum.Write(p)    // never fails
		_, _ = blocks.Write(p) // nor this
	}
	return uint32(sum.Sum64())
}

// tail is the hash of an answer and of the last message behind it.
func (h *hasher) tail(scope []string, reader *reader, answer, last int) uint64 {
	sum := h.begin(scope)
	n := 0
	for _, i := range []int{answer, last} {
		n += write(&sum, reader.message(nil, &reader.c.Messages[i])...)
	}
	if n < leastTail {
		return 0
	}
	return sum.Sum64()
}
