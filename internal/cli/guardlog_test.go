package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuardLog has the program judge conversations that are over, in both forms.
func TestGuardLog(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","function":{"name":"delete_task"}},{"type":"function","function":{"name":"list_tasks"}}]`
	lines := []string{
		`{"messages":[{"role":"user","content":"Delete the task Rent."},{"role":"assistant","content":"Done! I've deleted the task Rent."}],` + tools + `}`,
		`{"messages":[{"role":"user","content":"Delete the task Rent."},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"delete_task","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"1","content":"{\"ok\":true}"},{"role":"assistant","content":"I've deleted the task Rent."},{"role":"user","content":"thanks"},{"role":"assistant","content":"You're welcome!"}],` + tools + `}`,
		`{"request":{"model":"x","messages":[{"role":"user","content":"Delete the task Rent."},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"delete_task","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"1","content":"The task is protected and cannot be deleted."}],` + tools + `},"response":{"choices":[{"message":{"role":"assistant","content":"Rent has been deleted."}}]}}`,
		``,
		`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Hello!"}]}`,
	}
	file := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := command(t, "", "guard", "--log", file)
	if status != exitOK {
		t.Fatalf("got status %d: %s", status, stderr)
	}
	for _, want := range []string{
		"conversations            4\n", "answers with calls       1\n", "answers without, judged  4\n", "ghosts                   1 (25.0 %)\n",
		"contradictions           1 (25.0 %)\n", "1 calls demanded by name", "line 1, message 2: ghost, score 0.", "tool delete_task\n    Done! I've deleted",
		"line 3, message 4: contradiction", "  signal claim_tool",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("got nothing like %q in\n%s", want, stdout)
		}
	}
	for name, text := range map[string]string{"no JSON": "{", "no messages": `{"tools":[]}`} {
		if status, _, stderr := command(t, text, "guard", "--log", "-"); status != exitUsage || !strings.Contains(stderr, "line 1") || !strings.Contains(stderr, `{"messages": […]`) {
			t.Errorf("%s: got status %d and %q, want a usage error that names the line, and says what one is", name, status, stderr)
		}
	}
}
