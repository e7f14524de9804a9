package messages_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/messages"
)

// TestErrorsNameOwnFields holds that what is wrong with a chat completion that a request was made of is told with
// the name of a field that the client has sent, for every field that there is.
func TestErrorsNameOwnFields(t *testing.T) {
	t.Parallel()
	const request = `{"model":"m","max_tokens":9,"stream":true,"temperature":1,"top_p":1,"top_k":1,"stop_sequences":["a"],"metadata":{"user_id":"u"},
		"thinking":{"type":"enabled","budget_tokens":4096},"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},
		"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},"messages":[{"role":"user","content":"hi"}]}`
	front, err := parse(request)
	if err != nil {
		t.Fatal(err)
	}
	var sent, chat map[string]json.RawMessage
	if err := json.Unmarshal([]byte(request), &sent); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(front.Chat(), &chat); err != nil || len(chat) < 14 {
		t.Fatalf("got %v and %s", err, front.Chat())
	}
	chat["max_completion_tokens"] = nil // which is what a key's cap sets
	for field := range chat {
		body := string(messages.Form.Error(&gateway.Error{Kind: gateway.Invalid, Param: field, Message: fmt.Sprintf("The field %q is wrong.", field)}, "", nil))
		_, rest, _ := strings.Cut(body, `The field \"`)
		name, _, _ := strings.Cut(rest, `\"`)
		if head, _, _ := strings.Cut(name, "."); sent[head] == nil {
			t.Errorf("%s: got %s, which names no field of the request", field, body)
		}
	}
	said := &gateway.Error{Kind: gateway.Rejected, Param: "stop", Message: `The field "stop" is wrong.`, Body: []byte(`{"error":{"message":"The field \"stop\" is wrong."}}`)}
	if body := string(messages.Form.Error(said, "", nil)); !strings.Contains(body, `The field \"stop\"`) {
		t.Errorf("got %s, want the upstream's own words", body)
	}
}
