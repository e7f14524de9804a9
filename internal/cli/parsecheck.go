package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"sync"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/playground"
)

// parseWant is what a line of parse --check says that its text means.
type parseWant struct {
	Content      string     `json:"content"`
	Reasoning    string     `json:"reasoning"`
	ToolCalls    []wantCall `json:"tool_calls"`
	FinishReason string     `json:"finish_reason"`
	Warnings     []string   `json:"warnings"` // compared if it is there
}

type wantCall struct {
	ID        string          `json:"id"` // compared if it is there
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // compared as a JSON value, numbers by their digits
}

// check parses each line's text with its own parser and with auto (unless the line
// says "auto": false), whole and cut in many ways, and compares with its "want".
func (p *parseCmd) check(e *env, source *parsers, defaults parseIn) error {
	in := bufio.NewScanner(e.stdin)
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	var checks []*check
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		line, want, err := readCheck(in.Bytes(), defaults)
		if err != nil {
			return usageError{err}
		}
		checks = append(checks, &check{line: line, want: want})
	}
	if err := in.Err(); err != nil {
		return usageError{err}
	}
	runChecks(e.ctx, source, checks)
	parses, failed := 0, 0
	for _, c := range checks {
		parses += c.parses
		if c.wrong != "" {
			failed++
			fmt.Fprintln(e.stdout, c.wrong)
		}
	}
	if failed > 0 {
		fmt.Fprintf(e.stdout, "%d of %d texts do not mean what they should\n", failed, len(checks))
		return errFailed
	}
	fmt.Fprintf(e.stdout, "%d texts mean what they should, in all of %d ways to cut and read them\n", len(checks), parses)
	return nil
}

// check is a text with what it means, and what came of it.
type check struct {
	line   parseIn
	want   *parseWant
	wrong  string
	parses int
}

// runChecks checks the texts, as many at once as there are processors.
func runChecks(ctx context.Context, source *parsers, checks []*check) {
	next := make(chan *check)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range next {
				c.wrong, c.parses = checkLine(ctx, source, c.line, c.want)
			}
		})
	}
	for _, c := range checks {
		next <- c
	}
	close(next)
	workers.Wait()
}

func readCheck(b []byte, defaults parseIn) (parseIn, *parseWant, error) {
	var more struct {
		Auto *bool      `json:"auto"`
		Want *parseWant `json:"want"`
	}
	line, err := defaults.with(b)
	if err != nil {
		return line, nil, err
	}
	if err := json.Unmarshal(b, &more); err != nil || more.Want == nil || line.Input == nil {
		return line, nil, fmt.Errorf("line %s: give input, and want with content, reasoning, tool_calls and finish_reason", line.ID)
	}
	line.alsoAuto = more.Auto == nil || *more.Auto
	return line, more.Want, nil
}

// checkLine returns what is wrong, or "", and how often it parsed.
func checkLine(ctx context.Context, source *parsers, line parseIn, want *parseWant) (wrong string, parses int) {
	names := []nameOrNames{*line.Parser}
	if auto := (nameOrNames{"auto"}); line.alsoAuto && !reflect.DeepEqual(names[0], auto) {
		names = append(names, auto)
	}
	text := *line.Input
	line.Input = nil
	for _, name := range names {
		line.Parser = &name
		for _, pieces := range waysToCut(text) {
			line.Chunks = pieces
			parses++
			out, err := parse(ctx, source, line)
			if err != nil {
				return fmt.Sprintf("%s: parser %s: %v", line.ID, name[0], err), parses
			}
			if !want.is(out) {
				got, _ := json.Marshal(out) // it was made to be written
				return fmt.Sprintf("%s: parser %s, cut as %.300q gives\n  %s", line.ID, name[0], pieces, got), parses
			}
		}
	}
	return "", parses
}

// waysToCut are: not at all, after every byte, after six characters each, in two at
// every byte, and 50 at random.
func waysToCut(text string) [][]string {
	ways := [][]string{{text}}
	if text == "" {
		return ways
	}
	for i := 1; i < len(text); i++ {
		ways = append(ways, []string{text[:i], text[i:]})
	}
	ways = append(ways, playground.Bytes().Apply(text), playground.Sixes().Apply(text))
	for i := range 50 {
		ways = append(ways, playground.Random(uint64(len(text)), i).Apply(text))
	}
	return ways
}

// is reports whether a text was read as it should be.
func (w *parseWant) is(got *parseOut) bool {
	if got.Content != w.Content || got.Reasoning != w.Reasoning || got.FinishReason != w.FinishReason || len(got.ToolCalls) != len(w.ToolCalls) {
		return false
	}
	if w.Warnings != nil && fmt.Sprint(w.Warnings) != fmt.Sprint(got.Warnings) {
		return false
	}
	for i, c := range got.ToolCalls {
		if !w.ToolCalls[i].is(c) {
			return false
		}
	}
	return true
}

func (w *wantCall) is(got openai.ToolCall) bool {
	value := func(b []byte) (v any) {
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if d.Decode(&v) != nil || d.More() {
			return got // equal to nothing
		}
		return v
	}
	return got.Function.Name == w.Name && (w.ID == "" || got.ID == w.ID) &&
		reflect.DeepEqual(value([]byte(got.Function.Arguments)), value(w.Arguments))
}
