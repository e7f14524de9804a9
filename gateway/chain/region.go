package chain

import (
	"context"
	"slices"

	"github.com/callgate/callgate/sdk/abi"
)

// region is text that begins at a trigger while parsers read it. It stands at the beginning of
// the text that its methods are given, which grows.
type region struct {
	site       site
	candidates []*Candidate // those still to be asked
	found      string       // the trigger; "" for a region at the start of the output
	literal    int          // length of the longest trigger that stands here
	declined   int          // how far a parser read that gave the region back
	cost       int          // as effort counts
	called     bool         // a call has come of it
	warned     bool         // something was said of it
	ended      bool         // the output ended while a parser read it
	reading    *reading     // by the parser that reads it now, or nil
	out        []abi.Event  // of the last call of read

	shown bool     // an event has been given out
	kind  abi.Kind // of the last text that was, 0 behind a call
}

// ending says what became of a region, or that nothing did yet.
type ending struct {
	kind     endKind
	from, to int      // bytes of the region
	calls    *thought // that may count
}

type endKind uint8

const (
	undecided endKind = iota // more text is needed
	wasRead                  // up to byte to
	isQuoted                 // up to byte to, and all of it is text
	mayCount                 // up to byte to, if the output ends with its calls
	givenBack                // bytes from to to, for the next candidate or as text
	noneReads                // no candidate wants it
	cutOff                   // before anything was certain
)

// newRegion begins a region at the beginning of text; start says that it is that of the output.
func newRegion(p *parsers, s site, text []byte, found string, start bool) *region {
	r := &region{site: s, candidates: p.plan.at(text, start), found: found, literal: 1, cost: 1}
	if p.opts.NoTools {
		r.candidates = slices.DeleteFunc(r.candidates, func(candidate *Candidate) bool { return !candidate.Framing })
	}
	for _, candidate := range r.candidates {
		r.literal = max(r.literal, longestPrefix(candidate.Triggers, text))
	}
	return r
}

func (r *region) close() {
	if r.reading != nil {
		r.reading.run.Close()
		r.reading = nil
	}
}

// read carries the region on. The events are those that go out now.
func (r *region) read(ctx context.Context, p *parsers, text []byte, e end) ([]abi.Event, ending) {
	r.out = r.out[:0]
	for {
		if r.reading == nil {
			if kind := r.choose(ctx, p, text, e); r.reading == nil {
				return r.out, ending{kind: kind}
			}
		}
		var became ending
		if r.out, became = r.reading.read(ctx, r.out, p, text, e); became.kind != givenBack {
			return r.out, became
		}
		became.to = max(min(became.to, len(text)), 1)
		r.ended = r.ended || e.final && r.reading.finished
		if became.from = min(became.from, became.to); r.reading.shown {
			return r.out, became
		}
		r.declined = max(r.declined, became.to)
		r.cost += became.to / readBytes
		r.close()
	}
}

// choose asks the candidates until one opens.
func (r *region) choose(ctx context.Context, p *parsers, text []byte, e end) endKind {
	for len(r.candidates) > 0 {
		candidate := r.candidates[0]
		verdict, err := r.ask(ctx, p, candidate, text)
		if err != nil {
			verdict = abi.No
		}
		if verdict == abi.Maybe && !e.final && len(text) < abi.MaxHead {
			return undecided
		}
		if verdict == abi.Maybe && e.final && e.reason == abi.Length && !candidate.Heuristic && r.found != "" {
			r.out = append(r.out, warn("truncated_call")) // it may have been the beginning of a call
			return cutOff
		}
		r.candidates = r.candidates[1:]
		r.cost++
		if verdict == abi.Yes {
			r.cost += p.openCost()
			var run Run
			if run, err = p.open(ctx, candidate, r.site.fenced); err == nil {
				r.out = slices.Grow(r.out, 4)
				r.reading = &reading{run: run, literal: r.literal, judge: newJudge(p, r.site, r.found, candidate)}
				return undecided
			}
		}
		if err != nil {
			r.out = append(r.out, p.failed(candidate.Name, err))
		}
	}
	return noneReads
}

// ask asks a candidate whether it reads the region. Heuristic parsers are not asked in code:
// texts about code are full of what they read.
func (r *region) ask(ctx context.Context, p *parsers, candidate *Candidate, text []byte) (abi.Verdict, error) {
	if candidate.Heuristic && r.site.fenced || candidate.Framing && p.plan.auto && r.site.doubts(candidate, r.found) == isText {
		return abi.No, nil
	}
	return p.runner.CanParse(ctx, candidate.Parser, text[:min(len(text), abi.MaxHead)])
}

