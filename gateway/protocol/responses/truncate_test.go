package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// TestTruncation has a prompt that is too long lose its oldest turns, whole ones, and neither its
// instructions nor the last.
func TestTruncation(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 100)
	var items []string
	items = append(items, `{"role":"developer","content":"Be brief."}`)
	for i := range 6 {
		items = append(items, fmt.Sprintf(`{"role":"user","content":"turn %d %s"}`, i, long),
			fmt.Sprintf(`{"type":"function_call","call_id":"c%d","name":"f","arguments":"{}"}`, i),
			fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":"%s"}`, i, long))
	}
	for _, c := range []struct {
		truncation string
		why        gateway.Error
		shorter    bool
		first      string // of the user's turns that are left
	}{
		{"auto", gateway.Error{Code: gateway.CodeOverflow}, true, "turn 4 "},
		{"auto", gateway.Error{Code: gateway.CodeOverflow, Overflow: &gateway.Overflow{Used: 1200, Limit: 1000}}, true, "turn 2 "},
		{"auto", gateway.Error{Code: gateway.CodeOverflow, Overflow: &gateway.Overflow{Used: 100_000, Limit: 1}}, true, "turn 5 "},
		{"auto", gateway.Error{Code: "other"}, false, "turn 0 "},
		{"disabled", gateway.Error{Code: gateway.CodeOverflow}, false, "turn 0 "},
	} {
		r := parse(t, `{"model":"m","truncation":"`+c.truncation+`","input":[`+strings.Join(items, ",")+`]}`)
		ok := r.Shorten(t.Context(), &c.why)
		chat := string(r.Chat())
		at := strings.Index(chat, "turn ")
		if ok != c.shorter || !strings.HasPrefix(chat[at:], c.first) || !strings.Contains(chat, "Be brief.") || !strings.Contains(chat, "turn 5 ") {
			t.Errorf("%+v: got %t and %.60s", c, ok, chat[at:])
		}
		if strings.Count(chat, `"role":"tool"`) != strings.Count(chat, `"role":"user"`) || ok != (len(r.Warnings()) == 1) {
			t.Errorf("%+v: got calls without results, or the warnings %q", c, r.Warnings())
		}
	}
}

// TestTruncationKeepsApprovals has a request for the client's word go together with the word.
func TestTruncationKeepsApprovals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 400)
	r := parse(t, `{"model":"m","truncation":"auto","input":[{"role":"user","content":"turn 0 `+long+`"},`+
		`{"type":"mcp_approval_request","id":"mcpr_1","server_label":"s","name":"f","arguments":"{}"},{"role":"user","content":"turn 1"},`+
		`{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":false},{"role":"user","content":"turn 2"}]}`)
	if !r.Shorten(t.Context(), &gateway.Error{Code: gateway.CodeOverflow}) {
		t.Fatal("nothing was left out")
	}
	if body := string(r.Chat()); !strings.Contains(body, "turn 2") || strings.Contains(body, "turn 1") {
		t.Errorf("got %s, want neither the request, of the oldest turn, nor the word", body)
	}
}
