// Package ledger keeps account of the calls in a conversation: which were made since the user's
// wish, which of them only looked and which changed something, which failed, and which numbers,
// names and words stand in what they were given and gave back. The execution guard, the loop
// guard and whoever looks for contradictions share one ledger a request.
//
// Everything is read when it is first asked for, and within bounds. Nothing is remembered
// between requests.
package ledger

import (
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/toolresult"
)

// Kind is what a call does.
type Kind uint8

// The kinds.
const (
	Unknown Kind = iota // nothing tells
	Reads               // it leaves everything as it is
	Changes             // it leaves something changed behind
)

// Fact is what is certain of a call, since the gateway ran it.
type Fact struct {
	// ID is that of the call in the conversation.
	ID     string
	Kind   Kind
	Failed bool
}

// Call is a call of the conversation and its result.
type Call struct {
	conversation.Exchange
	Kind Kind
	// Certain says that the gateway ran it: Kind and failure are no guess.
	Certain bool
	// Prose says that the result was read as a failure by a sentence alone.
	Prose bool

	outcome outcome
}

// outcome is what the result of a call says of it, once it was read.
type outcome uint8

const (
	unread outcome = iota
	fine
	failed
)

// Answered reports whether there is a result.
func (c *Call) Answered() bool { return c.Result >= 0 }

// Ledger is that of one request. It is used by one goroutine.
type Ledger struct {
	// Conversation is what the ledger is read from.
	Conversation *conversation.Conversation

	tools []byte // JSON of the offered tools
	facts []Fact
	kinds map[string]Kind
	named Namer // who knows more names; nil is nobody
	last  int   // the last message of the user, or -1
	turn  []Call
	read  bool
}

// maxCalls is how many calls of a turn are looked at, the last ones. What came before counts by
// its name alone.
const maxCalls = 512

// New makes the ledger of a conversation whose request offers tools, a JSON array that may be
// nil. facts are what is certain of its calls.
func New(c *conversation.Conversation, tools []byte, facts ...Fact) *Ledger {
	return &Ledger{Conversation: c, tools: tools, facts: facts, last: c.LastUser(len(c.Messages))}
}

// Namer knows what tools do by their names.
type Namer interface{ KindOf(name string) Kind }

// Named has the ledger ask somebody who knows more names of tools, such as those in other languages,
// what one does that is Unknown to it.
func (l *Ledger) Named(by Namer) {
	l.named = by
	for name, k := range l.kinds {
		if k == Unknown {
			delete(l.kinds, name)
		}
	}
	for i := range l.turn {
		if c := &l.turn[i]; c.Kind == Unknown {
			c.Kind = l.kind(c.Name)
		}
	}
}

// Last is the place of the user's last message, or -1.
func (l *Ledger) Last() int { return l.last }

// Turn are the calls since the user's last message, in their order. They must not be changed.
func (l *Ledger) Turn() []Call {
	if !l.read {
		l.turn, l.read = l.calls(l.Conversation.Exchanges(l.last+1)), true
	}
	return l.turn
}

func (l *Ledger) calls(list []conversation.Exchange) []Call {
	if len(list) == 0 {
		return nil
	}
	calls := make([]Call, len(list))
	for i := range list {
		calls[i] = l.call(list[i])
	}
	return calls
}

func (l *Ledger) call(e conversation.Exchange) Call {
	c := Call{Exchange: e, Kind: l.kind(e.Name)}
	for _, f := range l.facts {
		if f.ID == e.ID && f.ID != "" {
			c.Kind, c.Certain, c.outcome = f.Kind, true, fine
			if f.Failed {
				c.outcome = failed
			}
			return c
		}
	}
	if c.Kind != Reads && callReads(&e.Call) {
		c.Kind = Reads
	}
	return c
}

// dataSize is the size in bytes from which the result of a call that only looks is data: failures
// are told in few words.
const dataSize = 1 << 10

// Failed reports whether the result of a call says so. A call without a result has not.
func (l *Ledger) Failed(c *Call) bool {
	if c.outcome == unread && c.Answered() {
		c.outcome = fine
		if at := l.Conversation.Messages[c.Result].Content; c.Kind == Reads && at.End-at.Start > dataSize {
			return false
		}
		text := toolresult.WithoutAct(c.Name, []byte(l.Said(c)))
		switch {
		case toolresult.Failed(text, toolresult.Likely):
			c.outcome = failed
		case c.Kind != Reads && toolresult.Failed(text, toolresult.Refused):
			c.outcome, c.Prose = failed, true
		}
	}
	return c.outcome == failed
}

// Said is the result of a call, "" if there is none.
func (l *Ledger) Said(c *Call) string {
	if !c.Answered() {
		return ""
	}
	return l.Conversation.Said(l.Conversation.Messages[c.Result])
}

// Changed reports whether a call since the user's last message has changed something, or may
// have: it did not fail, and it is none that only looks.
func (l *Ledger) Changed() bool {
	return l.any(func(c *Call, recent bool) bool {
		return c.Kind == Changes && !recent || recent && l.HasChanged(c)
	})
}

// HasChanged reports whether a call has changed something, or may have.
func (l *Ledger) HasChanged(c *Call) bool {
	return c.Answered() && c.Kind != Reads && !l.Failed(c) && (c.Kind == Changes || acknowledges(l.Said(c)))
}

// Looked reports whether a call since the user's last message has brought something to read.
func (l *Ledger) Looked() bool {
	return l.any(func(c *Call, recent bool) bool {
		return recent && (c.Kind == Reads || c.Kind == Unknown && !acknowledges(l.Said(c))) && !l.Failed(c)
	})
}

// any asks for the calls of the turn that have a result, the last one first. Those before the
// last ones are not recent: nobody waits for so many results to be read.
func (l *Ledger) any(is func(c *Call, recent bool) bool) bool {
	turn := l.Turn()
	for i := len(turn) - 1; i >= 0; i-- {
		if c := &turn[i]; c.Answered() && is(c, i >= len(turn)-maxCalls) {
			return true
		}
	}
	return false
}

// ChangedBefore reports whether a call of an earlier turn has changed something, in the messages
// from one on.
func (l *Ledger) ChangedBefore(from int) bool {
	for i := max(l.last, 0) - 1; i >= from; i-- {
		m := l.Conversation.Messages[i]
		if m.Role != conversation.Assistant || m.Calls.Empty() {
			continue
		}
		for _, call := range l.Conversation.Calls(m) {
			if k := l.kind(call.Name); k == Changes || k == Unknown && !callReads(&call) && l.acknowledged(i+1) {
				return true
			}
		}
	}
	return false
}

// acknowledged reports whether a result from a message on, of those that follow it, is none that
// brings data.
func (l *Ledger) acknowledged(from int) bool {
	for i := from; i < len(l.Conversation.Messages) && l.Conversation.Messages[i].Role == conversation.Tool; i++ {
		if acknowledges(l.Conversation.Said(l.Conversation.Messages[i])) {
			return true
		}
	}
	return false
}