// reading is a parser's work on a region.
type reading struct {
	run     Run
	judge   judge
	literal int
	fed     int  // how much of the text the run has read
	tail    tail // of the text
	clean   int  // how much was read when the last call was complete that went out
	shown   bool // an event went out
	// finished says that the output has ended while the run read.
	finished bool
}

// read gives the run what is new in the text.
func (r *reading) read(ctx context.Context, out []abi.Event, p *parsers, region []byte, e end) ([]abi.Event, ending) {
	text := region
	if !e.final {
		text = text[:len(text)-incomplete(text)]
	}
	if !r.judge.candidate.Framing { // a token that ends the output is nobody's markup
		text = text[:r.tail.begin(text, r.fed, e.final)]
	}
	for r.fed < len(text) {
		n := min(len(text)-r.fed, max(p.firstFeed(), r.fed), abi.MaxFeed)
		if r.fed+n < len(text) {
			n -= incomplete(text[r.fed : r.fed+n])
		}
		events, err := r.run.Feed(ctx, text[r.fed:r.fed+n])
		r.fed += n
		var became ending
		if out, became = r.act(out, p, region, events, err); became.kind != undecided {
			return out, became
		}
	}
	if !e.final {
		return out, ending{}
	}
	r.finished = true
	events, err := r.run.Finish(ctx, e.reason)
	out, became := r.act(out, p, region, events, err)
	if became.kind != undecided {
		return out, became
	}
	return r.end(out, p, region, r.fed)
}

// act acts on a run's events.
func (r *reading) act(out []abi.Event, p *parsers, region []byte, events []abi.Event, err error) ([]abi.Event, ending) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case abi.End:
			return r.end(out, p, region, e.To)
		case abi.Malformed:
			if r.shown && r.judge.tally.lacks { // of a call that stands
				out = append(out, warn("missing_arguments"))
			}
			return out, ending{kind: givenBack, from: e.From, to: e.To}
		default:
			before := len(out)
			out = r.judge.take(out, e, region)
			for _, given := range out[before:] {
				r.shown = r.shown || given.Kind != warning
				if given.Kind == abi.CallEnd {
					r.clean = r.fed
				}
			}
		}
	}
	if err != nil {
		return append(out, p.failed(r.judge.candidate.Name, err)), ending{kind: givenBack, from: r.clean, to: len(region)}
	}
	return out, ending{}
}

// end closes a region that the parser has read up to byte to.
func (r *reading) end(out []abi.Event, p *parsers, region []byte, to int) ([]abi.Event, ending) {
	if to <= 0 {
		return out, ending{kind: givenBack, to: r.literal}
	}
	if p.opts.Answers != nil && r.judge.candidate.Heuristic && r.judge.tally.calls > 0 && p.opts.Answers(region[:min(to, len(region))]) {
		return append(out, warn("call_quoted")), ending{kind: isQuoted, to: to}
	}
	return r.judge.end(out, to)
}

// thought is a call that counts only if of what follows it nothing shows that the
// model only wrote about it: the output must end with it.
type thought struct {
	raw    []byte
	after  []byte // what of raw stands behind the last call
	calls  []heldCalls
	fenced bool // it stands in a block of code
	inline bool // it stands in the answer: what surrounds it is content
	closes bool // the end of the block of code is being read
	strays bool // raw has markers in front of the calls that begin nothing
}

// heldCalls are the events of one region that a parser has read.
type heldCalls struct {
	parser string
	events []abi.Event
}

// add takes in text behind the calls.
func (t *thought) add(text []byte) {
	t.raw, t.after = append(t.raw, text...), append(t.after, text...)
	t.closes = false
}

// join takes the calls of a further region in, with what stands before them. t is nil if they
// are the first.
func (t *thought) join(further *thought, before, region []byte) *thought {
	if t == nil {
		t = further
	} else {
		t.calls = append(t.calls, further.calls...)
		t.strays = t.strays || further.strays
	}
	t.raw, t.after = append(append(t.raw, before...), region...), nil
	return t
}

// standsInline reports whether markup behind the calls leaves them calls.
func (t *thought) standsInline() bool { return t != nil && t.inline }
