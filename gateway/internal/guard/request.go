package guard

import "github.com/callgate/callgate/gateway/internal/conversation"

// wish is what the user's last message asks for.
type wish struct {
	actions actions
	verbs   uint64 // verbs in the names of the tools
	things  things
	// askedBack says that the message only wants to know: "did you delete it?"
	askedBack bool
	// forbids says that nothing is to be done yet.
	forbids bool
	// composes says that a text is wanted.
	composes bool
	// fresh says that something of this moment is asked for.
	fresh bool
	text  string // what was read of the message
	short bool
}

// holdsBack reports whether the user wants nothing to be done now.
func (w *wish) holdsBack() bool { return w.askedBack || w.forbids }

// Bounds of what is read of a message of the user: a request stands at its beginning or
// at its end, and between them may be a document.
const (
	maxWish     = 1000
	wishEdge    = 500
	shortWish   = 90 // bytes: an answer to a question of the model
	wishContext = 2  // messages of the user that a short one goes back to
)

// readWish reads the last message of the user, and what it answers to: "yes" asks for
// what the model proposed.
func readWish(l *lexicons, c *conversation.Conversation, last int, local map[string]meaning, expected *language) wish {
	if last < 0 {
		return wish{}
	}
	w := readMessage(l, cutMiddle(c.Said(c.Messages[last]), maxWish, wishEdge), local, expected)
	if w.actions&changes != 0 || !w.short || w.askedBack || w.forbids {
		return w
	}
	for i, left := last-1, wishContext; i >= 0 && left > 0; i-- {
		m := c.Messages[i]
		if m.Role != conversation.User && m.Role != conversation.Assistant {
			continue
		}
		left--
		said := c.Said(m)
		if said == "" {
			continue
		}
		before := readMessage(l, cutMiddle(said, maxWish, wishEdge), local, expected)
		w.actions |= before.actions
		w.verbs |= before.verbs
		w.things = w.things.or(before.things)
		w.forbids = w.forbids || m.Role == conversation.User && before.forbids && w.actions == 0
	}
	return w
}

func readMessage(l *lexicons, text string, local map[string]meaning, expected *language) wish {
	r := l.read(text, local, expected)
	w := wish{text: text, short: len(text) <= shortWish, composes: r.alsoComposes}
	for _, s := range r.sentences {
		asking := false
		for k := s.first; k < s.last; k++ {
			m := &r.marks[k]
			asking = asking || m.is(inquiry) && (r.opensClause(m.start) || s.closed == '?')
			w.forbids = w.forbids || m.is(forbid)
			w.fresh = w.fresh || m.is(fresh)
			w.composes = w.composes || m.is(composing)
			w.things = w.things.or(m.things)
			if m.is(ask) {
				w.verbs |= m.verbs
				if asking {
					w.actions |= m.actions & finds
				} else {
					w.actions |= m.actions
				}
			}
		}
		if s.closed == '?' {
			w.actions |= finds
		}
		w.askedBack = w.askedBack || asking
	}
	return w
}

// opensClause reports whether nothing but spaces is between a place and the beginning of
// its clause.
func (r *reading) opensClause(at int) bool {
	for at > 0 && r.text[at-1] == ' ' {
		at--
	}
	return at == 0 || isClauseEnd(r.text[at-1])
}

// cutMiddle keeps the beginning and the end of a text that is longer than limit.
func cutMiddle(text string, limit, edge int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := edge, len(text)-edge
	for head > 0 && !runeStart(text[head]) {
		head--
	}
	for tail < len(text) && !runeStart(text[tail]) {
		tail++
	}
	return text[:head] + "\n" + text[tail:]
}

func runeStart(b byte) bool { return b&0xc0 != 0x80 }
