package guard

import (
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/internal/plaintext"
)

// talk is the conversation as it is read: each message by itself, with the words of this request's tools.
type talk struct {
	lexicons *lexicons
	tools    *toolbox // nil until it is needed
	chat     *conversation.Conversation
	last     int // the last message of the user, or -1
}

// edges is what is read of a message: its beginning and its end.
func (t *talk) edges(message int) string {
	return plaintext.Ends(t.chat.Saying(t.chat.Messages[message]), maxWish, wishEdge)
}

// message reads one message as if it were the last. What was read of it is to be freed.
func (t *talk) message(i int, expected *language) message {
	text := t.edges(i)
	return newMessage(text, t.lexicons.read(text, t.tools.local, expected))
}

// shortAnswer is the length in bytes of an answer whose language the user's message tells too.
const shortAnswer = 120

// answer reads an answer to the last message.
func (t *talk) answer(text string) *reading {
	to := ""
	if len(text) <= shortAnswer && t.last >= 0 { // "Task removed."
		to = t.edges(t.last)
	}
	return t.lexicons.readAnswer(text, t.tools.local, to)
}

// before returns what the assistant said right before the last message of the user, if it did.
func (t *talk) before() (m conversation.Message, ok bool) {
	if t.last < 1 {
		return m, false
	}
	m = t.chat.Messages[t.last-1]
	return m, m.Role == conversation.Assistant
}

// wish is what the user wants: what his last message asks for, and where that is short, those before it.
type wish struct {
	message
	// own is what the last message alone asks for.
	own deed
	// said are all messages that it was read from, whose words an answer may repeat.
	said []*reading
	// first says that he had said nothing before.
	first bool
}

const (
	shortAssent = 24 // bytes: an answer that only agrees
	wishContext = 2  // messages that a short one goes back to
)

// readWish reads the last message of the user, and what it answers to: "yes" asks for
// what the model proposed. The room is for the messages.
func (t *talk) readWish(w *wish, room []*reading, expected *language) {
	if t.last < 0 {
		*w = wish{message: message{read: &reading{}}}
		return
	}
	*w = wish{message: t.message(t.last, expected), first: t.chat.LastUser(t.last) < 0}
	w.said = room
	w.said = append(w.said, w.read)
	if len(w.text) > shortAssent || !w.agrees {
		w.own = w.deed
	} else {
		w.acts = 0 // "correct" is no order to correct something
	}
	if w.actions&changes == 0 && w.isShort() && !w.holdsBack() && !w.composes {
		t.goBack(w, expected)
	}
}

// goBack adds to a short message what those before it ask for, or propose.
func (t *talk) goBack(w *wish, expected *language) {
	for i, left := t.last-1, wishContext; i >= 0 && left > 0; i-- {
		role := t.chat.Messages[i].Role
		if role != conversation.User && role != conversation.Assistant {
			continue
		}
		left--
		before := t.message(i, expected)
		w.deed = w.or(before.deed)
		if !w.plain {
			w.said = append(w.said, before.read)
		} else {
			t.lexicons.free(before.read)
		}
		w.forbids = w.forbids || role == conversation.User && before.forbids && w.actions == 0
	}
}
