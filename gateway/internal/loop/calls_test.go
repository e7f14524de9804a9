package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/loop"
)

// looks is a conversation in which a tool was called once a round, with a result for each.
func looks(tool string, results ...string) *ledger.Ledger {
	var b strings.Builder
	b.WriteString(`[{"role":"user","content":"Find it."}`)
	for i, result := range results {
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":%q,"arguments":"{\"q\":\"%d\"}"}}]},{"role":"tool","tool_call_id":"c%d","content":%q}`, i, tool, i, i, result)
	}
	b.WriteString("]")
	return ledger.New(conversation.Read([]byte(b.String())), nil)
}

// TestEmptyShapes: results in which nothing was found bring nothing new, in any shape.
func TestEmptyShapes(t *testing.T) {
	t.Parallel()
	for result, idle := range map[string]bool{
		`{"tracks":[],"count":0}`:                                          true,
		`{"results":[],"total":0,"page":1}`:                                true,
		`{"data":{"items":[]},"has_more":false}`:                           true,
		`{"found":false,"item":null}`:                                      true,
		`{"hits":{"total":0,"hits":[]},"took":3}`:                          true,
		`{"status":"ok","orders":[]}`:                                      true,
		`{"object":"list","data":[],"has_more":false,"url":"/v1/charges"}`: true, // Stripe's, OpenAI's
		`{"took":3,"timed_out":false,"_shards":{"total":1,"successful":1,"failed":0},"hits":{"total":{"value":0,"relation":"eq"},"max_score":null,"hits":[]}}`: true,
		`{"kind":"drive#fileList","incompleteSearch":false,"files":[]}`:                                                                                        true,
		`{"rows":[],"rowCount":0,"elapsed_ms":12}`:                                                                                                             true,
		`{"data":[],"meta":{"page":1,"per_page":20,"total":0},"links":{"self":"/x?page=1"}}`:                                                                   true,
		`{"results":[],"pagination":{"page":1,"pages":1}}`:                                                                                                     true,
		`{"object":"charge","id":"ch_1","refunds":[]}`:                                                                                                         false,
		`{"url":"/files/1","files":[],"owner":"Ann"}`:                                                                                                          false,
		`{"meta":{"page":1},"data":[{"id":1}]}`:                                                                                                                false,
		`{"links":["/a","/b"],"images":[]}`:                                                                                                                    false,
		`{"meta":{"page":1},"status":"ok"}`:                                                                                                                    false,
		`{"tracks":[{"id":1}],"count":1}`:                                                                                                                      false,
		`{"name":"Ann","tags":[]}`:                                                                                                                             false,
		`{"errors":[],"count":0}`:                                                                                                                              false,
		`{"balance":0}`:                                                                                                                                        false,
		`{"temperature":0,"alerts":[],"city":"Oslo"}`:                                                                                                          false,
	} {
		r := loop.Check(looks("find_tracks", result, result[:len(result)-1]+" }", result[:len(result)-1]+"  }"), nil, loop.Limits{})
		if got := r.NewResults == 0; got != idle {
			t.Errorf("%s: got %d new results, want none: %v", result, r.NewResults, idle)
		}
	}
}

// TestSameAnswer: the same result by other arguments brings nothing new where the tool reads, but
// a word such as a state may be that of many things.
func TestSameAnswer(t *testing.T) {
	t.Parallel()
	page := `{"title":"Home","links":["a","b","c"],"text":"Welcome to the home page of us"}`
	if r := loop.Check(looks("get_page", page, page, page, page), nil, loop.Limits{}); r.Stop != loop.Idle || r.NewResults != 1 {
		t.Errorf("got %+v, want three idle rounds", r)
	}
	if r := loop.Check(looks("get_status", "running", "running", "running", "running"), nil, loop.Limits{}); r.Stop != "" {
		t.Errorf("got %+v, want states taken for news", r)
	}
	if r := loop.Check(looks("add_row", page, page, page, page), nil, loop.Limits{}); r.Stop != "" {
		t.Errorf("got %+v, want acknowledgements taken for news", r)
	}
}

// TestCoding: more rounds where tools that write code are offered, and calls are counted too.
func TestCoding(t *testing.T) {
	t.Parallel()
	var results []string
	for i := range 40 {
		results = append(results, fmt.Sprintf("line %d", i))
	}
	l := looks("read_file", results...)
	limits := loop.Limits{Rounds: 15, Coding: 100}
	for _, c := range []struct {
		name   string
		tools  []string
		limits loop.Limits
		want   loop.Reason
	}{
		{"a chat", []string{"get_weather"}, limits, loop.Limit},
		{"a coding agent", []string{"read_file", "bash"}, limits, ""},
		{"by MCP", []string{"mcp__files__edit_file"}, limits, ""},
		{"by setting", []string{"get_weather"}, loop.Limits{Rounds: 50}, ""},
		{"calls", []string{"get_weather"}, loop.Limits{Rounds: 50, Calls: 40}, loop.Calls},
	} {
		if r := loop.Check(l, c.tools, c.limits); r.Stop != c.want {
			t.Errorf("%s: got the stop %q, want %q", c.name, r.Stop, c.want)
		}
	}
}
