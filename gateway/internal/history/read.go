package history

import (
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// isResult says whether a message is a result. One whose id is neither a string nor missing is
// none, but something of the client's own.
func isResult(text []byte, m conversation.Message) bool {
	_, ok := conversation.Decode(text, m.CallID)
	return ok && m.Role == conversation.Tool
}

// entry is one of a message's calls.
type entry struct {
	at, id, function, custom wire.Span
}

// eachCall calls f for the calls in a message's list of them until it returns false. What has neither an id
// nor a function to call is none, and neither is what has an id that is no string.
func eachCall(text []byte, list wire.Span, f func(entry) bool) {
	if list.Empty() {
		return
	}
	wire.Elements(text[:list.End], list.Start, func(_ int, at wire.Span) bool {
		e := entry{at: at}
		conversation.Members(text, at, func(key []byte, v wire.Span) bool {
			switch string(key) {
			case "id":
				e.id = v
			case "function":
				e.function = v
			case "custom":
				e.custom = v
			}
			return true
		})
		id, ok := conversation.Decode(text, e.id)
		if ok && (len(id) > 0 || conversation.IsObject(text, e.function) || conversation.IsObject(text, e.custom)) {
			return f(e)
		}
		return true
	})
}

// name is the name of what is called, or nil.
func (e entry) name(text []byte) []byte {
	called := e.function
	if called.Empty() {
		called = e.custom
	}
	name, _ := conversation.Decode(text, conversation.Member(text, called, "name"))
	return name
}
