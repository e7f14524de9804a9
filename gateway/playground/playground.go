// Package playground reads the text of a model's answer as the gateway would, and notes
// all that happens on the way: which parsers were asked at which place, what they said,
// what came out after which chunk, and how long each took. The operator's page shows it.
//
// The text goes through the gateway's own parsers in their sandbox. The chain that asks
// them knows nothing of the playground: it talks to a runner, and this one takes notes.
package playground

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// Source gives the parsers. The wiring implements it over the plugin host.
type Source interface {
	gateway.ParserSource
	// Spec turns a parser's name, or auto or none, and a state of the reasoning (auto,
	// open, closed or none) into what Plan takes. Its error names what there is not.
	Spec(parser, reasoning string) (gateway.ParserSpec, error)
	// Candidates are the parsers that a plan of spec may ask.
	Candidates(spec gateway.ParserSpec) []chain.Candidate
}

// Bounds on what is read.
const (
	MaxText  = 1 << 20   // bytes of the text
	MaxTools = 256 << 10 // bytes of the tools
)

// Input is a text and what a request would say of it.
type Input struct {
	Text string
	// Tools is the request's list of tools as JSON, in OpenAI's form or as bare
	// functions. Without it every name counts as offered.
	Tools string
	// Parser is a parser's name, auto or none; "" is auto.
	Parser string
	Model  string
	// Reasoning is auto, open, closed or none; "" is auto.
	Reasoning string
	// Finish is why the model stopped, stop or length; "" is stop.
	Finish string
}

// Result is what the app gets of a text.
type Result struct {
	Content   string
	Reasoning string
	Calls     []openai.ToolCall // those without an id of the model's are call_0, call_1, …
	Finish    string
	Parsers   []string // whose calls were taken
	Repairs   map[string]int
	Warnings  []string
}

// Bench reads texts with the parsers of a source. It keeps nothing of them, and may be
// used by several goroutines.
type Bench struct{ source Source }

// New makes a bench.
func New(source Source) *Bench { return &Bench{source} }

// prepared is an input that has been checked.
type prepared struct {
	text      string
	tools     []abi.Tool
	spec      gateway.ParserSpec
	model     string
	reasoning chain.Reasoning
	reason    abi.Reason
	finish    openai.FinishReason
}

var states = map[string]chain.Reasoning{"auto": chain.Auto, "open": chain.Open, "closed": chain.Closed, "none": chain.Closed} //nolint:gochecknoglobals // a table

// prepare checks an input. Its errors are for who typed it.
func (b *Bench) prepare(in Input) (*prepared, error) {
	switch {
	case len(in.Text) > MaxText:
		return nil, fmt.Errorf("the text has %d bytes; at most %d are read", len(in.Text), MaxText)
	case len(in.Tools) > MaxTools:
		return nil, fmt.Errorf("the tools have %d bytes; at most %d are read", len(in.Tools), MaxTools)
	}
	p := &prepared{text: in.Text, model: in.Model}
	if strings.TrimSpace(in.Tools) != "" {
		var err error
		if p.tools, err = gateway.ReadTools([]byte(in.Tools)); err != nil {
			return nil, errors.New("tools must be a JSON list of tools, in OpenAI's form or as bare functions")
		}
	}
	reasoning := cmp.Or(in.Reasoning, "auto")
	var ok bool
	if p.reasoning, ok = states[reasoning]; !ok {
		return nil, fmt.Errorf("reasoning is %.40q; it must be auto, open, closed or none", in.Reasoning)
	}
	switch openai.FinishReason(cmp.Or(in.Finish, "stop")) {
	case openai.FinishReasonStop:
		p.reason, p.finish = abi.Stop, openai.FinishReasonStop
	case openai.FinishReasonLength:
		p.reason, p.finish = abi.Length, openai.FinishReasonLength
	default:
		return nil, fmt.Errorf("finish reason is %.40q; it must be stop or length", in.Finish)
	}
	var err error
	p.spec, err = b.source.Spec(cmp.Or(in.Parser, "auto"), reasoning)
	return p, err
}

// Reading is a text that was read, and how.
type Reading struct {
	Result
	Trace
	Chunks []string // as the text was fed; joined they are the text
}

// Read reads a text cut as a cut says, and notes what happens. Its error says what is
// wrong with the input, or that ctx ended first.
func (b *Bench) Read(ctx context.Context, in Input, cut Cut) (*Reading, error) {
	p, err := b.prepare(in)
	if err != nil {
		return nil, err
	}
	plan, session, err := b.source.Plan(ctx, p.spec, p.model)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	r := &Reading{Chunks: cut.Apply(p.text)}
	rec := newRecorder(session, p)
	if err := p.read(ctx, plan, rec, r.Chunks, rec, &r.Result); err != nil {
		return nil, err
	}
	r.Trace = rec.done(b.source.Candidates(p.spec), r.Result.Parsers)
	return r, nil
}

// watcher is told of what a chain gives.
type watcher interface {
	fed(chunk string)
	came(events []abi.Event, report *chain.Report)
}

// read feeds the chunks to a chain and joins what comes out.
func (p *prepared) read(ctx context.Context, plan *chain.Plan, runner chain.Runner, chunks []string, w watcher, out *Result) error {
	reader := plan.New(runner, chain.Options{Tools: func() []abi.Tool { return p.tools }, AnyName: len(p.tools) == 0, Reasoning: p.reasoning})
	defer reader.Close()
	var m chain.Message
	for _, text := range chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.fed(text)
		events := reader.Feed(ctx, []byte(text))
		w.came(events, reader.Report())
		m.Add(events)
	}
	w.fed("")
	events := reader.Finish(ctx, p.reason)
	w.came(events, reader.Report())
	m.Add(events)
	if err := ctx.Err(); err != nil { // the parsers were stopped, which says nothing of them
		return err
	}
	*out = result(&m, reader.Report(), p.finish)
	return nil
}

// result is what an app would get.
func result(m *chain.Message, report *chain.Report, finish openai.FinishReason) Result {
	out := Result{Content: m.Content.String(), Reasoning: m.Reasoning.String(), Finish: string(finish), Calls: []openai.ToolCall{},
		Parsers: slices.Clone(report.Parsers), Repairs: maps.Clone(report.Repairs), Warnings: slices.Clone(report.Warnings)}
	for i, c := range m.Calls() {
		out.Calls = append(out.Calls, openai.ToolCall{ID: cmp.Or(c.ID, fmt.Sprintf("call_%d", i)), Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
	}
	if len(out.Calls) > 0 && finish == openai.FinishReasonStop {
		out.Finish = string(openai.FinishReasonToolCalls)
	}
	return out
}

// Failed reports whether a parser failed, rather than declined.
func (r *Result) Failed() bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "plugin:") })
}
