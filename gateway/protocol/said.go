package protocol

import "github.com/callgate/callgate/gateway/wire"

// Said is what the message of a whole chat completion says that the blocks or items of other protocols say too, to find
// what the gateway has changed of them.
type Said struct {
	Text                        []byte // the content as JSON
	Content, Refusal, Reasoning string
	Calls                       []SaidCall
}

// SaidCall is a call by strings of JSON. ID and Arguments are nil where it has none.
type SaidCall struct{ ID, Name, Arguments []byte }

// ReadSaid reads a message; ok is false if it is not in the form that those of upstreams of these protocols get.
func ReadSaid(message []byte) (m Said, ok bool) {
	ok = true
	wire.Members(message, 0, func(key []byte, at wire.Span) bool {
		if at.IsNull(message) {
			return true
		}
		switch v := at.Of(message); string(key) {
		case "content":
			m.Text, m.Content = v, wire.Unquote(v)
			ok = ok && isString(v)
		case "refusal":
			m.Refusal = wire.Unquote(v)
		case "reasoning_content":
			m.Reasoning = wire.Unquote(v)
		case "function_call":
			ok = false
		case "tool_calls":
			m.Calls = nil
			wire.Elements(v, 0, func(_ int, at wire.Span) bool {
				c := readSaidCall(at.Of(v))
				ok = ok && isString(c.Name) && (c.ID == nil || isString(c.ID))
				m.Calls = append(m.Calls, c)
				return true
			})
		}
		return ok
	})
	return m, ok
}

func readSaidCall(call []byte) (c SaidCall) {
	wire.Members(call, 0, func(key []byte, at wire.Span) bool {
		switch v := at.Of(call); {
		case at.IsNull(call):
		case string(key) == "id":
			c.ID = v
		case string(key) == "function":
			c.Name, c.Arguments = member(v, "name"), member(v, "arguments")
		}
		return true
	})
	if c.Arguments != nil && !isString(c.Arguments) { // an object where its text should be
		c.Arguments = wire.AppendQuoted(nil, c.Arguments)
	}
	return c
}

// member is a member of an object, nil for none, or null.
func member(object []byte, name string) []byte {
	at := wire.Find(object, wire.Span{End: len(object)}, name)
	if at.IsNull(object) {
		return nil
	}
	return at.Of(object)
}

func isString(v []byte) bool { return len(v) >= 2 && v[0] == '"' }
