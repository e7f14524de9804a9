package playground

import (
	"context"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/internal/plaintext"
	"github.com/callgate/callgate/sdk/abi"
)

// Bounds on the notes of one reading. What is beyond them is counted.
const (
	maxSteps    = 400
	maxPlaces   = 100
	maxStepText = 400      // bytes of a step's text
	maxHead     = 60       // bytes of what stands at a place
	maxCallArgs = 64 << 10 // bytes of arguments that are looked at
)

// Trace is what happened while a text was read.
type Trace struct {
	Steps      []Step // in the order in which they came
	MoreSteps  int    // that there were besides
	Places     []*Place
	MorePlaces int
	Parsers    []Parser // those that were asked, the slowest first, then those whose markup is in the text
	// Silent are the parsers of which nothing stands in the text.
	Silent []string
}

// Step is one thing that came out, or that a parser did.
type Step struct {
	Chunk int    // the chunk that led to it, from 1; behind the last one it is the end of the text
	Read  int    // bytes of the text that were read by then
	Who   string // the parser, or "" for what goes to the app
	Kind  string
	Call  int // number of the call, for steps of calls
	Text  string
	Short bool // Text is only the beginning
	// From and To are the bytes of the text that a parser's step is about.
	From, To int
}

// Place is where something may begin, and what the parsers that were asked there said.
type Place struct {
	Offset    int // in bytes
	Head      string
	Questions []*Question
	// Passed are parsers whose markup stands here too, and who were not asked.
	Passed []string
}

// Question is what became of a parser at a place.
type Question struct {
	Parser   string
	Times    int      // it was asked, as long as it needed more text
	Verdict  string   // no, yes or maybe
	Outcome  string   // what it did then
	Problems []string // what is wrong with the calls that it read, by the request's tools
	Failed   bool

	calls int // that it read
}

// Parser is what one parser did in all.
type Parser struct {
	Name          string
	Asked, Opened int
	Took          time.Duration
	// At is where its markup stands first, -1 if nowhere but as something else's.
	At int
}

// recorder is a chain.Runner that takes notes.
type recorder struct {
	runner chain.Runner
	input  *prepared
	trace  Trace
	read   int // bytes that the chain was fed
	chunk  int
	low    int // no place that is still to come is before it
	warned int // warnings of the report that have been noted
	totals map[string]*Parser
	offset int // of the place at hand, which may be one too many to keep
	place  *Place
}

func newRecorder(runner chain.Runner, p *prepared) *recorder {
	return &recorder{runner: runner, input: p, totals: map[string]*Parser{}}
}

// fed implements watcher.
func (r *recorder) fed(chunk string) {
	r.chunk++
	r.read += len(chunk)
}

// came implements watcher.
func (r *recorder) came(events []abi.Event, report *chain.Report) {
	for _, e := range events {
		s := Step{Kind: kind(e.Kind), Call: e.Index, Text: e.Text}
		if e.Kind == abi.CallStart {
			s.Text = e.Name
		}
		r.step(s)
	}
	for ; r.warned < len(report.Warnings); r.warned++ {
		r.step(Step{Kind: "warning", Text: report.Warnings[r.warned]})
	}
}

func kind(k abi.Kind) string {
	switch k {
	case wire.Void:
		return "void"
	case wire.WasReasoning:
		return "was_reasoning"
	}
	return k.String()
}

// step notes a step. Text that goes on is one step.
func (r *recorder) step(s Step) {
	s.Chunk, s.Read = r.chunk, r.read
	if n := len(r.trace.Steps); n > 0 && r.trace.MoreSteps == 0 {
		last := &r.trace.Steps[n-1]
		text := s.Kind == "content" || s.Kind == "reasoning" || s.Kind == "args"
		if text && last.Kind == s.Kind && last.Chunk == s.Chunk && last.Call == s.Call && last.Who == s.Who {
			last.Text, last.Short = clip(last.Text+s.Text, last.Short)
			return
		}
	}
	if len(r.trace.Steps) == maxSteps {
		r.trace.MoreSteps++
		return
	}
	s.Text, s.Short = clip(s.Text, false)
	r.trace.Steps = append(r.trace.Steps, s)
}

// clip shortens text to what is shown of a step.
func clip(text string, short bool) (string, bool) {
	return plaintext.Head(text, maxStepText), short || len(text) > maxStepText
}

// CanParse implements chain.Runner.
func (r *recorder) CanParse(ctx context.Context, parser string, head []byte) (abi.Verdict, error) {
	began := time.Now()
	verdict, err := r.runner.CanParse(ctx, parser, head)
	t := r.total(parser)
	t.Asked++
	t.Took += time.Since(began)
	q := r.question(parser, head)
	q.Times++
	q.Verdict = verdicts[verdict]
	if err != nil {
		q.Failed, q.Outcome = true, "failed: "+err.Error()
	}
	return verdict, err
}

var verdicts = map[abi.Verdict]string{abi.No: "no", abi.Yes: "yes", abi.Maybe: "maybe"} //nolint:gochecknoglobals // a table

func (r *recorder) total(parser string) *Parser {
	t := r.totals[parser]
	if t == nil {
		t = &Parser{Name: parser, At: -1}
		r.totals[parser] = t
	}
	return t
}

// question is where the answer of a parser at the place of head is noted. A parser that
// has answered is not asked about a place again: then it is another place.
func (r *recorder) question(parser string, head []byte) *Question {
	at := r.locate(head, r.low)
	if r.place != nil && at == r.offset {
		q := r.place.of(parser)
		switch {
		case q == nil:
			return r.ask(parser)
		case q.Verdict == "maybe":
			return q
		}
		at = r.locate(head, at+1)
	}
	r.offset, r.low = at, at
	r.place = &Place{Offset: at}
	if len(r.trace.Places) == maxPlaces {
		r.trace.MorePlaces++ // it is noted, and not kept
	} else {
		r.trace.Places = append(r.trace.Places, r.place)
	}
	return r.ask(parser)
}

func (r *recorder) ask(parser string) *Question {
	q := &Question{Parser: parser}
	r.place.Questions = append(r.place.Questions, q)
	return q
}

// of is what a parser has said, or nil.
func (p *Place) of(parser string) *Question {
	for _, q := range p.Questions {
		if q.Parser == parser {
			return q
		}
	}
	return nil
}

// locate finds where in the text a region begins. The chain asks about all that it has
// not decided, so a head that is shorter than it may be ends with what was read. A longer
// one is looked for: only text that repeats itself to the letter could stand in two
// places, and then the first of them is meant that was not dealt with.
func (r *recorder) locate(head []byte, low int) int {
	end := r.read - len(head)
	if len(head) < abi.MaxHead || low > end {
		return end
	}
	if i := strings.Index(r.input.text[low:r.read], string(head)); i >= 0 {
		return low + i
	}
	return end
}

// Open implements chain.Runner.
func (r *recorder) Open(ctx context.Context, parser string, opts abi.Options) (chain.Run, error) {
	began := time.Now()
	run, err := r.runner.Open(ctx, parser, opts)
	t := r.total(parser)
	t.Opened++
	t.Took += time.Since(began)
	q := &Question{} // the fallback is not asked
	if r.place != nil {
		if found := r.place.of(parser); found != nil {
			q = found
		}
	}
	if err != nil {
		q.Failed, q.Outcome = true, "could not be opened: "+err.Error()
		r.step(Step{Who: parser, Kind: "error", Text: err.Error(), From: r.offset, To: r.read})
		return nil, err
	}
	q.Outcome = "reads on at the end of the text"
	return &region{Run: run, r: r, q: q, total: t, parser: parser, base: r.offset}, nil
}
