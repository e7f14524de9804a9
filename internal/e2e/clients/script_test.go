package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience is how long a script may take for all of its jobs, on a machine that others use too.
const patience = 10 * time.Minute

// inPython has the clients of Python.
type inPython struct {
	install func() (interpreter string, err error)
}

// play plays jobs with a client, which is a file of testdata.
func (p inPython) play(name string) func(t *testing.T, jobs []job) []turn {
	return func(t *testing.T, jobs []job) []turn {
		t.Helper()
		interpreter, err := p.install()
		need(t, err)
		return script(t, jobs, "", interpreter, "-I", "-X", "utf8", "testdata/run.py", name)
	}
}

// inNode has the clients of Node.
type inNode struct {
	install func() (nodeSDKs, error)
}

// play plays jobs with a client, which is a file of testdata and may take an argument.
func (n inNode) play(name string, args ...string) func(t *testing.T, jobs []job) []turn {
	return func(t *testing.T, jobs []job) []turn {
		t.Helper()
		sdks, err := n.install()
		need(t, err)
		var text []byte
		for _, file := range []string{name + ".mjs", "run.mjs"} {
			part, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, part...)
		}
		// A module looks for what it imports beside itself; text that is evaluated looks in
		// the working directory, where the SDKs are.
		return script(t, jobs, sdks.dir, sdks.program, append([]string{"--input-type=module", "--eval", string(text)}, args...)...)
	}
}

// script runs a program that reads jobs and writes turns, one JSON object a line. What it
// writes to standard error is a warning of the SDK's.
func script(t *testing.T, jobs []job, dir, program string, args ...string) []turn {
	t.Helper()
	var input, stderr bytes.Buffer
	lines := json.NewEncoder(&input)
	for _, j := range jobs {
		if err := lines.Encode(j); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &input, &stderr
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"LANGSMITH_TRACING=false", "LANGCHAIN_TRACING_V2=false") // else LangChain reports what it does where the user has it so
	cmd.WaitDelay = time.Second
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v (context: %v)\n%s", program, err, ctx.Err(), stderr.Bytes())
	}
	if stderr.Len() > 0 {
		t.Errorf("got the warnings %s, want none", stderr.Bytes())
	}
	var turns []turn
	for d := json.NewDecoder(bytes.NewReader(output)); d.More(); {
		var got turn
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%v in %s", err, output)
		}
		turns = append(turns, got)
	}
	return turns
}
