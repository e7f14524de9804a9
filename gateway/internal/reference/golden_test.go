package reference_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/wire"
)

// goldenCase is a call and what becomes of it. Without a rule it is taskRule's.
type goldenCase struct {
	Name   string
	Rules  []reference.Rule
	Schema json.RawMessage // of the tool, instead of rules
	// Results are those of calls in a row, or Messages is the conversation.
	Results  []result
	Messages json.RawMessage
	Tool     string          // complete_task if it is left out
	Args     json.RawMessage // a string holds text that is no object
	Want     struct {
		Args          json.RawMessage // left out, they stay as they are
		Done          []string
		Class, Path   string
		Message, Hint string // not compared if they are left out
		Unchecked     bool
	}
}

type result struct {
	Tool    string          // list_tasks if it is left out
	Args    json.RawMessage // a string is the text itself, as it is of Content
	Content json.RawMessage
}

var taskRule = reference.Rule{Tool: "complete_task", Argument: "id", From: "list_tasks", Match: "title", Value: "id"}

// literal is the text of JSON, or of the string that it is.
func literal(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// talk is a conversation of calls and their results.
func talk(results []result) []byte {
	var b bytes.Buffer
	b.WriteString(`[{"role":"user","content":"Complete the task Buy milk."}`)
	for i, r := range results {
		tool, args := r.Tool, "{}"
		if tool == "" {
			tool = "list_tasks"
		}
		if r.Args != nil {
			args = literal(r.Args)
		}
		fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":%s,"arguments":%s}}]}`,
			i, wire.AppendQuoted(nil, tool), wire.AppendQuoted(nil, args))
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":%s}`, i, wire.AppendQuoted(nil, literal(r.Content)))
	}
	b.WriteByte(']')
	return b.Bytes()
}

func (c *goldenCase) resolver(t *testing.T) *reference.Resolver {
	t.Helper()
	rules := c.Rules
	if c.Schema != nil {
		var problems []string
		if rules, problems = reference.FromSchema("complete_task", c.Schema); len(problems) > 0 {
			t.Fatalf("the schema: got the problems %q, want none", problems)
		}
	} else if rules == nil {
		rules = []reference.Rule{taskRule}
	}
	messages := []byte(c.Messages)
	if messages == nil {
		messages = talk(c.Results)
	}
	return reference.New(rules, conversation.Read(messages))
}

func (c *goldenCase) run(t *testing.T) {
	r := c.resolver(t)
	tool, args := c.Tool, literal(c.Args)
	if tool == "" {
		tool = "complete_task"
	}
	wantArgs := args
	if c.Want.Args != nil {
		wantArgs = literal(c.Want.Args)
	}
	for range 2 { // the second time, all is loaded
		out, done, problem, checked := r.Resolve(tool, args)
		if out != wantArgs {
			t.Errorf("got the arguments %s, want %s", out, wantArgs)
		}
		if got := describe(done); !slices.Equal(got, c.Want.Done) {
			t.Errorf("got the resolutions %q, want %q", got, c.Want.Done)
		}
		if checked == c.Want.Unchecked {
			t.Errorf("got checked %v, want %v", checked, !c.Want.Unchecked)
		}
		var class, path, message, hint string
		if problem != nil {
			class, path, message, hint = problem.Class, problem.Path, problem.Message, problem.Hint
		}
		if class != c.Want.Class || path != c.Want.Path {
			t.Errorf("got a problem of class %q at %q, want %q at %q: %s", class, path, c.Want.Class, c.Want.Path, message)
		}
		if c.Want.Message != "" && message != c.Want.Message {
			t.Errorf("got the message\n%s\nwant\n%s", message, c.Want.Message)
		}
		if c.Want.Hint != "" && hint != c.Want.Hint {
			t.Errorf("got the hint %s, want %s", hint, c.Want.Hint)
		}
	}
}

// describe writes resolutions as the cases do.
func describe(done []reference.Resolution) (lines []string) {
	for _, d := range done {
		format := "%s %s %.2f"
		if d.How != reference.Fuzzy {
			format = "%s %s %v"
		}
		lines = append(lines, fmt.Sprintf(format, d.Argument, d.How, d.Ratio))
	}
	return lines
}

func TestResolve(t *testing.T) {
	t.Parallel()
	eachCase(t, "testdata/resolve", func(t *testing.T, c *goldenCase) { c.run(t) })
}

// eachCase runs the cases in the files of a folder, each of which holds a list.
func eachCase[Case any](t *testing.T, folder string, run func(*testing.T, *Case)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files and the error %v, want some", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
			t.Fatalf("%s: got %d cases and the error %v, want some", file, len(list), err)
		}
		for _, raw := range list {
			var c Case
			var name struct{ Name string }
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&c); err != nil {
				t.Fatalf("%s: %v in %s", file, err, raw)
			}
			if err := json.Unmarshal(raw, &name); err != nil || name.Name == "" {
				t.Fatalf("%s: got a case without a name: %s", file, raw)
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+name.Name, func(t *testing.T) {
				t.Parallel()
				run(t, &c)
			})
		}
	}
}
