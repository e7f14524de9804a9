package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/store"
)

// carryover keeps what became of a tenant's calls between two requests.
type carryover struct {
	keeper Keeper // nil: nothing is kept
	tenant string
}

func (r *Runner) carryover(tenant string) carryover { return carryover{r.o.Keeper, tenant} }

var errNoStore = errors.New("there is no store")

// leftover is what a turn leaves behind that the client has to go on with: it has seen its own
// calls, and not ours.
type leftover struct {
	Before  string `json:"before,omitempty"`  // messages in front of the turn, each with a comma
	Calls   string `json:"calls,omitempty"`   // entries of tool_calls, each with a comma behind it
	Results string `json:"results,omitempty"` // messages behind the turn, each with a comma in front
}

const (
	// lifetime is how long what ran is kept for the client's next request.
	lifetime = 10 * time.Minute
	// lookedUp is how many turns of a conversation may have left something behind.
	lookedUp = 8
)

// remember keeps what has run in a conversation, under the ids of all calls that the client gets.
func (d carryover) remember(ctx context.Context, c *conversation.Conversation, m leftover, calls []*call) error {
	if d.keeper == nil {
		return errNoStore
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	turn := placeOf(c, len(c.Messages))
	for _, made := range calls {
		err = errors.Join(err, d.put(ctx, turn.key(made.id, made.name), body))
	}
	return err
}

func (d carryover) put(ctx context.Context, key string, body []byte) error {
	return d.keeper.PutResponse(ctx, d.tenant, &store.Response{ID: key, Body: body, Expires: time.Now().Add(lifetime)}, false)
}

// get is what is kept under a key; nil if nothing is.
func (d carryover) get(ctx context.Context, key string) ([]byte, error) {
	if d.keeper == nil {
		return nil, nil
	}
	kept, err := d.keeper.GetResponse(ctx, d.tenant, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return kept.Body, nil
}

// claimed is kept of an approved call as long as its result is not there.
const claimed = "-"

// claim sees that an approved call is made once: by the request that finds nothing kept of it.
func (d carryover) claim(ctx context.Context, id string, pending bool) ([]byte, error) {
	key := approvalKey(id)
	if d.keeper == nil {
		return nil, errNoStore
	}
	if !pending {
		return d.get(ctx, key)
	}
	release, err := d.keeper.Lock(ctx, d.tenant, key)
	if err != nil {
		return nil, err
	}
	defer release()
	body, err := d.get(ctx, key)
	if body != nil || err != nil {
		return body, err
	}
	return nil, d.put(ctx, key, []byte(claimed))
}

// place is where a turn stands in its conversation, as the client knows it.
type place struct {
	said   string            // the last text of the user before it
	before map[namedCall]int // how often it has such a call
}

type namedCall struct{ id, name string }

// placeOf is the place in front of a message.
func placeOf(c *conversation.Conversation, before int) place {
	p := place{before: map[namedCall]int{}}
	if i := c.LastUser(before); i >= 0 {
		p.said = c.Said(c.Messages[i])
	}
	for _, m := range c.Messages[:before] {
		if m.Role == conversation.Assistant {
			for _, call := range c.Calls(m) {
				p.before[namedCall{call.ID, call.Name}]++
			}
		}
	}
	return p
}

// key is what the turn is kept under that makes a call. Ids alone will not do: some upstreams give the same in
// every conversation, and in every turn.
func (p *place) key(id, name string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", id, name, p.said, p.before[namedCall{id, name}]))
	return "run_" + hex.EncodeToString(sum[:16])
}

func approvalKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "run_" + hex.EncodeToString(sum[:16])
}
