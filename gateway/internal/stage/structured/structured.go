// Package structured is the stage that checks answers which were asked to be JSON: it repairs what
// has one meaning, and reports or refuses what has none or does not fit the schema.
//
// A stream goes out as it comes where it is right so far. What may be a code fence, prose or a slip
// waits until it is clear what it is. Where the policy refuses bad answers all of one waits until
// it is known to be good.
package structured

import (
	"context"
	"io"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// Maker makes the stage. What it knows of schemas all answers share.
type Maker struct{ forms *forms }

// New makes a maker.
func New() *Maker { return &Maker{newForms()} }

// Begin implements gateway.Maker.
func (m *Maker) Begin(_ context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	if a.Target.Structured == gateway.Off || a.Sent.Body.Places().ResponseFormat.Empty() {
		return nil, nil
	}
	format := a.Sent.Reading.Format()
	if !format.JSON {
		return nil, nil
	}
	report := a.Target.Structured == gateway.Report
	s := &stage{target: &a.Target, form: m.forms.of(format.Schema), report: report,
		checker: checker{schemas: m.forms.schemas, schema: format.Schema, outcome: o, policy: a.Target.OnBadOutput, report: report}}
	s.held.Room.Of, s.room.Of = a.Room, a.Room
	return s, nil
}

// Answers makes what reports of a text whether it is JSON of the schema that a request asks for, with
// members that the schema names. It is nil where a request asks for none, or demands a call.
func (m *Maker) Answers(r *gateway.Reading) func(text []byte) bool {
	format, choice := r.Format(), r.Choice()
	if !format.JSON || format.Schema == nil || choice.Required || choice.Tool != "" {
		return nil
	}
	return func(text []byte) bool {
		form := m.forms.of(format.Schema)
		var a repair.Answer
		a.Begin(form, maxDepth)
		a.Feed(text)
		_, problem := a.End()
		return problem == nil && form.Fits(a.Text()) && names(form, format.Schema, a.Text())
	}
}

const (
	// maxAnswer is how long an answer may be to be checked, in bytes, all choices together.
	maxAnswer = 4 << 20
	// maxHeld is how many bytes of frames wait for it; those of a stream take several times as
	// many as their text.
	maxHeld = 64 << 20
	// maxDepth is how deep the value may nest.
	maxDepth = 128
)

// stage reads the text of an answer's choices.
type stage struct {
	target  *gateway.Target
	form    *repair.Form
	checker checker
	report  bool // nothing is changed or refused, only said
	choices choices
	held    gateway.Held
	room    inflight.Hold // of the text that the choices keep
	first   *wire.Frame   // to write further ones by
	gaveUp  bool          // the answer is too long
}

func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	if f.IsChunk() && !s.gaveUp {
		if s.first == nil && !f.Whole {
			s.first = f.Copy()
		}
		size := 0
		for i := range f.Choices() { // of a whole answer it is known before it is read
			size += s.choices.of(f, i, s.form).answer.Size() + f.Choices()[i].Content.End - f.Choices()[i].Content.Start
		}
		for i := range f.Choices() {
			if size <= maxAnswer {
				s.read(s.choices.of(f, i, s.form), f, i)
			}
		}
		if err := s.room.Fit(2 * size); err != nil || size > maxAnswer {
			if s.checker.strict() && !s.choices.released() {
				return tooLong(err)
			}
			s.giveUp()
		}
	}
	return s.put(f, next)
}

// tooLong ends an answer that has to be known to be good before anyone sees it, and takes more than
// may wait. full is why there is no room, or nil.
func tooLong(full error) error {
	if full != nil {
		return gateway.NoRoom(full, "The model's answer needs more memory than one request may have (limits.memory).")
	}
	return &gateway.Error{Kind: gateway.BadAnswer, Param: "choices[0].message.content", Message: "The model's answer is refused: it is too long to be checked."}
}

