package meter

import "slices"

// texts are the names under which the APIs write what a model says: text of completions, content and its
// like of chats, delta of OpenAI's Responses, thinking and partial_json of Anthropic's messages.
var texts = []string{"text", "content", "reasoning", "reasoning_content", "reasoning_text", "refusal", "arguments", "delta", "thinking", "partial_json"}

// longestText is how much of a name is kept, to tell these from others.
const longestText = len("reasoning_content")

// spoken counts the bytes of what a model says in the JSON of an answer that nobody else reads. It comes in
// pieces that may end anywhere, as events or as one object.
type spoken struct {
	name     []byte // of the string at hand, or the one before
	within   bool   // a string
	escaped  bool   // the next byte is part of it
	ended    bool   // a string has, which is a name if a colon follows
	speaking bool   // the value at hand is one of texts
}

// count returns how many more bytes a piece has.
func (s *spoken) count(piece []byte) (n int) {
	for _, b := range piece {
		switch {
		case s.within && !s.escaped && b == '"':
			s.within, s.ended, s.speaking = false, !s.speaking, false
		case s.within:
			s.escaped = !s.escaped && b == '\\'
			if s.speaking {
				n++
			} else if len(s.name) <= longestText {
				s.name = append(s.name, b)
			}
		case b == '"':
			s.within, s.ended, s.name = true, false, s.name[:0]
		case b == ':' && s.ended:
			s.ended, s.speaking = false, slices.Contains(texts, string(s.name))
		case !isSpace(b):
			s.ended, s.speaking = false, false
		}
	}
	return n
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }
