package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// answer is what a client has when it has read one, by its choices.
type answer struct {
	choices map[int]*answerChoice
	faults  []string // what clients stumble over
}

type answerChoice struct {
	content, finish string
	calls           []*answerCall
}

type answerCall struct{ id, name, args string }

// wireChoices is a chunk or a completion, as far as calls are concerned.
type wireChoices struct {
	Choices []struct {
		Index   int      `json:"index"`
		Delta   wireBody `json:"delta"`
		Message wireBody `json:"message"`
		Finish  string   `json:"finish_reason"`
	} `json:"choices"`
}

type wireBody struct {
	Content string          `json:"content"`
	Calls   json.RawMessage `json:"tool_calls"`
}

// calls are the entries that a client sees.
func (b *wireBody) calls() []*wireCall {
	var list []json.RawMessage
	var calls []*wireCall
	if json.Unmarshal(b.Calls, &list) != nil {
		return nil
	}
	for _, raw := range list {
		var w wireCall
		if json.Unmarshal(raw, &w) != nil || w.Function == nil && w.Custom == nil {
			continue
		}
		if w.Custom != nil {
			w.Function = &wireFunction{w.Custom.Name, w.Custom.Input}
		}
		calls = append(calls, &w)
	}
	return calls
}

type wireCall struct {
	Index    *int          `json:"index"`
	ID       string        `json:"id"`
	Type     string        `json:"type"`
	Function *wireFunction `json:"function"`
	Custom   *struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (a *answer) choice(index int) *answerChoice {
	if a.choices == nil {
		a.choices = map[int]*answerChoice{}
	}
	if a.choices[index] == nil {
		a.choices[index] = &answerChoice{}
	}
	return a.choices[index]
}

func (a *answer) fault(format string, args ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, args...))
}

// readStream joins a stream as clients do.
func readStream(t failer, out string) *answer {
	t.Helper()
	a := &answer{}
	for block := range strings.SplitSeq(out, "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var k wireChoices
		if err := json.Unmarshal([]byte(strings.ReplaceAll(data, "\ndata: ", "\n")), &k); err != nil {
			t.Fatalf("%v in %q", err, data)
		}
		for _, c := range k.Choices {
			to := a.choice(c.Index)
			if to.finish != "" && (c.Finish != "" || len(c.Delta.calls()) > 0) {
				a.fault("choice %d goes on behind its finish reason", c.Index)
			}
			to.content += c.Delta.Content
			to.finish += c.Finish
			for _, call := range c.Delta.calls() {
				a.join(to, call)
			}
		}
	}
	return a
}

func (a *answer) join(to *answerChoice, w *wireCall) {
	switch {
	case w.Index == nil || *w.Index < 0 || *w.Index > len(to.calls):
		a.fault("a call has the index %s where %d is next", w.indexText(), len(to.calls))
		return
	case *w.Index < len(to.calls) && (w.ID != "" || w.Function.Name != ""):
		a.fault("call %d has its id or name again", *w.Index)
	case *w.Index == len(to.calls) && w.Type != "function" && w.Custom == nil:
		a.fault("call %d has the type %q", *w.Index, w.Type)
	}
	if *w.Index == len(to.calls) {
		to.calls = append(to.calls, &answerCall{id: w.ID, name: w.Function.Name})
	}
	to.calls[*w.Index].args += w.Function.Arguments
}

// readWhole reads a whole completion.
func readWhole(t failer, out string) *answer {
	t.Helper()
	a := &answer{}
	var k wireChoices
	if err := json.Unmarshal([]byte(out), &k); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for i, c := range k.Choices {
		to := a.choice(i)
		to.content, to.finish = c.Message.Content, c.Finish
		for _, w := range c.Message.calls() {
			to.calls = append(to.calls, &answerCall{w.ID, w.Function.Name, w.Function.Arguments})
		}
	}
	return a
}

// checkForm holds what clients rely on whatever the upstream did: gapless indexes, one
// name a call, and an id that no other call of the choice has.
func (a *answer) checkForm(t failer, out string) {
	t.Helper()
	if faults := a.formFaults(); len(faults) > 0 {
		t.Fatalf("%s in\n%s", strings.Join(faults, "; "), out)
	}
}

func (a *answer) formFaults() []string {
	for index, c := range a.choices {
		seen := map[string]bool{}
		for i, call := range c.calls {
			if call.id == "" || seen[call.id] {
				a.fault("call %d of choice %d has the id %q", i, index, call.id)
			}
			seen[call.id] = true
		}
	}
	return a.faults
}

// String is what the answer means.
func (a *answer) String() string {
	var b strings.Builder
	for i := range len(a.choices) {
		c := a.choice(i)
		fmt.Fprintf(&b, "%d %q %s\n", i, c.content, c.finish)
		for _, call := range c.calls {
			fmt.Fprintf(&b, "%d %s %s(%s)\n", i, call.id, call.name, call.args)
		}
	}
	return b.String()
}

// TestReadStream holds that the reader of these tests sees what clients stumble over.
func TestReadStream(t *testing.T) {
	t.Parallel()
	begin := entry(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{"}`)
	for _, tt := range []struct {
		name   string
		blocks []string
		want   string
	}{
		{"good", []string{begin, entry(`"index":0,"function":{"arguments":"}"}`)}, ""},
		{"gap", []string{entry(`"index":1,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}`)}, "index"},
		{"no index", []string{entry(`"id":"a","type":"function","function":{"name":"f","arguments":"{}"}`)}, "index"},
		{"id again", []string{begin, begin}, "again"},
		{"no type", []string{entry(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`)}, "type"},
		{"behind the end", []string{begin, block(0, `"delta":{},"finish_reason":"stop"`), begin}, "goes on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := readStream(t, strings.Join(tt.blocks, "\n\n")+"\n\n")
			got := strings.Join(a.faults, "; ")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// entry is a block with an entry of tool_calls that has these members.
func entry(members string) string {
	return block(0, `"delta":{"tool_calls":[{`+members+`}]}`)
}

func (w *wireCall) indexText() string {
	if w.Index == nil {
		return "null"
	}
	return fmt.Sprint(*w.Index)
}

// providerFunc is a provider that answers with what the function makes.
type providerFunc func() gateway.Reply

func (f providerFunc) Chat(context.Context, string, *gateway.Request) (gateway.Reply, error) {
	return f(), nil
}

// quoted is text as JSON.
func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
