package guard_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// TestFailureTold has answers behind a call that failed. Those that are no contradiction are recorded ones of models, from
// the tests of langsmith 0.15.1 and crewai 1.15.30 (both MIT).
func TestFailureTold(t *testing.T) {
	t.Parallel()
	const helper, failing = "call_openai_helper", "failing_tool"
	for _, tt := range []struct {
		tool, user, result string
		then               string // the assistant's message behind the result
		answer             string
		contradiction      bool
	}{
		{helper, "Use the call_openai_helper tool to answer: What is 2+2?", "Error: Error code: 401 - {'error': {'message': 'Incorrect API key provided: test-key.'}}", "",
			"It looks like there was an issue accessing the tool to process your question, but I can still answer it for you:\n\n2 + 2 equals 4. If you have any other questions, feel free to ask!", false},
		{helper, "Use the call_openai_helper tool to answer: What is 2+2?", "Error: Error code: 401 - {'error': {'message': 'Incorrect API key provided: test-key.'}}", "",
			"The helper says that 2 + 2 equals 4. I have also created an issue for you.", true},
		{failing, "Current Task: Use the failing_tool to do something.", "Error executing tool: This tool always fails",
			"The attempt to use the failing tool was unsuccessful, as expected, since it is designed to fail. If you have another task or calculation in mind, please let me know!",
			"I see your response was cut off. If you have another task or calculation in mind, please let me know, and I'll be happy to assist you!", false},
		{failing, "Current Task: Use the failing_tool to do something.", "Error executing tool: This tool always fails", "", "The tool has done it. Let me know if you need more.", true},
		{"delete_task", "Delete the task Milk.", `{\"error\":\"locked\"}`, "The task could not be deleted.", "I've deleted the task Milk for you.", true},
	} {
		messages := `[{"role":"user","content":"` + tt.user + `"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"` + tt.tool + `","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"a","content":"` + tt.result + `"}`
		if tt.then != "" {
			messages += `,{"role":"assistant","content":"` + tt.then + `"}`
		}
		l := ledger.New(conversation.Read([]byte(messages+"]")), nil)
		v := guard.New(guard.Settings{}).Begin(l, []string{tt.tool}, guard.Choice{}).Judge(guard.Answer{Text: tt.answer, Done: true})
		if v.Contradiction != tt.contradiction || v.Ghost {
			t.Errorf("%q: got contradiction %t, ghost %t for %v, want contradiction %t", tt.answer, v.Contradiction, v.Ghost, v.Signals, tt.contradiction)
		}
	}
}
