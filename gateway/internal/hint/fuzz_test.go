package hint_test

import (
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/hint"
	"github.com/callgate/callgate/gateway/wire"
)

// FuzzRequest reads any text without a panic. Valid messages stay valid with marks, a
// request never changes itself, and one that goes on from it changes nothing either.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`[]`, `null`, `{}`, `[{"content":5"cache_control":1}]`, `[{"role":"user","content":"What is the weather?"}]`, `[{"role":"user","content":[{"type":"text","text":"\ud83d\ude00"}]}`,
		`[{"cache_control":{"a":[{"cache_control" : 1}]},"role":"user","content":[{"text":"x","cache_control":null,"type":"text"}]}]`,
		`[{"role":"assistant"},{"role":"tool","tool_call_id":"a","content":"\"cache_control\":"},5,{"\u0063ache_control":1}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, messages []byte) {
		c := conversation.Read(messages)
		h := hint.NewHistories()
		if change := h.See(nil, nil, c); change != nil {
			t.Fatalf("got the change %s of the first request", change)
		}
		r := hint.Request{Tools: messages, Talk: c}
		_, deep := wire.Depth(messages, 128)
		valid := deep < 0 && jsontext.Value(messages).IsValid()
		for _, form := range []hint.Form{hint.Members, hint.Parts} {
			tools, edits := hint.Marks(r, form, 0)
			if valid && !hint.HasKey(messages, "cache_control") {
				for _, out := range [][]byte{apply(messages, tools), apply(messages, edits)} {
					if !jsontext.Value(out).IsValid() {
						t.Fatalf("got %s, want JSON", out)
					}
				}
			}
		}
		if !valid || len(c.Messages) == 0 {
			return
		}
		if got, want := hint.HasKey(messages, "cache_control"), hasKey(messages); got != want {
			t.Fatalf("got HasKey %v, want %v", got, want)
		}
		end := messages[:len(messages)-len(messages[c.Messages[len(c.Messages)-1].At.End:])]
		more := append(append([]byte{}, end...), `,{"role":"assistant","content":"Yes."},{"role":"user","content":"And?"}]`...)
		if change := h.See(nil, nil, conversation.Read(more)); change != nil && c.Messages[len(c.Messages)-1].Role != conversation.Assistant {
			t.Fatalf("got the change %s of %s", change, more)
		}
	})
}

// hasKey is a second reading, by encoding/json.
func hasKey(b []byte) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(b, &object) == nil {
		for key, v := range object {
			if key == "cache_control" || hasKey(v) {
				return true
			}
		}
		return false
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) == nil {
		for _, v := range list {
			if hasKey(v) {
				return true
			}
		}
	}
	return false
}
