package responses_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// TestErrorsNameOwnFields holds that what is wrong with a chat completion that a request was made of is told with
// the name of a field that the client has sent, for every field that there is, as place and in the message.
func TestErrorsNameOwnFields(t *testing.T) {
	t.Parallel()
	const request = `{"model":"m","input":"hi","stream":true,"max_output_tokens":99,"temperature":1,"top_p":1,"user":"u","service_tier":"auto",
		"prompt_cache_key":"k","prompt_cache_retention":"24h","safety_identifier":"s","top_logprobs":2,"include":["message.output_text.logprobs"],
		"reasoning":{"effort":"low"},"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{"type":"object"}}},
		"tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":{"type":"function","name":"f"},"parallel_tool_calls":false}`
	r, err := responses.Parse([]byte(request), responses.Options{})
	if err == nil {
		err = r.Translate()
	}
	if err != nil {
		t.Fatal(err)
	}
	var sent, chat map[string]json.RawMessage
	if err := json.Unmarshal([]byte(request), &sent); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Chat(), &chat); err != nil || len(chat) < 18 {
		t.Fatalf("got %v and %d fields in %s", err, len(chat), r.Chat())
	}
	for field := range chat {
		var got struct {
			Error struct{ Message, Param string }
		}
		body := responses.Form.Error(&gateway.Error{Kind: gateway.Invalid, Param: field, Message: fmt.Sprintf("The field %q is wrong.", field)}, "", nil)
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(got.Error.Param, ".")
		if sent[head] == nil || got.Error.Message != fmt.Sprintf("The field %q is wrong.", got.Error.Param) {
			t.Errorf("%s: got %s, which names no field of the request", field, body)
		}
	}
}

// TestFailedResponseCodes holds that a response that has failed has a code that OpenAI's SDKs have in the type of it,
// whatever has failed, and that the gateway's own code is beside it.
func TestFailedResponseCodes(t *testing.T) {
	t.Parallel()
	for kind, want := range map[gateway.Kind]string{
		gateway.Internal: "server_error", gateway.Invalid: "invalid_prompt", gateway.RateLimited: "rate_limit_exceeded", gateway.QuotaExceeded: "rate_limit_exceeded",
		gateway.Unavailable: "server_error", gateway.BadCall: "server_error", gateway.Timeout: "server_error", gateway.RequestLimit: "rate_limit_exceeded",
		gateway.BudgetSpent: "rate_limit_exceeded", gateway.Looping: "invalid_prompt", gateway.InvalidKey: "server_error",
	} {
		r, err := responses.Parse([]byte(`{"model":"m","input":"hi"}`), responses.Options{})
		if err == nil {
			err = r.Translate()
		}
		if err != nil {
			t.Fatal(err)
		}
		e := &gateway.Error{Kind: kind, Message: "No."}
		body := r.Object(responses.Failed, e)
		if _, err := responsestest.CheckResponse(body); err != nil {
			t.Errorf("%v: %v", e.CodeOrDefault(), err)
		}
		var got struct {
			Error struct {
				Code, Message string
				Callgate      struct{ Code string }
			}
		}
		if err := json.Unmarshal(body, &got); err != nil || got.Error.Code != want || got.Error.Callgate.Code != e.CodeOrDefault() && (got.Error.Callgate.Code != "" || want != e.CodeOrDefault()) {
			t.Errorf("%v: got %v, %+v", e.CodeOrDefault(), err, got)
		}
	}
}
