package gateway

import (
	"crypto/rand"
	"fmt"

	"github.com/callgate/callgate/gateway/internal/history"
)

// callIDs gives the calls of an answer their ids: the upstream's own, byte for byte,
// as long as no other call of the conversation has it. Clients keep results by id, and
// one that comes twice overwrites what is there.
type callIDs struct {
	req     *Request
	form    history.IDForm
	read    bool            // the conversation was
	history map[string]bool // ids in it
	calls   int             // calls in it and in the answer
	taken   map[choiceID]bool
}

// choiceID is an id in one choice of an answer: a client goes on with one of them.
type choiceID struct {
	choice int
	id     string
}

func newCallIDs(req *Request, needs Needs) *callIDs {
	return &callIDs{req: req, form: needs.IDs, taken: map[choiceID]bool{}}
}

// claim returns the id for a call of a choice. ok is false if it is not the upstream's.
func (c *callIDs) claim(choice int, theirs, name string) (id string, ok bool) {
	if !c.read && !c.req.messages.IsNull(c.req.body) {
		c.history, c.calls = history.IDs(c.req.messages.Of(c.req.body))
	}
	c.read = true
	free := func(id string) bool { return id != "" && !c.history[id] && !c.taken[choiceID{choice, id}] }
	id, ok = theirs, free(theirs)
	for n := c.calls; !free(id); n++ {
		id = "call_" + rand.Text()[:24]
		if c.form == KimiID { // its own form, or the model's next turn suffers
			id = fmt.Sprintf("functions.%s:%d", name, n)
		}
	}
	c.calls++
	c.taken[choiceID{choice, id}] = true
	return id, ok
}

// callID is the id of a call that was read from text: the model's own, if it wrote one
// that is free.
func (r *Response) callID(choice int, model, name string) string {
	if r.ids == nil {
		r.ids = newCallIDs(r.req, r.upstream.needs)
	}
	id, _ := r.ids.claim(choice, model, name)
	return id
}
