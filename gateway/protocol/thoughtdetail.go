package protocol

import (
	"bytes"

	"github.com/callgate/callgate/gateway/wire"
)

// thoughtDetail is the type of an entry of reasoning_details that holds what a model has thought in front of its
// call, between the gateway and a client that does not want to see it.
const thoughtDetail = `"callgate.thought"`

// DetailOfThought holds a thought, the inner text of a string of JSON, as an entry of reasoning_details.
func DetailOfThought(inner []byte) []byte {
	return append(append([]byte(`{"type":`+thoughtDetail+`,"text":"`), inner...), `"}`...)
}

// ThoughtOfDetail is the thought, as inner text, of an entry that [DetailOfThought] has made.
func ThoughtOfDetail(detail []byte) (inner []byte, ok bool) {
	if !bytes.Equal(memberOf(detail, "type"), []byte(thoughtDetail)) {
		return nil, false
	}
	if s := wire.Find(detail, wire.Span{End: len(detail)}, "text").Of(detail); isString(s) {
		inner = s[1 : len(s)-1]
	}
	return inner, true
}
