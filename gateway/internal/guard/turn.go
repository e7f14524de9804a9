package guard

import (
	"strings"

	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/internal/plaintext"
)

// turn is the calls since the user spoke.
type turn struct {
	ledger *ledger.Ledger
	calls  []called
	names  map[string]bool // nil if there are none
}

// called is a call of this turn.
type called struct {
	tool
	call *ledger.Call // nil if only its name is looked at
}

// recent is how many calls of a turn are looked at with their arguments and results. Of
// the ones before only the names are known, each once.
const recent = 64

// read takes the calls from the ledger.
func (t *turn) read(b *toolbox) {
	list := t.ledger.Turn()
	if len(list) == 0 {
		return
	}
	t.names = make(map[string]bool, min(len(list), recent))
	from := max(0, len(list)-recent)
	for i := range list {
		e := &list[i]
		if known := t.names[e.Name]; i < from && (known || len(t.calls) == maxTools) {
			continue
		}
		t.names[e.Name] = true
		c := called{tool: b.get(e.Name)}
		if i >= from {
			c.call = e
			if c.actions&anything != 0 && e.Kind == ledger.Reads {
				c.actions, c.vague = finds, false
			}
		}
		t.calls = append(t.calls, c)
	}
}

// hasFailed reports whether the result of a call says so.
func (t *turn) hasFailed(c *called) bool { return c.call != nil && t.ledger.Failed(c.call) }

// answered reports whether a call of this turn has a result that is looked at.
func (c *called) answered() bool { return c.call != nil && c.call.Answered() }

// failure returns the last call that failed and was not repeated with success, or nil.
func (t *turn) failure() *called {
	succeeded := map[string]bool{}
	for i := len(t.calls) - 1; i >= 0; i-- {
		c := &t.calls[i]
		if !c.answered() {
			continue
		}
		if t.hasFailed(c) && !succeeded[c.name] {
			if c.call.Prose && c.actions&(changes|anything) == 0 { // what it found
				continue
			}
			return c
		}
		succeeded[c.name] = true
	}
	return nil
}

// acts are those of the calls that changed something.
func (t *turn) acts() (a actions) {
	for i := range t.calls {
		if c := &t.calls[i]; c.call != nil && t.ledger.HasChanged(c.call) {
			a |= c.actions
		}
	}
	return a
}

const (
	// maxArgs bounds the arguments that are searched for a name. Longer ones are texts,
	// which name much that no call is for. maxSaid bounds all of them and their results.
	maxArgs = 2 << 10
	maxSaid = 32 << 10
	// maxResult bounds how much of a result is looked at, in bytes.
	maxResult = 4 << 10
)

// saidTo returns the tool whose calls did what is claimed, with all that was
// said to it and that it said, in lower case. It is "" if there is none, or several, or
// not all of it can be read.
func (t *turn) saidTo(c *claim) (tool, said string) {
	var b strings.Builder
	for i := range t.calls {
		x := &t.calls[i]
		if !did(&x.tool, c) {
			continue
		}
		if x.actions&anything != 0 || !x.answered() || tool != "" && tool != x.name {
			return "", ""
		}
		args := x.call.Args()
		if len(args) > maxArgs {
			return "", ""
		}
		tool = x.name
		result := t.ledger.Said(x.call)
		b.Write(args)
		b.WriteByte('\n')
		b.WriteString(plaintext.Ends(result, maxResult, maxResult/2))
		b.WriteByte('\n')
		if b.Len() > maxSaid {
			return "", ""
		}
	}
	if said = b.String(); strings.Contains(said, `\`) { // escapes hide names
		return "", ""
	}
	return tool, strings.ToLower(said)
}

// behind is what the changes of this turn have done.
type behind struct {
	about   things
	changes int
	// does says that one of their tools does what is claimed, and told that its name has the claim's
	// verb, or its result its word: behind {"refund": 20} that it was refunded is narration.
	does, told bool
}

// toldLetters is how many letters of a claim's verb are looked for in a result.
const toldLetters = 5

func (t *turn) behind(c *claim) (b behind) {
	word, n := c.word, 0
	for i := range word {
		if n++; n > toldLetters {
			word = word[:i]
			break
		}
	}
	for i := range t.calls {
		x := &t.calls[i]
		if x.call == nil || !t.ledger.HasChanged(x.call) {
			continue
		}
		b.changes++
		said := plaintext.Ends(t.ledger.Said(x.call), maxResult, maxResult/2)
		b.told = b.told || x.verbs&c.verbs != 0 || strings.Contains(strings.ToLower(said), word)
		b.does = b.does || did(&x.tool, c) && !c.general
		b.about = b.about.or(x.things)
	}
	return b
}
