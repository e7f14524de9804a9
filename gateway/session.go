package gateway

import "github.com/callgate/callgate/gateway/wire"

// maxSession is how many bytes the name of a conversation has.
const maxSession = 256

// Session is the conversation that a client names in its metadata (metadata.session), else that which
// the gateway keeps, or "". The ledger's rows and the loop guard know it by that.
func (r *Request) Session() string {
	body, at := r.Body.Bytes(), r.Body.Places().Metadata
	if r.Source != nil && r.Source.Metadata != nil {
		body = r.Source.Metadata
		at = wire.Span{End: len(body)}
	}
	if named := sessionOf(body, at); named != "" || r.Source == nil {
		return named
	}
	return r.Source.Conversation[:min(len(r.Source.Conversation), maxSession)]
}

// sessionOf is the name of a conversation in metadata, "" if there is none.
func sessionOf(body []byte, at wire.Span) string {
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
