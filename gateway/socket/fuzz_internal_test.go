package socket

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/coder/websocket"
)

// FuzzMessage holds that any message becomes a body or an answer, of which each is JSON; and that a body has
// the members of the message, and asks for a stream.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"type":"response.create","model":"m","input":"x","stream":false}`, `{"type":"response.create","stream_id":"a\u0000","generate":false,"background":null}`,
		`{"type":"response.steer","input":[{}],"previous_response_id":7}`, `{"type":"response.create","background":true}`, `{"ty\u0070e":"response.create"}`,
		`{"type":"response.create","type":"x"}`, ` {} `, `[`, "", `{"type":"response.create","stream":`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, answer := readMessage(websocket.MessageText, text)
		if (m == nil) == (answer == nil) {
			t.Fatalf("%q: got %v and %s, want one of both", text, m, answer)
		}
		if m == nil {
			if !json.Valid(answer) {
				t.Fatalf("%q: got the answer %s", text, answer)
			}
			return
		}
		var asked, body map[string]json.RawMessage
		if json.Unmarshal(text, &asked) != nil || json.Unmarshal(m.body, &body) != nil || string(body["stream"]) != "true" {
			t.Fatalf("%q: got the body %s", text, m.body)
		}
		for name, value := range body {
			if name != "stream" && !bytes.Equal(value, asked[name]) {
				t.Fatalf("%q: got %s of %s in %s", text, name, value, m.body)
			}
		}
		if event := m.inLane([]byte(`{"n":1}`)); !json.Valid(event) {
			t.Fatalf("%q: got the event %s", text, event)
		}
	})
}
