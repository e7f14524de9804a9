package guard

import (
	"sync"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/internal/plaintext"
)

// DefaultThreshold is the score from which an answer is a ghost. On the first runs of seven blind sets
// it has 7 of 1,422 correct answers wrong, where 0.7 has 38 (TestFirstRuns, docs/guards.md).
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
}

// Case is one request whose answer is judged. It is used by one goroutine and for one
// choice of the answer.
type Case struct {
	guard       *Guard
	ledger      *ledger.Ledger
	chat        *conversation.Conversation
	names       []string
	choice      Choice
	last        int // the last message of the user, or -1
	unmet       []expected
	tools       *toolbox        // nil until they are needed
	turn        []called        // the calls since the user spoke
	calledNames map[string]bool // their names, nil if there are none
	before      []tool          // those of earlier turns; nil until they are needed
	wish        *wish           // nil until it is needed
	stream      stream
	room        room
}

// room is what a case needs to judge, and leaves to the next one.
type room struct {
	wish    wish
	said    [1 + wishContext]*reading
	signals []Signal
	claims  []claim
	turn    []called
}

// cases are those that are over.
var cases = sync.Pool{New: func() any { return &Case{} }}

// Free gives a case back that nobody asks any more. Its verdicts stay.
func (k *Case) Free() {
	if k.wish != nil {
		for _, r := range k.wish.said {
			k.guard.lexicons.free(r)
		}
	}
	clear(k.room.signals)
	clear(k.room.claims)
	clear(k.turn)
	*k = Case{room: room{signals: k.room.signals[:0], claims: k.room.claims[:0], turn: k.turn[:0]}}
	cases.Put(k)
}

// called is a call of this turn.
type called struct {
	tool
	call *ledger.Call // nil if only its name is looked at
}

// Begin takes a request: the ledger of its calls, the names of the tools that it offers, and its
// tool_choice. Time is linear in the conversation; of the turns before the last message
// of the user little is decoded, and only where an answer needs it.
func (g *Guard) Begin(l *ledger.Ledger, tools []string, choice Choice) *Case {
	c := l.Conversation
	k := cases.Get().(*Case) //nolint:forcetypeassert // there is nothing else in it
	k.guard, k.ledger, k.chat, k.names, k.choice, k.last = g, l, c, tools, choice, l.Last()
	if len(tools) > 0 && !choice.None && g.intents != nil && k.last >= 0 {
		k.unmet = g.intents.expect(g.lexicons, c.Said(c.Messages[k.last]), tools, l.Turn())
	}
	return k
}

// recent is how many calls of a turn are looked at with their arguments and results. Of
// the ones before only the names are known, each once.
const recent = 64

// prepare reads the request, which only answers without a call need.
func (k *Case) prepare() {
	if k.tools != nil {
		return
	}
	k.tools = k.guard.toolboxes.get(k.guard.lexicons, k.names)
	k.ledger.Named(k.tools)
	list := k.ledger.Turn()
	if len(list) == 0 {
		return
	}
	k.calledNames, k.turn = make(map[string]bool, min(len(list), recent)), k.room.turn[:0]
	from := max(0, len(list)-recent)
	for i := range list {
		e := &list[i]
		if known := k.calledNames[e.Name]; i < from && (known || len(k.turn) == maxTools) {
			continue
		}
		k.calledNames[e.Name] = true
		c := called{tool: k.tools.get(e.Name)}
		if i >= from {
			c.call = e
			if c.actions&anything != 0 && e.Kind == ledger.Reads {
				c.actions, c.vague = finds, false
			}
		}
		k.turn = append(k.turn, c)
	}
}

// KindOf is what a tool does by its name, in any language.
func (b *toolbox) KindOf(name string) ledger.Kind {
	switch t := b.get(name); {
	case t.actions&anything != 0:
	case t.actions&changes == 0:
		return ledger.Reads
	case t.actions&finds == 0:
		return ledger.Changes
	}
	return ledger.Unknown
}

// answered reports whether a call of this turn has a result that is looked at.
func (c *called) answered() bool { return c.call != nil && c.call.Answered() }

// hasFailed reports whether the result of a call says so.
func (k *Case) hasFailed(c *called) bool { return c.call != nil && k.ledger.Failed(c.call) }

// readText reads the answer, and with the first one the user's message.
func (k *Case) readText(text string) *reading {
	to := ""
	if len(text) <= shortAnswer && k.last >= 0 { // "Task removed."
		to = k.edges(k.last)
	}
	r := k.guard.lexicons.readAnswer(text, k.tools.local, to)
	if k.wish == nil {
		k.wish = &k.room.wish
		k.readWish(r.language)
	}
	return r
}

// edges is what is read of a message: its beginning and its end.
func (k *Case) edges(message int) string {
	return plaintext.Ends(k.chat.Saying(k.chat.Messages[message]), maxWish, wishEdge)
}

// shortAnswer is the length in bytes of an answer whose language the user's message tells too.
const shortAnswer = 120

// earlier returns the tools that were called in the turns before.
func (k *Case) earlier() []tool {
	if k.before != nil {
		return k.before
	}
	k.before = []tool{}
	seen := map[string]bool{}
	for _, m := range k.chat.Messages[:max(k.last, 0)] {
		if m.Role != conversation.Assistant || m.Calls.Empty() {
			continue
		}
		for _, call := range k.chat.Calls(m) {
			if !seen[call.Name] {
				seen[call.Name] = true
				k.before = append(k.before, k.tools.get(call.Name))
			}
		}
	}
	return k.before
}
