package clients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/internal/install"
)

// agentsToo names the environment variable that has the agents of the command line played:
// they are some hundred megabytes to install.
const agentsToo = "CALLGATE_CLIENT_AGENTS"

var errNotAsked = errors.New(agentsToo + " is not 1")

// agentCLI is an agent of the command line.
type agentCLI struct {
	name string
	// rounds are the calls that the upstream makes: two at once, and then one. The tools are
	// those that the agent offers.
	rounds func(t *testing.T, tools, dir string) [][]call
	// run asks once and returns what the agent says at its end.
	run func(t *testing.T, modules, home, url, model string) string
	// sockets says that it is to ask over WebSockets alone.
	sockets bool
}

// TestAgents has agents of the command line run commands and read a file, with an upstream
// that gives its calls as calls, and with one that gives them as text.
func TestAgents(t *testing.T) {
	t.Parallel()
	modules, err := installAgents()
	need(t, err)
	for _, a := range []agentCLI{
		{name: "claude_code", rounds: claudeRounds, run: claudeCode},
		{name: "codex", rounds: codexRounds, run: codex},
		{name: "codex_websocket", rounds: codexRounds, run: codexSockets, sockets: true},
	} {
		for _, parser := range []string{"none", "hermes"} {
			t.Run(a.name+"/"+parser, func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				if err := os.WriteFile(filepath.Join(home, "note.txt"), []byte("the note says 42"), 0o600); err != nil {
					t.Fatal(err)
				}
				up := &agentUpstream{text: parser == "hermes", rounds: func(tools string) [][]call { return a.rounds(t, tools, home) }}
				s := httptest.NewServer(up)
				t.Cleanup(s.Close)
				c := newConfig()
				c.Providers["up"] = map[string]any{"type": "openai", "base_url": s.URL + "/v1", "api_key": "none"}
				c.route("claude-test", target{Provider: "up", Model: "m", Parser: parser})
				g := serve(t, c)
				door := openDoor(t, g)
				said := a.run(t, modules, home, door.URL, "claude-test")
				if want := "Done."; !strings.Contains(said, want) {
					t.Errorf("got %q, want %q in it", said, want)
				}
				up.check(t)
				if a.sockets {
					door.sawSockets(t)
				}
				if t.Failed() {
					t.Logf("the gateway's log:\n%s", g.Log(t))
				}
			})
		}
	}
}

// agentUpstream speaks chat completions, and makes the calls of a round for each time that
// it gets the results of the one before.
type agentUpstream struct {
	text   bool // the calls are text
	rounds func(tools string) [][]call

	mu     sync.Mutex
	bodies []string // of the requests with tools
}

// ServeHTTP implements [http.Handler].
func (u *agentUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var req struct {
		Stream   bool
		Messages []struct{ Role string }
		Tools    json.RawMessage
	}
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	message := map[string]any{"role": "assistant", "content": "Done."}
	if len(req.Tools) > 0 {
		u.mu.Lock()
		u.bodies = append(u.bodies, string(body))
		u.mu.Unlock()
		results := 0
		for _, m := range req.Messages {
			if m.Role == "tool" {
				results++
			}
		}
		rounds := u.rounds(string(req.Tools))
		if round := map[int]int{0: 0, 2: 1}; results == 0 || results == 2 {
			u.calls(message, rounds[round[results]], results)
		}
	}
	finish := "stop"
	if message["tool_calls"] != nil {
		finish = "tool_calls"
	}
	answer := map[string]any{"id": "c1", "object": "chat.completion", "created": 1, "model": "m",
		"usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}
	choice := map[string]any{"index": 0, "finish_reason": finish}
	answer["choices"] = []any{choice}
	if !req.Stream {
		choice["message"] = message
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, show(answer))
		return
	}
	choice["delta"], answer["object"] = message, "chat.completion.chunk"
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "data: "+show(answer)+"\n\ndata: [DONE]\n\n")
}

// calls puts calls into a message.
func (u *agentUpstream) calls(message map[string]any, calls []call, from int) {
	if !u.text {
		var all []any
		for i, c := range calls {
			all = append(all, map[string]any{"index": i, "id": fmt.Sprintf("functions.%s:%d", c.Name, from+i), "type": "function",
				"function": map[string]any{"name": c.Name, "arguments": show(c.Arguments)}})
		}
		message["content"], message["tool_calls"] = nil, all
		return
	}
	text := "I look."
	for _, c := range calls {
		text += "\n<tool_call>\n" + show(map[string]any{"name": c.Name, "arguments": c.Arguments}) + "\n</tool_call>"
	}
	message["content"] = text
}

