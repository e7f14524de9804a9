package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/internal/spelling"
	"github.com/callgate/callgate/sdk/abi"
)

// maxLine is how long a line of parse --jsonl may be.
const maxLine = 64 << 20

type parseCmd struct {
	Parser    string `help:"Parser: a name, auto or none." default:"auto" placeholder:"NAME"`
	Tools     string `type:"path" help:"JSON file with the tools that the request offers. Without it every name counts as offered." placeholder:"FILE"`
	Model     string `help:"Name of the model; parsers made for it are asked first." placeholder:"NAME"`
	Reasoning string `help:"Where the text begins: auto, open (inside the reasoning), closed, or none (do not look for reasoning)." enum:"auto,open,closed,none" default:"auto" placeholder:"STATE"`
	Finish    string `help:"Why the model stopped: stop or length." enum:"stop,length" default:"stop" placeholder:"REASON"`
	Config    string `short:"c" type:"path" help:"Configuration file, for formats and plugins of your own." placeholder:"FILE"`
	JSONL     bool   `name:"jsonl" help:"Read one JSON object a line (id, input or chunks, tools, parser, model, reasoning, tool_in_reasoning, finish_reason) and write one a line. The flags are the defaults of the lines."`
	Check     bool   `help:"Read such lines with the expected result (want: content, reasoning, tool_calls, finish_reason), parse each with its parser and with auto, whole and cut in many ways, and print every difference."`
}

// parseIn is a line of parse --jsonl.
type parseIn struct {
	ID           json.RawMessage `json:"id"`
	Input        *string         `json:"input"`
	Chunks       []string        `json:"chunks"`
	Tools        json.RawMessage `json:"tools"`
	Parser       *nameOrNames    `json:"parser"`
	Model        string          `json:"model"`
	Reasoning    string          `json:"reasoning"`
	FinishReason string          `json:"finish_reason"`
	InReasoning  string          `json:"tool_in_reasoning"`

	alsoAuto bool // parse --check reads it with auto too
}

// nameOrNames is a parser's name, or a list of them.
type nameOrNames []string

// UnmarshalJSON implements json.Unmarshaler.
func (n *nameOrNames) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = nameOrNames{one}
		return nil
	}
	var many []string
	if json.Unmarshal(b, &many) != nil {
		return errors.New("parser must be a name or a list of names")
	}
	*n = many
	return nil
}

// parseOut is what is printed for a text.
type parseOut struct {
	ID           json.RawMessage   `json:"id,omitempty"`
	Parser       string            `json:"parser"`
	Content      string            `json:"content"`
	Reasoning    string            `json:"reasoning"`
	ToolCalls    []openai.ToolCall `json:"tool_calls"`
	FinishReason string            `json:"finish_reason"`
	Repairs      []string          `json:"repairs"`
	Warnings     []string          `json:"warnings,omitempty"`
}

// parseError is what is printed for a line that cannot be read.
type parseError struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Error string          `json:"error"`
}

// Run parses standard input.
func (p *parseCmd) Run(e *env) error {
	source, err := e.parsers(p.Config, func(string) (string, bool) { return "", false }, logger(e.stderr, config.Log{Level: "error", Format: "text"}))
	if err != nil {
		return usageError{err}
	}
	defer source.host.Close(e.ctx)
	defaults := parseIn{Model: p.Model, Reasoning: p.Reasoning, FinishReason: p.Finish, Parser: &nameOrNames{p.Parser}}
	if p.Tools != "" {
		if defaults.Tools, err = toolsOf(p.Tools); err != nil {
			return usageError{fmt.Errorf("--tools: %w", err)}
		}
	}
	if _, err := source.specFor(*defaults.Parser, p.Reasoning); err != nil { // before anything is read
		return usageError{fmt.Errorf("--parser: %w", err)}
	}
	if p.Check {
		return p.check(e, source, defaults)
	}
	if p.JSONL {
		return p.lines(e, source, defaults)
	}
	text, err := io.ReadAll(e.stdin)
	if err != nil {
		return err
	}
	input := string(text)
	defaults.Input = &input
	out, err := parse(e.ctx, source, defaults)
	if err != nil {
		return usageError{err}
	}
	return printJSON(e.stdout, out)
}

// lines parses each line. One that fails is answered with its error, and the run
// goes on.
func (p *parseCmd) lines(e *env, source *parsers, defaults parseIn) error {
	in := bufio.NewScanner(e.stdin)
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	out := bufio.NewWriter(e.stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	failed := false
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		result, ok := parseLine(e.ctx, source, defaults, in.Bytes())
		failed = failed || !ok
		if err := encoder.Encode(result); err != nil {
			return err
		}
		if err := out.Flush(); err != nil { // who writes a line may wait for its answer
			return err
		}
	}
	if err := in.Err(); err != nil {
		_ = encoder.Encode(parseError{Error: "the input could not be read on: " + err.Error()})
		failed = true
	}
	if failed {
		return errFailed
	}
	return nil
}

func parseLine(ctx context.Context, source *parsers, defaults parseIn, line []byte) (result any, ok bool) {
	c, err := defaults.with(line)
	if err != nil {
		return parseError{c.ID, err.Error()}, false
	}
	out, err := parse(ctx, source, c)
	if err != nil {
		return parseError{c.ID, err.Error()}, false
	}
	return out, true
}

