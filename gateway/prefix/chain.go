package prefix

import (
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Sizes of a chain.
const (
	// BlockBytes is the size of a block. 512 bytes are 128 tokens or a few more, the step
	// in which OpenAI counts cached tokens.
	BlockBytes = 512
	// MaxBlocks bounds a chain: what follows the first MiB of a prompt is not hashed.
	MaxBlocks = 2048
)

// Chain holds the hashes of a prompt's whole blocks, in order. Each hash covers its block
// and all before it: two prompts whose chains agree in a place agree up to there. A last
// block that is not whole is left out, so the chain of a prompt that grew at its end
// begins with the chain it had.
type Chain []uint64

// Of returns the chain of a prompt in parts: tools, system, and messages as they are
// sent. The part that grows from turn to turn must be the last, and given without what
// closes it, such as the "]" behind the messages; or each message is a part of its own.
func Of(key Key, parts ...[]byte) Chain {
	size := len(parts)
	for _, p := range parts {
		size += len(p)
	}
	h := NewHasher(key, size)
	for _, p := range parts {
		h.Part(p)
	}
	return h.Chain()
}

// OfIDs returns the chain of blocks that have ids in the place of bytes, as in a trace.
// An id may stand for its block alone or for all up to it. Such a chain has nothing in
// common with one of bytes.
func OfIDs(key Key, ids []int64) Chain {
	c := make(Chain, 0, min(len(ids), MaxBlocks))
	s := key.sip()
	last := s.sum(rootOfIDs, 0)
	for _, id := range ids[:cap(c)] {
		last = s.sum(last, uint64(id))
		c = append(c, last)
	}
	return c
}

// Share returns how many blocks of the chain a number of cached tokens is, when the
// prompt has total tokens in all. Providers count tokens; the share of the bytes is taken
// to be that of the tokens. It is between 0 and the chain's length.
func (c Chain) Share(cached, total int) int {
	if cached <= 0 || total <= 0 {
		return 0
	}
	share := math.Min(1, float64(cached)/float64(total))
	return int(share * float64(len(c)))
}

// What a chain starts from, by its kind.
const (
	rootOfSeed = iota
	rootOfBytes
	rootOfIDs
)

// Hasher makes the chain of a prompt that comes in pieces. It keeps no byte of them: what
// is written is hashed at once.
//
// A block is hashed by xxhash64 with a secret seed, for its speed, and the result goes
// with the hash before it through SipHash-2-4. xxhash alone would be too weak: collisions
// can be made that hold for half of all seeds, and who sees hashes can compute the seed.
// Behind SipHash the hashes tell nothing. What remains is that a tenant can make two
// texts that collide under its own key, and mislead the routing of its own requests.
type Hasher struct {
	sip     sip
	seed    uint64
	block   xxhash.Digest
	missing int // bytes to the end of the block
	parts   bool
	last    uint64
	chain   Chain
}

// NewHasher returns a hasher for a prompt of about size bytes; a wrong size costs an
// allocation and no more.
func NewHasher(key Key, size int) *Hasher {
	s := key.sip()
	h := &Hasher{sip: s, seed: s.sum(rootOfSeed, 0), last: s.sum(rootOfBytes, 0), missing: BlockBytes}
	h.chain = make(Chain, 0, min(max(size, 0)/BlockBytes, MaxBlocks))
	h.block.ResetWithSeed(h.seed)
	return h
}

// Part begins the next part of the prompt, with p.
func (h *Hasher) Part(p []byte) {
	if h.parts {
		h.write([]byte{0}) // JSON has no such byte
	}
	h.parts = true
	h.write(p)
}

// Write goes on with the part at hand. It returns len(p) and no error, for io.Writer.
func (h *Hasher) Write(p []byte) (int, error) {
	h.parts = true
	h.write(p)
	return len(p), nil
}

func (h *Hasher) write(p []byte) {
	for len(p) >= h.missing && len(h.chain) < MaxBlocks {
		_, _ = h.block.Write(p[:h.missing]) // never fails
		p = p[h.missing:]
		h.last = h.sip.sum(h.last, h.block.Sum64())
		h.chain = append(h.chain, h.last)
		h.block.ResetWithSeed(h.seed)
		h.missing = BlockBytes
	}
	if len(h.chain) < MaxBlocks {
		_, _ = h.block.Write(p)
		h.missing -= len(p)
	}
}

// Chain returns the chain of what was written so far. Writing may go on: the chain does
// not change with it, and the next one begins with it.
func (h *Hasher) Chain() Chain { return slices.Clip(h.chain) }
