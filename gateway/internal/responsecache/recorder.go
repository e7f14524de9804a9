package responsecache

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// recording keeps an answer while it goes out, until it is complete and stored, or turns out
// to be none that is. It makes the last stage of each attempt, and is used by one goroutine.
type recording struct {
	cache  *Cache
	ctx    context.Context //nolint:containedctx // a recording lives as long as its request
	policy Policy
	key    answers.Key
	flight *answers.Flight // nil: nobody waits for the answer
	over   bool
	waited time.Duration // for the store, of what a request may
	// readers stands for the parsers that the key was made with.
	readers string
}

func (r *recording) Begin(_ context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	return &recorder{recording: r, attempt: a, outcome: o, room: inflight.Hold{Of: a.Room}}, nil
}

// end tells those who wait, once, what became of the answer.
func (r *recording) end(tell func(*answers.Flight)) {
	if !r.over && r.flight != nil {
		tell(r.flight)
	}
	r.over = true
}

// land gives an answer that is in the store to those who wait.
func (r *recording) land(a *answers.Answer) { r.end(func(f *answers.Flight) { f.Land(a) }) }

// giveUp is for an answer that is not one to share.
func (r *recording) giveUp() { r.end((*answers.Flight).Fail) }

// abandon is for an answer that nobody has read to its end.
func (r *recording) abandon() { r.end((*answers.Flight).Abandon) }

// recorder is the stage that keeps the answer of one attempt.
type recorder struct {
	*recording
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
	kept    []byte
	room    inflight.Hold
	blocks  []byte // of a frame
	unfit   bool   // it is none that is stored
	whole   bool
	said    bool // there is text
	stopped bool // the finish reason was "stop"
}

func (s *recorder) Frame(f *wire.Frame, next gateway.Sink) error {
	if !s.unfit && !s.take(f) {
		s.drop()
	}
	next.Put(f)
	return nil
}

// drop is for an answer that is not stored. Nobody has to wait for its end to learn that,
// once the client has seen something of it.
func (s *recorder) drop() {
	s.count(-len(s.kept))
	s.unfit, s.kept = true, nil
	_ = s.room.Fit(0) // to shrink cannot fail
	if s.outcome.Committed {
		s.giveUp()
	}
}

// count counts bytes that are held, or are not any more, and reports whether all answers
// together have room for them.
func (s *recorder) count(n int) bool { return s.cache.held.Add(int64(n)) <= maxHeld }

// take takes a frame in. It reports false if the answer is none that is stored. Comments are
// left out: they are about one request, or keep a connection open.
func (s *recorder) take(f *wire.Frame) bool {
	if !s.outcome.IsSound() || s.attempt.Fallbacks > 0 {
		return false
	}
	if f.Data != nil && (!f.IsChunk() || !s.read(f)) {
		return false
	}
	if s.whole = f.Whole; s.whole {
		return s.keep(f.Bytes())
	}
	s.blocks = f.AppendTo(s.blocks[:0])
	return s.lines(s.blocks)
}

// keep takes bytes in. It reports false if the answer has become too long, or there is no memory for it.
func (s *recorder) keep(b []byte) bool {
	s.kept = append(s.kept, b...)
	return s.count(len(b)) && len(s.kept) <= s.policy.Largest && s.room.Fit(len(s.kept)) == nil
}

// lines takes blocks of a stream in, line by line. It reports false for what it does not know:
// other fields than data, and data on several lines.
func (s *recorder) lines(blocks []byte) bool {
	data := false
	for line := range bytes.Lines(blocks) {
		switch text := bytes.TrimRight(line, "\r\n"); {
		case len(text) > 0 && text[0] == ':', len(text) == 0 && !data:
			continue
		case len(text) == 0:
			data = false
		case data || !bytes.HasPrefix(text, []byte("data:")):
			return false
		default:
			data = true
		}
		if !s.keep(line) {
			return false
		}
	}
	return !data
}

// read looks for what makes a chunk, or a completion, one of an answer that is not kept: a
// call of any kind, another end than "stop", several choices, what a search has found.
func (s *recorder) read(f *wire.Frame) bool {
	for _, found := range [...]string{`"citations"`, `"search_results"`, `"search_info"`} {
		if bytes.Contains(f.Data, []byte(found)) {
			return false
		}
	}
	if f.Whole && len(f.Choices()) != 1 {
		return false
	}
	for i := range f.Choices() {
		c := &f.Choices()[i]
		calls := !c.Calls.IsNull(f.Data) && string(c.Calls.Of(f.Data)) != "[]"
		if c.Index > 0 || calls || c.Acts || c.Reason != "" && c.Reason != "stop" {
			return false
		}
		s.stopped = s.stopped || c.Reason == "stop"
		s.said = s.said || c.SaysText
	}
	return true
}

// End implements gateway.Stage. The answer is stored before the client has its end.
func (s *recorder) End(cause error, _ gateway.Sink) error {
	defer func() { s.count(-len(s.kept)) }()
	swapped := s.outcome.ParserFingerprint != "" && s.outcome.ParserFingerprint != s.readers // since the key was made, and that is another one's
	switch {
	case cause == io.EOF && !s.unfit && s.said && s.stopped && (s.whole || s.outcome.End != nil) && !swapped && s.outcome.IsSound():
		s.store()
	case cause != io.EOF && !s.outcome.Committed: // another attempt may follow
	case cause != io.EOF && gateway.AsError(cause).Kind == gateway.Canceled:
		s.abandon()
	default:
		s.giveUp()
	}
	return nil
}

// store stores the answer, and gives it to those who wait.
func (s *recorder) store() {
	if s.over {
		return
	}
	content := "application/json"
	body := bytes.Clone(s.kept) // without the room that it grew in
	if !s.whole {
		content = "text/event-stream"
		body = append(body, s.outcome.End...)
	}
	a := &answers.Answer{
		Provider: s.attempt.Provider, Model: s.attempt.Model, Streamed: !s.whole, ContentType: content,
		Stored: s.cache.now().UTC(), Parsers: slices.Clone(s.outcome.Parsers), Repairs: maps.Clone(s.outcome.Repairs), Usage: s.outcome.Usage, Body: body,
	}
	for _, c := range s.attempt.Corrections {
		a.Corrections = append(a.Corrections, answers.Correction{Tool: c.Tool, Reason: c.Reason})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), answers.MaxWait-s.waited) // also for a client that has left
	defer cancel()
	s.policy.Store.Put(ctx, s.key, a, s.policy.TTL)
	s.land(a)
}
