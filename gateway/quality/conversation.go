package quality

import (
	"encoding/binary"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/callgate/callgate/gateway/internal/subkey"
)

// Conversation is what requests that belong together begin with.
type Conversation struct {
	// Key stands for the client and the beginning: [Book.Key].
	Key uint64
	// Running says that the model has answered already.
	Running bool
}

// maxConversations is how many conversations are remembered, and as many more that were used before.
const maxConversations = 32768

// conversations remembers which arm conversations have, for as long as there is room.
type conversations struct {
	salt [subkey.Size]byte

	mu       *sync.Mutex
	now, old map[uint64]uint8
}

func newConversations(salt []byte) conversations {
	return conversations{salt: subkey.Of(salt, "quality: conversation"), mu: &sync.Mutex{}, now: map[uint64]uint8{}}
}

// Key stands for the beginning of a conversation: who it is, and parts that every request of it has.
func (b *Book) Key(parts ...[]byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(b.keys.salt[:])
	var size [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		_, _ = d.Write(size[:])
		_, _ = d.Write(p)
	}
	return d.Sum64()
}

func (c *conversations) find(key uint64) (arm uint8, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if arm, ok = c.now[key]; ok {
		return arm, true
	}
	if arm, ok = c.old[key]; ok {
		c.set(key, arm)
	}
	return arm, ok
}

func (c *conversations) put(key uint64, arm uint8) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(key, arm)
}

func (c *conversations) set(key uint64, arm uint8) {
	if len(c.now) >= maxConversations {
		c.old, c.now = c.now, make(map[uint64]uint8, maxConversations)
	}
	c.now[key] = arm
}
