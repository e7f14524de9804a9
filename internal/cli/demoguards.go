package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// maxTurns is after how many requests the demo's app gives up.
const maxTurns = 6

// turn is one request of an app, and what follows from it.
type turn struct {
	answer  string
	sent    string   // what Callgate sent to the upstream otherwise than the app did
	results []string // of the calls in the answer
}

// guards shows conversations that need a guard, and the configuration of each.
func (s *stage) guards() error {
	fmt.Fprintf(s.e.stdout, `
Models that need a guard, %s, from the upstream directly and through Callgate. The app runs
the tools that are called, and gives up after %d requests. In brackets is what the response
headers x-callgate-… say, or the comment at the end of a stream. Each configuration needs a
provider besides, this one or {type: demo}, which answers the same:

  providers:
%s`, s.manner(), maxTurns, indentLines("  ", demoUpstream))
	for _, sc := range guardScenes() {
		fmt.Fprintf(s.e.stdout, "\n%s\n  models:\n%s  user      %q\n", sc.title, indentLines("  ", sc.config), sc.prompt)
		for _, side := range []struct{ name, base, model string }{
			{"direct", s.direct, sc.direct}, {"callgate", s.through, sc.route},
		} {
			turns, err := s.converse(sc, side.base, side.model)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", sc.route, side.name, err)
			}
			printTurns(s.e.stdout, side.name, turns)
		}
	}
	return nil
}

// converse is an app that has a question, runs the tools that are called and asks
// again, until there is an answer.
func (s *stage) converse(sc guardScene, base, model string) (turns []turn, err error) {
	body := &chatBody{
		Model: model, Stream: !s.whole, Tools: json.RawMessage(sc.tools), ToolChoice: sc.choice,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: sc.prompt}},
	}
	if body.Stream {
		body.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	told := map[string]bool{}
	for len(turns) < maxTurns {
		a, err := s.ask(base, body)
		if err != nil {
			return nil, err
		}
		t := turn{answer: a.line(100)}
		if sent := s.upstream.take(); base != s.direct && sent != nil {
			t.sent = difference(body, sent, told)
		}
		if a.err == "" && len(a.calls) > 0 {
			t.results = body.carryOut(a)
		}
		turns = append(turns, t)
		if t.results == nil {
			break
		}
	}
	return turns, nil
}

// carryOut runs the calls of an answer and adds it, and their results, to the
// conversation.
func (b *chatBody) carryOut(a *answer) (results []string) {
	said := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: a.text}
	var answers []openai.ChatCompletionMessage
	for _, c := range a.calls {
		result := runTool(c)
		results = append(results, result)
		said.ToolCalls = append(said.ToolCalls, openai.ToolCall{
			ID: c.id, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: c.name, Arguments: c.args},
		})
		answers = append(answers, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: c.id, Content: result})
	}
	b.Messages = append(append(b.Messages, said), answers...)
	b.ToolChoice = "" // it was for the first request
	return results
}

// printTurns prints a side of a scene. Turns that repeat are counted.
func printTurns(w io.Writer, side string, turns []turn) {
	label := side
	for len(turns) > 0 {
		t := turns[0]
		fmt.Fprintf(w, "  %-10s%s\n", label, t.answer)
		if t.sent != "" {
			fmt.Fprintf(w, "              upstream was sent: %s\n", t.sent)
		}
		for _, r := range t.results {
			fmt.Fprintf(w, "              tool answered: %s\n", r)
		}
		label = ""
		n := 1
		for n < len(turns) && turns[n].same(t) {
			n++
		}
		if n > 1 {
			fmt.Fprintf(w, "            the same, %d times more\n", n-1)
		}
		if turns = turns[n:]; len(turns) == 0 && len(t.results) > 0 {
			fmt.Fprint(w, "            and the app gives up\n")
		}
	}
}

func (t turn) same(other turn) bool {
	return t.answer == other.answer && t.sent == other.sent && slices.Equal(t.results, other.results)
}

// difference says what an upstream was sent otherwise than the app has it in its
// request, but for what was told before.
func difference(asked *chatBody, sent []byte, told map[string]bool) string {
	type request struct {
		Messages   []json.RawMessage
		Tools      json.RawMessage
		ToolChoice json.RawMessage `json:"tool_choice"`
	}
	var app, got request
	b, err := json.Marshal(asked)
	if err == nil {
		err = json.Unmarshal(b, &app)
	}
	if err == nil {
		err = json.Unmarshal(sent, &got)
	}
	if err != nil {
		return err.Error()
	}
	var parts []string
	tell := func(part string) {
		if !told[part] {
			parts = append(parts, part)
		}
		told[part] = true
	}
	for _, m := range app.Messages {
		told[messageText(m)] = true
	}
	switch {
	case bytes.Equal(app.Tools, got.Tools):
	case got.Tools == nil:
		tell("no tools")
	case bytes.Contains(app.Tools, []byte("x-reference")) && !bytes.Contains(got.Tools, []byte("x-reference")):
		tell("the tools without x-reference")
	default:
		tell("other tools")
	}
	if got.ToolChoice != nil && !bytes.Equal(app.ToolChoice, got.ToolChoice) {
		tell("tool_choice " + string(got.ToolChoice))
	}
	for _, m := range got.Messages {
		tell(messageText(m))
	}
	return strings.Join(parts, ", ")
}

// messageText is a message in one line.
func messageText(message json.RawMessage) string {
	var m openai.ChatCompletionMessage
	_ = json.Unmarshal(message, &m) // what is none has no text
	text := m.Role + " " + shorten(m.Content, 100)
	for _, c := range m.ToolCalls {
		text += fmt.Sprintf(" %s(%s)", c.Function.Name, c.Function.Arguments)
	}
	return text
}

// indentLines indents the lines of a text that begins with an end of line.
func indentLines(by, text string) (out string) {
	for line := range strings.Lines(strings.TrimPrefix(text, "\n")) {
		out += by + line
	}
	return out
}