// with reads a line, whose defaults these are.
func (p parseIn) with(line []byte) (parseIn, error) {
	c := p
	c.Parser, c.Tools = nil, nil // the decoder would write into what all lines share
	if err := json.Unmarshal(line, &c); err != nil {
		return c, fmt.Errorf("not a JSON object of the known form: %w", err)
	}
	if c.Parser == nil {
		c.Parser = p.Parser
	}
	if c.Tools == nil {
		c.Tools = p.Tools
	}
	return c, nil
}

// parse reads one text as the gateway reads an answer.
func parse(ctx context.Context, source *parsers, c parseIn) (*parseOut, error) {
	chunks := c.Chunks
	if c.Input != nil {
		if chunks != nil {
			return nil, errors.New("give input or chunks, not both")
		}
		chunks = []string{*c.Input}
	}
	if c.Input == nil && chunks == nil {
		return nil, errors.New("input is missing: give the text as input, or in pieces as chunks")
	}
	tools, err := readTools(c.Tools)
	if err != nil {
		return nil, err
	}
	spec, err := source.specFor(*c.Parser, c.Reasoning)
	if err != nil {
		return nil, err
	}
	reason, finish := abi.Stop, openai.FinishReasonStop
	switch openai.FinishReason(c.FinishReason) {
	case openai.FinishReasonStop, openai.FinishReasonToolCalls:
	case openai.FinishReasonLength:
		reason, finish = abi.Length, openai.FinishReasonLength
	default:
		return nil, fmt.Errorf("finish_reason is %q; it must be stop or length", c.FinishReason)
	}
	inReasoning, ok := inReasonings[c.InReasoning]
	if !ok && c.InReasoning != "" {
		return nil, fmt.Errorf("tool_in_reasoning is %q; it must be buffer, end or ignore", c.InReasoning)
	}
	plan, session, err := source.Plan(ctx, spec, c.Model)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	reader := plan.New(session, chain.Options{
		Tools: func() []abi.Tool { return tools }, AnyName: len(tools) == 0,
		Reasoning: reasoningStates[c.Reasoning], InReasoning: inReasoning,
	})
	defer reader.Close()
	var m chain.Message
	for _, text := range chunks {
		m.Add(reader.Feed(ctx, []byte(text)))
	}
	m.Add(reader.Finish(ctx, reason))
	return output(&m, reader.Report(), c.ID, finish), nil
}

var reasoningStates = map[string]chain.Reasoning{"auto": chain.Auto, "open": chain.Open, "closed": chain.Closed, "none": chain.Closed} //nolint:gochecknoglobals // a table

// inReasonings are the ways to read a call in open reasoning, as the configuration
// calls them.
var inReasonings = map[string]chain.InReasoning{"buffer": chain.Buffer, "end": chain.Ends, "ignore": chain.Ignore} //nolint:gochecknoglobals // a table

func readTools(raw json.RawMessage) ([]abi.Tool, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	tools, err := gateway.ReadTools(raw)
	if err != nil {
		return nil, errors.New(`tools must be a list of tools, in OpenAI's form or as bare functions, such as [{"name": "get_weather"}]`)
	}
	return tools, nil
}

// toolsOf reads a file of tools, which is checked before anything is parsed.
func toolsOf(file string) (json.RawMessage, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if _, err := readTools(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return raw, nil
}

// specFor checks what a line asks for.
func (p *parsers) specFor(names nameOrNames, reasoning string) (gateway.ParserSpec, error) {
	if _, ok := reasoningStates[reasoning]; !ok {
		return gateway.ParserSpec{}, fmt.Errorf("reasoning is %q; it must be auto, open, closed or none", reasoning)
	}
	known := p.names(p.host.Parsers())
	if len(names) == 0 {
		return gateway.ParserSpec{}, errors.New("parser is an empty list; write none, auto or a name")
	}
	for _, name := range names {
		if len(names) > 1 && (name == config.Auto || name == config.None) {
			return gateway.ParserSpec{}, fmt.Errorf("%q stands alone, not in a list with names", name)
		}
		if name != config.Auto && name != config.None && !slices.Contains(known, name) {
			return gateway.ParserSpec{}, noParser(name, known)
		}
	}
	spec := parserSpec(config.Parsers(names), reasoning)
	spec.Reasoning = reasoning != "none"
	return spec, nil
}

// noParser says that there is no parser of a name, and which may be meant.
func noParser(name string, known []string) error {
	slips := spelling.Rule{Most: 1, Longest: 64, Changes: func(word, _ string) int { return (len(word) + 2) / 3 }} // as in a configuration
	hint := ""
	if near := slips.Near(name, known); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %q? ", near[0])
	}
	return fmt.Errorf("there is no parser %q; %scallgate plugin list shows those that there are", name, hint)
}

func output(m *chain.Message, report *chain.Report, id json.RawMessage, finish openai.FinishReason) *parseOut {
	out := &parseOut{ID: id, Content: m.Content.String(), Reasoning: m.Reasoning.String(), FinishReason: string(finish),
		ToolCalls: []openai.ToolCall{}, Repairs: []string{}, Warnings: report.Warnings}
	for i, c := range m.Calls() {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d", i)
		}
		out.ToolCalls = append(out.ToolCalls, openai.ToolCall{ID: c.ID, Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
	}
	if len(out.ToolCalls) > 0 && finish == openai.FinishReasonStop {
		out.FinishReason = string(openai.FinishReasonToolCalls)
	}
	if len(report.Parsers) > 0 {
		out.Parser = report.Parsers[0]
	}
	out.Repairs = append(out.Repairs, slices.Sorted(maps.Keys(report.Repairs))...)
	return out
}
