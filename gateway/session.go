package gateway

import "github.com/callgate/callgate/gateway/wire"

// maxSession is how many bytes the name of a conversation has.
const maxSession = 256

// Session is the conversation that a client names in its metadata (metadata.session), else that which
// the gateway keeps, or "". The ledger's rows and the loop guard know it by that.
func (r *Request) Session() string {
	if named := r.namedSession(); named != "" || r.Source == nil {
		return named
	}
	return r.Source.Conversation[:min(len(r.Source.Conversation), maxSession)]
}

func (r *Request) namedSession() string {
	body, at := r.Bytes(), r.Places().Metadata
	if r.Source != nil && r.Source.Metadata != nil {
		body = r.Source.Metadata
		at = wire.Span{End: len(body)}
	}
	if at.IsNull(body) || body[at.Start] != '{' {
		return ""
	}
	value := wire.Find(body, at, "session")
	if value.IsNull(body) || body[value.Start] != '"' {
		return ""
	}
	text := wire.Unquote(value.Of(body))
	return text[:min(len(text), maxSession)]
}
