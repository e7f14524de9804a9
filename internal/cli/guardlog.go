package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/internal/plaintext"
)

type guardCmd struct {
	Log       string  `required:"" type:"path" help:"Conversations, one JSON object a line: {\"messages\": […], \"tools\": […]} as OpenAI's chat JSONL has them, or {\"request\": {…}, \"response\": {…}}. - is the standard input." placeholder:"FILE"`
	Threshold float64 `help:"Score from which an answer is called a ghost, like guard_threshold. Default: that of serve." placeholder:"SCORE"`
	Examples  int     `help:"How many of the answers that it objects to are shown." default:"10"`
}

// maxLogLine is how many bytes a line of the log may have.
const maxLogLine = 64 << 20

// Run says what the execution guard would have said of conversations that are over.
func (c *guardCmd) Run(e *env) error {
	in := e.stdin
	if c.Log != "-" {
		f, err := os.Open(c.Log)
		if err != nil {
			return usageError{err}
		}
		defer f.Close()
		in = f
	}
	t := guardTotals{judge: flow.Judging(gateway.GuardSettings{Threshold: c.Threshold}), signals: map[string]int{}, left: c.Examples}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLogLine)
	for n := 1; lines.Scan(); n++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		if err := t.line(n, lines.Bytes()); err != nil {
			return usageError{fmt.Errorf(`%s, line %d: %w; a line is one conversation, {"messages": […], "tools": […]}`, c.Log, n, err)}
		}
	}
	if err := lines.Err(); err != nil {
		return usageError{fmt.Errorf("%s: %w", c.Log, err)}
	}
	return t.print(e.stdout)
}

// guardTotals are what came of a log.
type guardTotals struct {
	judge                                          func(request []byte, answer string) (gateway.Verdict, error)
	conversations, answers, called                 int
	ghosts, contradictions, demanded, told, behind int
	signals                                        map[string]int
	examples                                       []string
	left                                           int
}

// loggedMessage is a message of a log, of which only the answers are looked into.
type loggedMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []any           `json:"tool_calls"`
}

// line reads a conversation and judges every answer in it that calls nothing.
func (t *guardTotals) line(n int, text []byte) error {
	var pair struct {
		Request  map[string]json.RawMessage
		Response *struct {
			Choices []struct{ Message loggedMessage }
		}
	}
	var chat map[string]json.RawMessage
	if err := json.Unmarshal(text, &chat); err != nil {
		return err
	}
	t.conversations++
	if chat["request"] != nil {
		if err := json.Unmarshal(text, &pair); err != nil {
			return err
		}
		if pair.Response == nil || len(pair.Response.Choices) == 0 {
			return nil
		}
		var messages []json.RawMessage
		if err := json.Unmarshal(pair.Request["messages"], &messages); err != nil {
			return fmt.Errorf("request.messages: %w", err)
		}
		return t.answer(n, len(messages), pair.Request, messages, &pair.Response.Choices[0].Message)
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(chat["messages"], &messages); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	for i, raw := range messages {
		var m loggedMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		if m.Role != "assistant" || i == 0 {
			continue
		}
		if err := t.answer(n, i, chat, messages[:i], &m); err != nil {
			return err
		}
	}
	return nil
}

// answer judges one answer to the messages before it.
func (t *guardTotals) answer(n, at int, request map[string]json.RawMessage, before []json.RawMessage, m *loggedMessage) error {
	if len(m.Calls) > 0 {
		t.called++
		return nil
	}
	if request["tools"] == nil {
		return nil
	}
	said := saidIn(m.Content)
	body := map[string]any{"model": "m", "messages": before, "tools": request["tools"]}
	if choice := request["tool_choice"]; choice != nil {
		body["tool_choice"] = choice
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	v, err := t.judge(text, said)
	if err != nil {
		return err
	}
	t.answers++
	if !v.Ghost && !v.Contradiction {
		return nil
	}
	what := "ghost"
	if v.Contradiction {
		what = "contradiction"
		t.contradictions++
	} else {
		t.ghosts++
		t.demanded += asNumber(v.Demand)
		t.told += asNumber(v.Hint)
		t.behind += asNumber(v.Changed)
	}
	for name := range v.For() {
		t.signals[name]++
	}
	if t.left > 0 {
		t.left--
		t.examples = append(t.examples, fmt.Sprintf("line %d, message %d: %s, score %.2f, %s%s\n    %s", n, at+1, what, v.Score,
			strings.Join(slices.Collect(v.For()), "+"), toolText(v.Tool), plaintext.Line(plaintext.Excerpt(said, 160))))
	}
	return nil
}

func toolText(tool string) string {
	if tool == "" {
		return ""
	}
	return ", tool " + plaintext.Line(plaintext.Excerpt(tool, 64))
}

func asNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}

// saidIn is the text of a content: a string, or the text parts of a list.
func saidIn(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}

func (t *guardTotals) print(w io.Writer) error {
	percent := func(n int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(t.answers, 1))) }
	_, err := fmt.Fprintf(w, `conversations            %d
answers with calls       %d
answers without, judged  %d
ghosts                   %d (%s)
contradictions           %d (%s)
with guard: enforce      %d calls demanded by name, %d models told that nothing was done, %d told what was, %d contradictions corrected
`, t.conversations, t.called, t.answers, t.ghosts, percent(t.ghosts), t.contradictions, percent(t.contradictions), t.demanded, t.told, t.behind, t.contradictions)
	if err != nil {
		return err
	}
	names := slices.SortedFunc(maps.Keys(t.signals), func(a, b string) int { return cmp.Or(cmp.Compare(t.signals[b], t.signals[a]), cmp.Compare(a, b)) })
	for _, name := range names {
		if _, err := fmt.Fprintf(w, "  signal %-18s %d\n", name, t.signals[name]); err != nil {
			return err
		}
	}
	for _, example := range t.examples {
		if _, err := fmt.Fprintln(w, example); err != nil {
			return err
		}
	}
	return nil
}
