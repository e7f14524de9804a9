package toolcall

import (
	"crypto/rand"
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/history"
)

// ids gives the calls of an answer their ids: the upstream's own, byte for byte, as long as
// no other call of the conversation has it. Clients keep results by id, and one that comes
// twice overwrites what is there.
type ids struct {
	attempt *gateway.AttemptInfo
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

// claim returns the id for a call of a choice. ok is false if it is not the upstream's.
func (c *ids) claim(choice int, theirs, name string) (id string, ok bool) {
	if sent := c.attempt.Sent; !c.read && sent.MentionsTools() {
		c.history, c.calls = history.IDs(sent.Talk())
	}
	if c.taken == nil {
		c.taken = map[choiceID]bool{}
	}
	c.read = true
	free := func(id string) bool { return id != "" && !c.history[id] && !c.taken[choiceID{choice, id}] }
	id, ok = theirs, free(theirs)
	for n := c.calls; !free(id); n++ {
		id = "call_" + rand.Text()[:24]
		if c.attempt.Needs.IDs == gateway.KimiID { // its own form, or the model's next turn suffers
			id = fmt.Sprintf("functions.%s:%d", name, n)
		}
	}
	c.calls++
	c.taken[choiceID{choice, id}] = true
	return id, ok
}
