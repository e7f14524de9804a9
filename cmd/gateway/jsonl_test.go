package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"
)

// modelText is a case of the chain's own tests: what a model wrote and what it
// means.
type modelText struct {
	Name         string `json:"name"`
	Parser       string `json:"parser"`
	FinishReason string `json:"finish_reason"`
	Text         string `json:"text"`
	Reasoning    string `json:"reasoning"`
	Content      string `json:"content"`
	Start        string `json:"start"`
	InReasoning  string `json:"in_reasoning"`
	Only         bool   `json:"only"`
	Calls        []struct {
		Name      string          `json:"name"`
		ID        string          `json:"id"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"calls"`
}

const chainData = "../../gateway/chain/testdata/"

func modelTextsOfChain(t *testing.T) []modelText {
	t.Helper()
	f, err := os.Open(chainData + "texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []modelText
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c modelText
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		cases = append(cases, c)
	}
	if len(cases) < 30 {
		t.Fatalf("got %d cases, want those of the chain", len(cases))
	}
	return cases
}

// cutsOf are ways to cut a text, between its letters since JSON has no halves.
func cutsOf(s string) map[string][]string {
	letters := strings.Split(s, "")
	join := func(size func() int) []string {
		var out []string
		for rest := letters; len(rest) > 0; {
			n := min(size(), len(rest))
			out, rest = append(out, strings.Join(rest[:n], "")), rest[n:]
		}
		return out
	}
	ways := map[string][]string{"letters": letters, "sixes": join(func() int { return 6 }), "with empty ones": {"", s, "", ""}}
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, uint64(utf8.RuneCountInString(s))))
		ways[fmt.Sprintf("random %d", seed)] = join(func() int { return 1 + rng.IntN(12) })
	}
	return ways
}

// TestParseTexts reads each text in each cut, with its own parser, in a list with
// others, and with auto: it means the same each time.
func TestParseTexts(t *testing.T) {
	t.Parallel()
	type line struct {
		ID           string   `json:"id"`
		Input        *string  `json:"input,omitempty"`
		Chunks       []string `json:"chunks,omitempty"`
		Parser       any      `json:"parser"`
		Reasoning    string   `json:"reasoning,omitempty"`
		InReasoning  string   `json:"tool_in_reasoning,omitempty"`
		FinishReason string   `json:"finish_reason"`
	}
	var in strings.Builder
	encoder := json.NewEncoder(&in)
	want := map[string]modelText{}
	for _, c := range modelTextsOfChain(t) {
		for _, parser := range []any{c.Parser, "auto", []string{"tool_call_tags", c.Parser}} {
			if c.Only && parser != c.Parser {
				continue
			}
			if c.Parser == "tool_call_tags" && parser != "auto" {
				parser = c.Parser
			}
			ways := cutsOf(c.Text)
			ways["whole"] = nil
			for way, chunks := range ways {
				l := line{ID: fmt.Sprintf("%s/%v/%s", c.Name, parser, way), Chunks: chunks, Parser: parser, Reasoning: c.Start, InReasoning: c.InReasoning, FinishReason: c.FinishReason}
				if chunks == nil {
					l.Input = &c.Text
				}
				want[l.ID] = c
				if err := encoder.Encode(l); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	status, stdout, stderr := command(t, in.String(), "parse", "--jsonl", "--tools", chainData+"tools.json")
	if status != 0 {
		t.Errorf("got exit status %d, want 0; stderr:\n%s", status, stderr)
	}
	for out := range strings.Lines(stdout) {
		var got struct {
			ID                 string
			Content, Reasoning string
			FinishReason       string            `json:"finish_reason"`
			Calls              []openai.ToolCall `json:"tool_calls"`
			Repairs            []string
			Error              string
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("got line %q: %v", out, err)
		}
		c, ok := want[got.ID]
		if !ok || got.Error != "" || got.Calls == nil || got.Repairs == nil {
			t.Errorf("got line %q, want an answer with lists", out)
			continue
		}
		c.check(t, out, said{content: got.Content, reasoning: got.Reasoning, finish: got.FinishReason}, got.Calls)
	}
	if got := strings.Count(stdout, "\n"); got < len(want) {
		t.Errorf("got %d lines, want %d", got, len(want))
	}
}

// check compares a line of the output with what the text means.
func (c modelText) check(t *testing.T, line string, got said, calls []openai.ToolCall) {
	t.Helper()
	want := said{content: c.Content, reasoning: c.Reasoning, finish: c.FinishReason}
	if len(c.Calls) > 0 && c.FinishReason == "stop" {
		want.finish = "tool_calls"
	}
	for i, call := range calls {
		got.calls = append(got.calls, called{call.Function.Name, compact(t, call.Function.Arguments)})
		got.ids = append(got.ids, call.ID)
		if i < len(c.Calls) && c.Calls[i].ID != "" && call.ID != c.Calls[i].ID {
			t.Errorf("got id %q, want the model's own, %q", call.ID, c.Calls[i].ID)
		}
	}
	for _, call := range c.Calls {
		want.calls = append(want.calls, called{call.Name, compact(t, string(call.Arguments))})
	}
	got.same(t, want)
	if t.Failed() {
		t.Fatalf("in line %s", line)
	}
}
