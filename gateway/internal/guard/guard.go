package guard

import (
	"sync"

	"github.com/callgate/callgate/gateway/internal/ledger"
)

// DefaultThreshold is the score from which an answer is a ghost. On the first runs of seven blind sets
// it has 7 of 1,422 correct answers wrong, where 0.7 has 38 (TestFirstRuns, docs/guard-figures.md).
const DefaultThreshold = 0.85

// Intent is a rule of the operator: a message of the user that has one of some words or
// phrases must lead to the call of a tool.
type Intent struct {
	// Match are words and phrases. They match whole words in any case; a star at the end
	// stands for any ending. Chinese, Japanese, Korean and Thai ones match anywhere. One may
	// begin with a sign, as commands do: "/delete" matches where no word is in front of it.
	Match []string
	// Expect is the name of the tool. A rule counts only in requests that offer it.
	Expect string
}

// Settings configure a guard. The zero value has no rules.
type Settings struct {
	// Threshold is the score from which an answer is a ghost, above 0 and at most 1.
	// 0 is DefaultThreshold.
	Threshold float64
	Intents   []Intent
}

// Guard judges answers. It is safe for concurrent use.
type Guard struct {
	threshold float64
	lexicons  *lexicons
	intents   *intents
	toolboxes toolboxes
}

// New makes a guard. The lexicons are read with the first one, which takes some 100
// milliseconds.
func New(s Settings) *Guard {
	g := &Guard{threshold: s.Threshold, lexicons: loadLexicons(), intents: compileIntents(s.Intents)}
	if g.threshold <= 0 {
		g.threshold = DefaultThreshold
	}
	return g
}

// Choice is what the request's tool_choice says: none, required, or the one tool that
// must be called.
type Choice struct {
	None, Required bool
	Tool           string
}

// Answer is what is known of an answer.
type Answer struct {
	// Text is its content so far, without reasoning.
	Text string
	// Calls are the names of the tools that it called so far.
	Calls []string
	// Finish is the finish_reason, if there is one.
	Finish string
	// Done says that the answer is over.
	Done bool
	// Rejected is a tool that the model has called in place of this answer, and whose call was given back to it as it
	// could not be used: what the call was for is due.
	Rejected string
}

// Case is one request whose answer is judged. It is used by one goroutine and for one
// choice of the answer.
type Case struct {
	guard   *Guard
	talk    talk
	demand  demand
	turn    turn
	history history
	wish    wish // read with the first answer
	stream  stream
	room    room
}

// room is what a case needs to judge, and leaves to the next one.
type room struct {
	said    [1 + wishContext]*reading
	signals []Signal
	claims  []claim
	echo    echo
}

// cases are those that are over.
var cases = sync.Pool{New: func() any { return &Case{} }}

// Free gives a case back that nobody asks any more. Its verdicts stay.
func (k *Case) Free() {
	for _, r := range k.wish.said {
		k.guard.lexicons.free(r)
	}
	clear(k.room.signals)
	clear(k.room.claims)
	clear(k.turn.calls)
	*k = Case{room: room{signals: k.room.signals[:0], claims: k.room.claims[:0]}, turn: turn{calls: k.turn.calls[:0]}}
	cases.Put(k)
}

// Begin takes a request: the ledger of its calls, the names of the tools that it offers, and its
// tool_choice. Time is linear in the conversation; of the turns before the last message
// of the user little is decoded, and only where an answer needs it.
func (g *Guard) Begin(l *ledger.Ledger, tools []string, choice Choice) *Case {
	c := l.Conversation
	k := cases.Get().(*Case) //nolint:forcetypeassert // there is nothing else in it
	k.guard, k.talk = g, talk{lexicons: g.lexicons, chat: c, last: l.Last()}
	k.turn.ledger, k.history = l, history{talk: &k.talk, ledger: l}
	k.demand = demand{choice: choice, offered: tools}
	if !k.demand.isIdle() && g.intents != nil && l.Last() >= 0 {
		k.demand.unmet = g.intents.expect(g.lexicons, c.Said(c.Messages[l.Last()]), tools, l.Turn())
	}
	return k
}

// prepare reads the request, which only answers without a call need.
func (k *Case) prepare() {
	if k.talk.tools != nil {
		return
	}
	k.talk.tools = k.guard.toolboxes.get(k.guard.lexicons, k.demand.offered)
	k.turn.ledger.Named(k.talk.tools)
	k.turn.read(k.talk.tools)
}