// check checks that each turn came once, and with all results.
func (u *agentUpstream) check(t *testing.T) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.bodies) != 3 {
		t.Errorf("got %d requests with tools, want 3", len(u.bodies))
		return
	}
	var last struct{ Messages []struct{ Role string } }
	if err := json.Unmarshal([]byte(u.bodies[2]), &last); err != nil {
		t.Error(err)
	}
	roles := ""
	for _, m := range last.Messages {
		roles += " " + m.Role
	}
	if want := " user assistant tool tool assistant tool"; !strings.HasSuffix(roles, want) {
		t.Errorf("got the messages%s, want%s at their end", roles, want)
	}
	for _, want := range []string{"first-42", "second-43", "the note says 42"} {
		if !strings.Contains(u.bodies[2], want) {
			t.Errorf("got no %q in the last request, want it: %s", want, u.bodies[2][max(0, len(u.bodies[2])-2000):])
		}
	}
}

// installAgents returns the directory node_modules that has the agents.
func installAgents() (modules string, err error) {
	if err := agentsAsked("Claude Code and Codex", "TestAgents"); err != nil {
		return "", err
	}
	ctx := context.Background()
	node, err := findNode(ctx)
	if err != nil {
		return "", err
	}
	pins := []string{"testdata/agents/package.json", "testdata/agents/package-lock.json"}
	dir, err := installOnce("agents", "", pins, func(dir string) error { return node.install(ctx, dir, pins) })
	if err != nil {
		return "", install.MissingError{What: fmt.Sprintf("Claude Code and Codex are not installed (%v)", err),
			Remedy: agentsToo + "=1 where npm's registry is in reach"}
	}
	return filepath.Join(dir, "node_modules"), nil
}

// binary is the program of an agent, which its package for this system has.
func binary(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Skipf("there is no %s for this system (%v)", pattern, err)
	}
	return found[0]
}

func claudeRounds(_ *testing.T, _, dir string) [][]call {
	bash := func(command string) call {
		return call{Name: "Bash", Arguments: map[string]any{"command": command, "description": "count"}}
	}
	return [][]call{
		{bash("echo first-$((6*7))"), bash("echo second-$((6*7+1))")},
		{{Name: "Read", Arguments: map[string]any{"file_path": filepath.Join(dir, "note.txt")}}},
	}
}

// claudeCode asks Claude Code.
func claudeCode(t *testing.T, modules, home, url, model string) string {
	t.Helper()
	exe := binary(t, filepath.Join(modules, "@anthropic-ai", "claude-code-*", "claude*"))
	settings := shown(t, "Claude Code", "~/.claude/settings.json", url, model)
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + home, "IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	out, _ := program(t, home, env, exe, "-p", "count, and read note.txt", "--allowedTools", "Bash,Read", "--output-format", "json")
	var said struct {
		Result  string
		IsError bool `json:"is_error"`
		Turns   int  `json:"num_turns"`
	}
	if err := json.Unmarshal(out, &said); err != nil || said.IsError {
		t.Errorf("got %s (%v), want an answer without an error", out, err)
	}
	return said.Result
}

func codexRounds(t *testing.T, tools, dir string) [][]call {
	t.Helper()
	run := func(command string) call {
		for _, tool := range []struct{ name, argument string }{{"exec_command", "cmd"}, {"shell_command", "command"}} {
			if strings.Contains(tools, fmt.Sprintf("%q", tool.name)) {
				return call{Name: tool.name, Arguments: map[string]any{tool.argument: command}}
			}
		}
		return call{Name: "shell", Arguments: map[string]any{"command": []string{"bash", "-c", command}}}
	}
	return [][]call{{run("echo first-$((6*7))"), run("echo second-$((6*7+1))")}, {run("cat '" + filepath.Join(dir, "note.txt") + "'")}}
}

// codex asks Codex with the settings that are shown.
func codex(t *testing.T, modules, home, url, model string) string {
	t.Helper()
	return codexWith(t, modules, home, shown(t, "Codex", "~/.codex/config.toml", url, model))
}

// codexSockets asks Codex, which asks over WebSockets once a line of the settings that are shown is no comment any more.
func codexSockets(t *testing.T, modules, home, url, model string) string {
	t.Helper()
	settings := shown(t, "Codex", "~/.codex/config.toml", url, model)
	with := strings.Replace(settings, "# supports_websockets = true", "supports_websockets = true", 1)
	if with == settings {
		t.Error("docs/clients.md does not show how Codex asks over WebSockets")
	}
	return codexWith(t, modules, home, with)
}

// codexWith asks Codex with settings.
func codexWith(t *testing.T, modules, home, settings string) string {
	t.Helper()
	exe := binary(t, filepath.Join(modules, "@openai", "codex-*", "vendor", "*", "bin", "codex*"))
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	last := filepath.Join(home, "last.txt")
	args := []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--output-last-message", last, "count, and read note.txt"}
	program(t, home, []string{"HOME=" + home, "CODEX_HOME=" + home, "CALLGATE_KEY=none"}, exe, args...)
	said, err := os.ReadFile(last)
	if err != nil {
		t.Error(err)
	}
	return string(said)
}

// shown is a file of docs/clients.md for a gateway and a model.
func shown(t *testing.T, section, name, url, model string) string {
	t.Helper()
	return strings.NewReplacer(shownURL, url, "\"MODEL\"", show(model)).Replace(shownFile(t, section, name))
}
