package store

import (
	"context"
	"time"
)

// Response is one stored response. It holds what came new with it, and names what was
// before: a chain of responses is kept once.
type Response struct {
	ID string
	// Previous is the response before it, or "".
	Previous string
	// Conversation is the conversation it belongs to, or "".
	Conversation string
	// Body is the response's JSON. What it says of input and output items need not be in it.
	Body []byte
	// Input and Output are its items, in their order.
	Input, Output []Item
	// Created is when it was made. Expires is when it will be gone; the store sets both
	// where they are zero, to a millisecond.
	Created, Expires time.Time
}

// Size is how many bytes a response counts.
func (r *Response) Size() int {
	n := overhead + len(r.ID) + len(r.Previous) + len(r.Conversation) + len(r.Body)
	return n + sizeOf(r.Input) + sizeOf(r.Output)
}

// Item is one item of a response or a conversation.
type Item struct {
	ID string
	// Body is the item's JSON, with its id.
	Body []byte
}

// Size is how many bytes an item counts.
func (i Item) Size() int { return overhead + len(i.ID) + len(i.Body) }

func sizeOf(items []Item) (n int) {
	for _, i := range items {
		n += i.Size()
	}
	return n
}

// overhead is what a row takes besides its texts, in memory and on disk, about. It bounds
// the number of items that have none.
const overhead = 256

// Conversation is a list of items with a name and metadata.
type Conversation struct {
	ID string
	// Metadata is a JSON object.
	Metadata []byte
	Created  time.Time
}

// Size is how many bytes a conversation counts without its items.
func (c *Conversation) Size() int { return overhead + len(c.ID) + len(c.Metadata) }

// Page is which part of a list is wanted.
type Page struct {
	// After is the id of the item before the first one wanted, or "".
	After string
	// Limit is the largest number of items, 1 or more.
	Limit int
	// Descending begins with the last item.
	Descending bool
}

// Bounds bound what a chain may bring in.
type Bounds struct {
	// Responses and Bytes are the most that there may be.
	Responses, Bytes int
}

// Responses keeps responses.
type Responses interface {
	// PutResponse stores a response, in the place of one with its id. When it returns
	// without an error the response is safe from the end of the process. With done the
	// response's items also go to the end of its conversation, in the same step; the
	// conversation must be there. A response larger than the limit is ErrTooLarge.
	PutResponse(ctx context.Context, tenant string, r *Response, done bool) error
	// GetResponse returns a response with its items.
	GetResponse(ctx context.Context, tenant, id string) (*Response, error)
	// DeleteResponse deletes a response. A chain that goes through it is broken.
	DeleteResponse(ctx context.Context, tenant, id string) error
	// Chain returns the input and output items of a response and of all before it, oldest
	// first. A chain with a missing link is ErrNotFound, one beyond the bounds ErrTooLong, and
	// one with a response that has a conversation ErrInConversation, whichever comes first.
	// It prolongs the life of all its responses.
	Chain(ctx context.Context, tenant, id string, b Bounds) ([]Item, error)
}

// Items keeps items, which belong to a response or to a conversation.
type Items interface {
	// GetItem returns the item with an id, the one stored last if several have it: that of a
	// conversation, or, where this is "", wherever it is.
	GetItem(ctx context.Context, tenant, conversation, id string) (Item, error)
	// ListInput returns a part of a response's input items, and whether more follow. A
	// page after an item that is not there is ErrNotFound, as a response that is not.
	ListInput(ctx context.Context, tenant, response string, p Page) (items []Item, more bool, err error)
	// ListItems does so for all items of a conversation.
	ListItems(ctx context.Context, tenant, conversation string, p Page) (items []Item, more bool, err error)
	// AddItems appends to a conversation. Several at once stay together.
	AddItems(ctx context.Context, tenant, conversation string, items []Item) error
	// DeleteItem deletes an item of a conversation. A response that has it keeps its own.
	DeleteItem(ctx context.Context, tenant, conversation, id string) error
}

// Conversations keeps conversations.
type Conversations interface {
	// CreateConversation stores a new conversation and its first items.
	CreateConversation(ctx context.Context, tenant string, c *Conversation, items []Item) error
	GetConversation(ctx context.Context, tenant, id string) (*Conversation, error)
	// SetMetadata replaces a conversation's metadata, and returns the conversation.
	SetMetadata(ctx context.Context, tenant, id string, metadata []byte) (*Conversation, error)
	// DeleteConversation deletes a conversation and its items. Responses keep their own.
	DeleteConversation(ctx context.Context, tenant, id string) error
}

// Keeper is the store as a whole.
type Keeper interface {
	// Lock waits until nobody else, in this gateway or another with the same store, has the
	// lock of a name, or until ctx ends. The caller calls release once. The lock of a
	// gateway that was killed frees itself after LockTime. It guards against clients that
	// use one conversation twice at once; a gateway that stood still for longer than
	// LockTime may find that another one has gone on meanwhile, and nothing is lost by that.
	Lock(ctx context.Context, tenant, name string) (release func(), err error)
	// Locked reports whether somebody has the lock.
	Locked(ctx context.Context, tenant, name string) (bool, error)
	// Sweep deletes responses that have expired, and those that have no room, and returns
	// how many.
	Sweep(ctx context.Context) (int, error)
	// Stats counts what is there.
	Stats(ctx context.Context) (Stats, error)
	// Close ends the store. Nothing else is called then.
	Close() error
}

// Store is all of a store. All its methods may be called by many goroutines. What goes in
// and comes out is shared: nobody changes it.
type Store interface {
	Responses
	Items
	Conversations
	Keeper
}

// Immediate is implemented by a store that waits for nobody, so that its callers need no timer.
type Immediate interface{ Immediate() }

// Stats say what a store holds.
type Stats struct {
	// Entries counts responses and conversations.
	Entries, Bytes int64
	// Evicted is how many responses this process has deleted to make room before they
	// expired.
	Evicted uint64
}

// LockTime is how long the lock of a gateway that was killed outlives it.
const LockTime = 15 * time.Second
