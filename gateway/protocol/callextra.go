package protocol

import (
	"bytes"

	"github.com/callgate/callgate/gateway/wire"
)

// extraMember is the member of a call in which Google's servers give what they have signed of the thoughts
// behind it. Gemini 3 refuses a conversation in which it is missing:
// https://ai.google.dev/gemini-api/docs/thought-signatures. Other protocols have no place for it beside a
// call, so it goes where they have what was thought.
const extraMember = "extra_content"

// callDetail is the type of an entry of reasoning_details that holds it, between a client and the gateway.
const callDetail = `"callgate.call"`

// DetailOfCall is what belongs to a call, an entry of tool_calls, and is to come back with it: as an entry of
// reasoning_details, nil if there is nothing. known is the call's id where an earlier piece has said it.
func DetailOfCall(entry, known []byte) []byte {
	extra, id := memberOf(entry, extraMember), memberOf(entry, "id")
	if len(id) <= len(`""`) {
		id = known
	}
	if extra == nil || extra[0] != '{' || IsHollow(extra) || len(id) <= len(`""`) || id[0] != '"' {
		return nil
	}
	b := append([]byte(`{"type":`+callDetail+`,"id":`), id...)
	return append(append(append(b, `,"`+extraMember+`":`...), extra...), '}')
}

// IsDetailOfCall reports whether [DetailOfCall] has made an entry of reasoning_details.
func IsDetailOfCall(detail []byte) bool {
	return bytes.Equal(memberOf(detail, "type"), []byte(callDetail))
}

// Extras are what belongs to calls, by their ids.
type Extras map[string][]byte

// Take takes an entry of reasoning_details if [DetailOfCall] has made it, and returns the id of its call. It may have
// come from a client, who can write one: what it holds goes to the upstream, where a client of chat completions could
// send it too.
func (e *Extras) Take(detail []byte) (id string, ok bool) {
	if !IsDetailOfCall(detail) {
		return "", false
	}
	id = wire.Unquote(memberOf(detail, "id"))
	if extra := memberOf(detail, extraMember); extra != nil && extra[0] == '{' && id != "" {
		if *e == nil {
			*e = Extras{}
		}
		(*e)[id] = bytes.Clone(extra)
	}
	return id, true
}

// AppendExtra appends what belongs to a call, unless it is nil, behind another member of its entry.
func AppendExtra(b, extra []byte) []byte {
	if extra == nil {
		return b
	}
	return append(append(b, `,"`+extraMember+`":`...), extra...)
}

func memberOf(object []byte, name string) []byte {
	if at := wire.Find(object, wire.Span{End: len(object)}, name); !at.IsNull(object) {
		return at.Of(object)
	}
	return nil
}
