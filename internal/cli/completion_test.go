package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// TestComplete asks what a shell asks.
func TestComplete(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ line, want string }{
		{"", "check completion conformance demo doctor"},
		{"de", "demo"},
		{"demo ", "all faults formats guards structured"},
		{"demo f", "faults formats"},
		{"demo --js", "--json"},
		{"serve --log-format ", "auto json text"},
		{"serve --tools=auto --log-format t", "text"},
		{"serve -c ", ""},
		{"serve -c x.yaml --lis", "--listen"},
		{"plugin ", "bench build inspect list"},
		{"plugin new ", ""},
		{"completion z", "zsh"},
		{"nothing of ours ", ""},
	} {
		status, stdout, stderr := command(t, "", append([]string{completeCommand}, strings.Split(row.line, " ")...)...)
		got := strings.Join(strings.Fields(stdout), " ")
		if status != exitOK || stderr != "" || !strings.HasPrefix(got, row.want) || row.want == "" && got != "" && row.line != "nothing of ours " {
			t.Errorf("%q: got status %d, %q and %q, want %q", row.line, status, got, stderr, row.want)
		}
	}
}

// TestCompletionScripts has each shell that is here read its script, and bash complete a line by it.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		status, script, _ := command(t, "", "completion", shell)
		if status != exitOK || !strings.Contains(script, "callgate "+completeCommand) {
			t.Errorf("%s: got status %d and %q", shell, status, script)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here to read the script", shell)
			continue
		}
		test := exec.CommandContext(t.Context(), path, "-c", script)
		want := ""
		if shell == "bash" {
			test = exec.CommandContext(t.Context(), path, "-c", script+"\nCOMP_WORDS=(callgate demo fa); COMP_CWORD=2; _callgate; echo \"${COMPREPLY[@]}\"")
			want = "faults\n"
		}
		if shell == "zsh" {
			test = exec.CommandContext(t.Context(), path, "-n", "-c", script)
		}
		if out, err := test.CombinedOutput(); err != nil || want != "" && string(out) != want {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}
