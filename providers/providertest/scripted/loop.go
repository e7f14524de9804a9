package scripted

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// Loop plays the script against a provider, as a program that uses OpenAI's
// API would, and checks that every turn is as scripted.
type Loop struct {
	Provider gateway.Provider
	Model    string // the upstream's name
	Stream   bool
	// Repair makes arguments JSON that the vendor spoils, which is the gateway's work
	// and not the provider's. Nil leaves them as they come.
	Repair func(arguments string) string
}

// Call is a call that the loop got.
type Call struct{ ID, Name, Arguments string }

// Run plays the script and returns the calls of its first two turns, as they came.
func (l Loop) Run(t testing.TB) [][]Call {
	t.Helper()
	messages := []any{map[string]any{"role": "user", "content": Prompt}}
	var rounds [][]Call
	for range 4 {
		text, calls := l.ask(t, messages)
		if len(calls) == 0 {
			if want := Result("book"); !strings.Contains(text, want) {
				t.Errorf("got the last text %q, want it to quote %q", text, want)
			}
			break
		}
		rounds = append(rounds, calls)
		messages = append(messages, l.answer(calls)...)
	}
	l.check(t, rounds)
	return rounds
}

// answer is the model's message and the results of its calls.
func (l Loop) answer(calls []Call) []any {
	var wires []wireCall
	var results []any
	for _, c := range calls {
		arguments := c.Arguments
		if l.Repair != nil {
			arguments = l.Repair(arguments)
		}
		wires = append(wires, newCall(nil, c.ID, c.Name, arguments))
		results = append(results, map[string]any{"role": "tool", "tool_call_id": c.ID, "content": Result(c.Name)})
	}
	return append([]any{map[string]any{"role": "assistant", "content": nil, "tool_calls": wires}}, results...)
}

// check says where the rounds are not as scripted.
func (l Loop) check(t testing.TB, rounds [][]Call) {
	t.Helper()
	want := [][]call{
		{{name: "get_weather", arguments: `{"city": "Oslo"}`}, {name: "get_time", arguments: `{}`}},
		{{name: "book", arguments: bookArguments(Result("get_weather"), Result("get_time"))}},
	}
	if len(rounds) != len(want) {
		t.Fatalf("got %d rounds of calls, %v, want %d", len(rounds), rounds, len(want))
	}
	for i, round := range want {
		if len(rounds[i]) != len(round) {
			t.Fatalf("round %d: got %v, want %d calls", i+1, rounds[i], len(round))
		}
		for n, w := range round {
			got := rounds[i][n]
			arguments := got.Arguments
			if l.Repair != nil {
				arguments = l.Repair(arguments)
			}
			if got.Name != w.name || compact(arguments) != compact(w.arguments) || got.ID == "" {
				t.Errorf("round %d: got %+v, want %s(%s) with an id", i+1, got, w.name, w.arguments)
			}
		}
	}
}

// compact is JSON without white space, with its keys sorted; what is none stays.
func compact(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return mustJSON(v)
}

// ask sends the messages and puts the reply together.
func (l Loop) ask(t testing.TB, messages []any) (text string, calls []Call) {
	t.Helper()
	fields := map[string]any{"model": "client-model", "messages": messages, "tools": json.RawMessage(Tools)}
	if l.Stream {
		fields["stream"], fields["stream_options"] = true, map[string]any{"include_usage": true}
	}
	req, err := gateway.ParseRequest([]byte(mustJSON(fields)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply, err := l.Provider.Chat(ctx, l.Model, req)
	if err != nil {
		t.Fatalf("got error %s", gateway.AsError(err).Message)
	}
	defer reply.Close()
	var j joiner
	for {
		frame, err := reply.Next()
		if err == io.EOF {
			return j.text, j.calls
		}
		if err != nil {
			t.Fatalf("got error %s behind %q and %v", gateway.AsError(err).Message, j.text, j.calls)
		}
		j.add(t, frame.Data)
	}
}

// joiner puts the deltas of a reply together. A call begins with its id, whatever
// its index.
type joiner struct {
	text  string
	calls []Call
	at    map[int]int // from an index to the place of its last call
}

func (j *joiner) add(t testing.TB, data []byte) {
	t.Helper()
	if data == nil {
		return
	}
	type part struct {
		Content   string     `json:"content"`
		ToolCalls []wireCall `json:"tool_calls"`
	}
	var chunk struct {
		Choices []struct{ Delta, Message part } `json:"choices"`
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	for _, c := range chunk.Choices {
		for _, p := range []part{c.Delta, c.Message} {
			j.text += p.Content
			for i, w := range p.ToolCalls {
				j.call(i, w)
			}
		}
	}
}

// call adds a call or a fragment; i is its place in its message.
func (j *joiner) call(i int, w wireCall) {
	if w.Index != nil {
		i = *w.Index
	}
	place, ok := j.at[i]
	if !ok || w.ID != "" && w.ID != j.calls[place].ID {
		if j.at == nil {
			j.at = map[int]int{}
		}
		place = len(j.calls)
		j.at[i] = place
		j.calls = append(j.calls, Call{ID: w.ID})
	}
	j.calls[place].Name += w.Function.Name
	j.calls[place].Arguments += w.Function.Arguments
}
