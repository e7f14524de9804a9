package hint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/callgate/callgate/gateway/internal/subkey"
	"github.com/callgate/callgate/gateway/prefix"
)

// LeastKeyed is how long a prompt is, in tokens, before OpenAI caches any of it.
const LeastKeyed = 1024

// commonBytes is how much of a prompt decides its key. OpenAI caches nothing shorter than
// 1,024 tokens, some 3,800 bytes: prompts that differ before that have nothing to share.
// Those that differ behind it do, such as one with a clock at the end of a long system
// prompt, and must not have a key for every minute.
const commonBytes = 7 * 512

// maxSpread is how much of the user's first message tells conversations apart.
const maxSpread = 16 << 10

// Requests of one beginning and key go to one machine up to about 15 a minute, and beyond
// that to others, whose caches are empty (OpenAI, "Prompt caching").
const (
	perKey    = 15
	aim       = 12 // for each of several keys, since conversations are not spread evenly
	maxShards = 1024
	// settled is how long more keys are kept than are needed, which is how long OpenAI
	// keeps a prompt: a pause shall not move conversations.
	settled = 5 * time.Minute
	window  = time.Minute
)

// maxBeginnings bounds how many beginnings are counted; each takes some 200 bytes.
const maxBeginnings = 4096

// Beginning is what all requests of a conversation have in common: the tools and the
// messages up to and with the user's first. All are JSON as the client sent it.
type Beginning struct {
	// Common is the tools and the messages, the user's first among them.
	Common [][]byte
	// First is the user's first message.
	First []byte
}

// Scope is whose prompts may share a key. Members are written with their lengths.
type Scope struct{ Tenant, Provider, Model string }

// Keys makes the keys for OpenAI's field prompt_cache_key. Prompts that begin alike have
// the same one, as long as they come less than 15 times a minute; beyond that there are
// several, and each conversation stays with one of them. It is safe for concurrent use.
type Keys struct {
	common, first [subkey.Size]byte // key what a beginning has in common, and its first message
	now           func() time.Time

	mu    sync.Mutex
	rates *simplelru.LRU[[16]byte, *rate]
}

// NewKeys returns an empty set. The salt is a secret, and the same for all gateways whose
// requests should meet. A nil now is time.Now.
func NewKeys(salt []byte, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	rates, err := simplelru.NewLRU[[16]byte, *rate](maxBeginnings, nil)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &Keys{common: subkey.Of(salt, "prompt_cache_key"), first: subkey.Of(salt, "prompt_cache_key: first"), now: now, rates: rates}
}

// Key counts a request, and returns its key: 32 hexadecimal digits of which the last four
// are the number of the key among those of its beginning. Nobody without the salt can
// tell what it stands for, or find one that another tenant uses.
func (k *Keys) Key(s Scope, b Beginning) string {
	base := k.base(s, b)
	shard := 0
	if n := k.count([16]byte(base)); n > 1 {
		shard = rendezvous(k.spread(b.First), n)
	}
	return fmt.Sprintf("%s%04x", hex.EncodeToString(base[:14]), shard)
}

// base is what all keys of a beginning have in common.
func (k *Keys) base(s Scope, b Beginning) []byte {
	mac := hmac.New(sha256.New, k.common[:])
	for _, text := range []string{s.Tenant, s.Provider, s.Model} {
		var length [8]byte // so that no text runs into the next
		binary.LittleEndian.PutUint64(length[:], uint64(len(text)))
		mac.Write(length[:])
		mac.Write([]byte(text))
	}
	room := commonBytes
	for _, part := range b.Common {
		mac.Write(part[:min(len(part), room)])
		if room -= len(part); room <= 0 {
			break
		}
		mac.Write([]byte{0}) // JSON has no such byte
	}
	return mac.Sum(nil)
}

// spread is a number for the conversation, by the user's first message: a system prompt
// may have a clock in it.
func (k *Keys) spread(first []byte) uint64 {
	mac := hmac.New(sha256.New, k.first[:])
	mac.Write(first[:min(len(first), maxSpread)])
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}

// count counts a request, and returns how many keys its beginning has.
func (k *Keys) count(base [16]byte) int {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	r, known := k.rates.Get(base)
	if !known {
		r = &rate{began: now}
		k.rates.Add(base, r)
	}
	return r.count(now)
}

// rate is how often a beginning is sent, and how many keys it has for that.
type rate struct {
	began           time.Time // of the window at hand
	current, before int       // requests in it, and in the one before
	shards          int
	until           time.Time // the shards are kept
}

// count adds a request, and returns how many keys those before it need. How many came in a
// minute is estimated from two windows, as if those of the earlier one had come evenly.
func (r *rate) count(now time.Time) (shards int) {
	switch passed := now.Sub(r.began); {
	case passed >= 2*window || passed < 0: // a clock may be set back
		r.began, r.current, r.before = now, 0, 0
	case passed >= window:
		r.began, r.current, r.before = r.began.Add(window), 0, r.current
	}
	share := 1 - float64(now.Sub(r.began))/float64(window)
	want := shardsFor(float64(r.current) + share*float64(r.before))
	r.current++
	if want >= r.shards || !now.Before(r.until) {
		r.shards, r.until = want, now.Add(settled)
	}
	return r.shards
}

// shardsFor is how many keys so many requests a minute need.
func shardsFor(perMinute float64) int {
	if int(perMinute) <= perKey {
		return 1
	}
	return min(int(perMinute/aim)+1, maxShards)
}

// rendezvous gives a conversation one of n places. With one place more only those move
// that move there.
func rendezvous(conversation uint64, n int) (best int) {
	var most uint64
	for i := range n {
		if score := prefix.Mix(conversation ^ prefix.Mix(uint64(i)+1)); score > most {
			most, best = score, i
		}
	}
	return best
}
