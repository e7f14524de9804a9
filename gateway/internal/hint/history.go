package hint

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/callgate/callgate/gateway/internal/conversation"
)

// Bounds of what is remembered: together less than 4 MB.
const (
	maxRequests = 4096
	maxWords    = 1 << 19 // of 4 bytes, one for a block and one for a message
	maxTalk     = 4096    // messages of a conversation that is looked at
	maxAlike    = 8       // requests that cannot be told apart
)

// Part is a part of a prompt, in the order in which providers read it.
type Part string

// The parts.
const (
	Tools    Part = "tools"
	System   Part = "system" // the system messages at the beginning
	Messages Part = "messages"
)

// Change says where a request is not what the one before it has led to expect.
type Change struct {
	// Part is the first part that differs. Message is its place among the messages,
	// counted from 0, or -1 for the tools.
	Part    Part
	Message int
	// Offset is where the first differing block of 512 bytes begins. It counts the bytes
	// of the tools' JSON and of the messages', one behind the other, without what stands
	// between them, without marks (cache_control), and with a text that is the only part
	// of its content as a string. What is in front of it can come from a cache.
	Offset int
}

// String writes a change as warnings do: 512@tools, 4096@system, 9216@messages[3].
func (c *Change) String() string {
	if c.Part == Messages {
		return fmt.Sprintf("%d@messages[%d]", c.Offset, c.Message)
	}
	return fmt.Sprintf("%d@%s", c.Offset, c.Part)
}

// Histories notices that a client has changed what it sent before: that the prompt of a
// request does not begin with the one of the request before it. An upstream's cache of it
// is worth nothing then, from the change on.
//
// The request before is not named by anything; it is found by what it ended with. A
// request with an answer of the model's in it follows one that ended in front of the last
// such answer. Two requests that agree in all that users said and all ids of results up
// to there, or in the last answer and what follows it, are taken for the same
// conversation, whatever their tools, system prompt and other messages are.
//
// It would rather say nothing than be wrong. Requests that cannot be told apart, as
// conversations that begin alike, are all kept, and a change is one against each of them;
// of more than eight nothing is said. Nor is of a first message of a few bytes alone, of
// a conversation of more than 4,096 messages, and of a request that came to another
// gateway.
//
// It keeps hashes alone, of 4,096 requests. It is safe for concurrent use.
type Histories struct {
	hash hasher

	mu       sync.Mutex
	requests *simplelru.LRU[*request, struct{}]
	words    int
	ends     map[uint64]*alike // by what a request ends with
}

// alike are requests that end with the same.
type alike struct {
	requests []*request // the latest is the last
	lossy    bool       // one of them was dropped
}

// NewHistories returns one that remembers nothing.
func NewHistories() *Histories {
	h := &Histories{hash: newHasher(), ends: map[uint64]*alike{}}
	requests, err := simplelru.NewLRU(maxRequests, h.dropped)
	if err != nil {
		panic(err) // the size is not positive
	}
	h.requests = requests
	return h
}

// See remembers a request, and returns what it has changed against the one before it, or
// nil. The scope is whose request it is, and what for: requests of different ones have
// nothing in common. tools is the JSON of the list, or nil.
func (h *Histories) See(scope []string, tools []byte, c *conversation.Conversation) *Change {
	if len(c.Messages) == 0 || len(c.Messages) > maxTalk {
		return nil
	}
	r, before := h.hash.read(scope, tools, c)
	h.mu.Lock()
	defer h.mu.Unlock()
	change := h.compare(r, before)
	h.keep(r)
	return change
}

// compare looks for the request before one, by what that ended with.
func (h *Histories) compare(r *request, before ends) (change *Change) {
	for _, end := range before {
		group := h.ends[end]
		if end == 0 || group == nil {
			continue
		}
		for _, earlier := range group.requests {
			c := earlier.changed(r)
			if c == nil {
				return nil
			}
			if change == nil || c.Offset > change.Offset {
				change = c
			}
		}
		if group.lossy { // it may have been the one that was dropped
			return nil
		}
	}
	return change
}

// keep remembers a request, if it is not known.
func (h *Histories) keep(r *request) {
	for _, end := range r.ends {
		if group := h.ends[end]; group != nil {
			if i := slices.IndexFunc(group.requests, r.equal); i >= 0 {
				h.requests.Get(group.requests[i]) // it is in use
				return
			}
		}
	}
	if r.ends == (ends{}) {
		return
	}
	for _, end := range r.ends {
		if group := h.ends[end]; group != nil && len(group.requests) == maxAlike {
			h.requests.Remove(group.requests[0])
		}
	}
	h.words += r.words()
	h.requests.Add(r, struct{}{})
	for _, end := range r.ends {
		if end == 0 {
			continue
		}
		if h.ends[end] == nil {
			h.ends[end] = &alike{}
		}
		h.ends[end].requests = append(h.ends[end].requests, r)
	}
	for h.words > maxWords {
		h.requests.RemoveOldest()
	}
}

// dropped forgets where a request is found, when it is not remembered any more.
func (h *Histories) dropped(r *request, _ struct{}) {
	h.words -= r.words()
	for _, end := range r.ends {
		group := h.ends[end]
		if group == nil {
			continue
		}
		group.lossy = true
		group.requests = slices.DeleteFunc(group.requests, func(other *request) bool { return other == r })
		if len(group.requests) == 0 {
			delete(h.ends, end)
		}
	}
}
