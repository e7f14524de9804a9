package prompted_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/all"
)

func TestNames(t *testing.T) {
	t.Parallel()
	names := prompted.Names()
	if len(names) == 0 || !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("got %q, want each name once and sorted", names)
	}
	for _, name := range names {
		find(t, name)
		if !slices.ContainsFunc(all.Specs(), func(s sdk.Spec) bool { return s.Name == name }) {
			t.Errorf("there is no parser %q", name)
		}
		if _, ok := formats.Find(name); !ok {
			t.Errorf("nothing writes %q", name)
		}
	}
	for _, name := range []string{"", "auto", "Hermes", "qwen"} {
		if f, ok := prompted.Find(name); ok || f != nil {
			t.Errorf("%q: got %v, want none", name, f)
		}
	}
}

var runner = chaintest.Runner{Specs: all.Specs()}

// readBack reads a text with the parser of a name.
func readBack(name, text string, tools []abi.Tool) (content string, calls []chain.Call) {
	var chosen []chain.Candidate
	for _, c := range runner.Candidates() {
		if c.Name == name || c.Name == chain.Fallback {
			chosen = append(chosen, c)
		}
	}
	plan := chain.NewPlan(chosen, chain.PlanOptions{Reasoning: true})
	c := plan.New(runner, chain.Options{Tools: func() []abi.Tool { return tools }, Reasoning: chain.Auto})
	defer c.Close()
	var m chain.Message
	m.Add(c.Feed(context.Background(), []byte(text)))
	m.Add(c.Finish(context.Background(), abi.Stop))
	return m.Content.String(), m.Calls()
}

// TestRoundTrip: a model that copies a turn of the conversation makes the same calls.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/forms/request.json")
	if err != nil {
		t.Fatal(err)
	}
	req := readRequest(t, raw)
	tools, err := gateway.ReadTools(req.Tools)
	if err != nil {
		t.Fatal(err)
	}
	before := conversation.Read(req.Messages)
	for _, name := range prompted.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			format, _ := formats.Find(name)
			out, _ := written(t, find(t, name), req.Messages, req.Tools, prompted.Choice{})
			after := conversation.Read([]byte(out))
			turns := 0
			for _, m := range before.Messages {
				calls := before.Calls(m)
				if len(calls) == 0 {
					continue
				}
				i := []int{2, 6}[turns] // the results of the first round are one message
				turns++
				said := before.Said(m)
				if format.Silent && said != "" {
					continue // no model that writes so says anything beside its calls
				}
				content, got := readBack(name, after.Said(after.Messages[i]), tools)
				if content != said {
					t.Errorf("got the content %q, want %q", content, said)
				}
				checkCalls(t, got, calls)
			}
			if turns != 2 {
				t.Errorf("got %d turns with calls, want 2", turns)
			}
		})
	}
}

func checkCalls(t *testing.T, got []chain.Call, want []conversation.Call) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got the calls %v, want %v", got, want)
	}
	for i, w := range want {
		var gotArgs, wantArgs any
		if err := json.Unmarshal([]byte(got[i].Arguments), &gotArgs); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(w.Args(), &wantArgs); err != nil {
			t.Fatal(err)
		}
		if got[i].Name != w.Name || !reflect.DeepEqual(gotArgs, wantArgs) {
			t.Errorf("got the call %s %s, want %s %s", got[i].Name, got[i].Arguments, w.Name, w.Args())
		}
	}
}