// read takes in what a choice of a frame says.
func (s *stage) read(c *choice, f *wire.Frame, place int) {
	p := &f.Choices()[place]
	if c.done {
		return
	}
	switch events, read := f.Events(place); {
	case !p.Calls.IsNull(f.Data) || p.Acts:
		c.release(gateway.StructuredCalled)
	case read && s.target.Mode == gateway.Repair: // what another stage has made of the text
		c.events(events)
	case f.Whole && isObject(p.Content.Of(f.Data)): // as Cloudflare answers
		c.object = c.feed(p.Content.Of(f.Data))
	case !f.Pieces(place, c.feed):
		c.release(gateway.StructuredUnchecked)
	}
	if c.answer.Size() == c.begun && !p.Body.Empty() {
		if refusal := wire.Find(f.Data, p.Body, "refusal"); !refusal.IsNull(f.Data) && refusal.End-refusal.Start > len(`""`) {
			c.release(gateway.StructuredRefused)
		}
	}
	c.begun = c.answer.Size()
	if p.Reason != "" || f.Whole {
		s.checker.finish(c, p.Reason)
	}
}

func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }

// put gives a frame on with those that wait, or lets it wait.
func (s *stage) put(f *wire.Frame, next gateway.Sink) error {
	switch {
	case s.report:
		s.choices.settle()
		next.Put(f)
	case !s.gaveUp && (s.choices.holding() || s.checker.strict() && !s.choices.released()):
		if s.held.Add(f); s.held.Bytes <= maxHeld && s.held.Full == nil {
			break
		}
		if s.checker.strict() && !s.choices.released() {
			return tooLong(s.held.Full)
		}
		s.giveUp()
		s.flush(nil, next)
	default:
		s.flush(f, next)
	}
	return nil
}

// giveUp lets all go as it came, and looks at nothing more.
func (s *stage) giveUp() {
	s.gaveUp = true
	for _, c := range s.choices {
		c.release(gateway.StructuredUnchecked)
	}
	s.checker.outcome.Warn("structured_unchecked")
}

// flush gives on what waits, and a frame that came now if there is one: as they came, or with the
// text that is certain in the first of them.
func (s *stage) flush(f *wire.Frame, next gateway.Sink) {
	changed := s.choices.differ()
	if !changed {
		s.held.Release(next)
		if f != nil {
			next.Put(f)
		}
		s.choices.settle()
		return
	}
	s.checker.outcome.Changed = true
	for _, waiting := range s.held.Take() {
		s.rewrite(waiting)
		next.Put(waiting)
	}
	if f != nil {
		s.rewrite(f)
		next.Put(f)
	}
	s.late(next)
	s.choices.settle()
}

// rewrite puts what is certain of the text of a frame's choices in the place of their text: all of
// it into the first frame.
func (s *stage) rewrite(f *wire.Frame) {
	if !f.IsChunk() {
		return
	}
	for i := range f.Choices() {
		c := s.choices.of(f, i, s.form)
		if !c.changed {
			continue
		}
		old, read := f.Events(i)
		read = read && s.target.Mode == gateway.Repair
		text := c.take()
		if !read && len(text) == 0 && f.Choices()[i].Content.IsNull(f.Data) {
			continue
		}
		var events []abi.Event
		if read {
			events = withoutText(old)
		}
		if text != "" {
			events = append(events, abi.Event{Kind: abi.Content, Text: text})
		}
		if read {
			f.Change(i).SetEvents(events)
		} else {
			f.Change(i).PutText(events, "")
		}
	}
}

// withoutText is events without the content, but for that which was reasoning.
func withoutText(events []abi.Event) []abi.Event {
	var out []abi.Event
	for i, e := range events {
		switch e.Kind {
		case wire.WasReasoning:
			out = append(out[:0], events[:i+1]...)
		case abi.Content:
		default:
			out = append(out, e)
		}
	}
	return out
}

func (s *stage) End(cause error, next gateway.Sink) error {
	defer func() {
		for _, f := range s.held.Take() {
			f.Free()
		}
		_ = s.room.Fit(0)
	}()
	if cause != io.EOF {
		if !s.report && !s.checker.strict() { // a client may see what has come
			for _, c := range s.choices {
				c.release(gateway.StructuredUnchecked)
			}
			s.flush(nil, next)
		}
		return nil
	}
	for _, c := range s.choices {
		s.checker.finish(c, "")
	}
	s.checker.sum(s.choices)
	if err := s.checker.err(); err != nil || s.report {
		return err
	}
	s.flush(nil, next)
	return nil
}

// late writes what no frame was there for: the text of a choice that ended without a finish reason.
func (s *stage) late(next gateway.Sink) {
	for _, c := range s.choices {
		if text := c.take(); text != "" && s.first != nil {
			f := s.first.Like(c.index)
			f.Change(0).PutText([]abi.Event{{Kind: abi.Content, Text: text}}, "")
			next.Put(f)
		}
	}
}
