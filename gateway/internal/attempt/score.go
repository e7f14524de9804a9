package attempt

import (
	"cmp"
	"io"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/loop"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/quality"
	"github.com/callgate/callgate/gateway/repair"
)

// anyModel is the model of targets whose models nobody has named, where calls are counted.
const anyModel = gateway.AnyModel

// score counts what became of the calls of one attempt.
type score struct {
	book   *quality.Book
	info   *gateway.AttemptInfo
	target quality.Target
}

// scored is the target of a candidate where calls are counted: by the model's name if the
// configuration has it.
func (e *Engine) scored(c *candidate) quality.Target {
	model := anyModel
	if e.loads[targetKey{c.Provider, c.model}] != nil {
		model = c.model
	}
	return Scored(c.Target, model)
}

// Scored is a target where calls are counted, under the name of its model.
func Scored(t gateway.Target, model string) quality.Target {
	return quality.Target{Provider: t.Provider, Model: cmp.Or(model, anyModel), Parser: parserOf(&t)}
}

// score is that of an attempt; nil if nobody wants it.
func (e *Engine) score(p *Plan, c *candidate, info *gateway.AttemptInfo) *score {
	if !p.Calls.Counted || e.book == nil || p.Exchange.Send != nil {
		return nil
	}
	return &score{book: e.book, info: info, target: e.scored(c)}
}

// parserOf says how a target's text is read.
func parserOf(t *gateway.Target) string {
	switch {
	case t.Mode == gateway.Off:
		return "off"
	case t.Parsers.Auto:
		return "auto"
	case len(t.Parsers.Names) > 0:
		return strings.Join(t.Parsers.Names, ",")
	}
	return "native"
}

// ends counts how the attempt ended. A turn whose answer is refused, and for which the model is asked
// again, is counted when that has ended.
func (s *score) ends(c *candidate, o *gateway.Outcome, err error) {
	if s == nil || !s.info.Sent.Reading.OffersTools() {
		return
	}
	var e *gateway.Error
	if err != nil && err != io.EOF {
		e = gateway.AsError(err)
	}
	turn, why, scored := s.turn(o, e, err == nil)
	first := c.pendingTurn
	c.pendingTurn = nil
	if first != nil {
		switch {
		case scored:
			turn = first.Correct(turn)
		case why == quality.NoCall:
			turn, scored = first.Correct(quality.Turn{}), true
		case e == nil: // of how it went on nothing is known
			turn, scored = *first, true
		}
	}
	switch {
	case !scored:
		c.pendingTurn = first
		s.book.Excuse(s.target, why)
	case e != nil && e.Redo != nil && s.info.MayRedo && !o.Committed:
		c.pendingTurn = &turn
	default:
		s.book.Record(s.target, turn)
	}
}

// charge counts turns that failed and were not made again after all: another target is asked, or
// none. That of the target which is asked next waits.
func (e *Engine) charge(list candidates, next *candidate) {
	for _, c := range list {
		if c != next && c.pendingTurn != nil {
			e.book.Record(e.scored(c), *c.pendingTurn)
			c.pendingTurn = nil
		}
	}
}

// turn is what became of the calls of an answer, or why nothing is said of them. e is the error that
// has ended it, and left that the client did not wait for the end.
func (s *score) turn(o *gateway.Outcome, e *gateway.Error, left bool) (t quality.Turn, why quality.Excuse, scored bool) {
	malformed := o.Faults[repair.VendorMalformed] > 0 && s.info.Target.Mode != gateway.Off // the model's, though it ends the answer
	if why, excused := s.excuse(o, e, left); excused && (!malformed || e == nil && !o.WasCut()) {
		return t, why, false
	}
	s.calls(&t, o)
	switch {
	case malformed, e != nil && e.Kind == gateway.BadCall && t.Result() == quality.Clean:
		t.Aim = max(t.Aim, quality.Unparseable)
	case s.ghost(o, e):
		t.Aim = max(t.Aim, quality.Ghost)
	}
	called := o.HasCall() || len(t.Calls) > 0
	if called && s.circles() {
		t.Aim = quality.Loop
	}
	if !called && t.Aim == quality.Clean {
		return t, quality.NoCall, false
	}
	return t, 0, true
}

// calls counts the calls of an answer, and what was wrong with them.
func (s *score) calls(t *quality.Turn, o *gateway.Outcome) {
	offered := s.info.Sent.Reading.Tools()
	for _, name := range o.Called {
		if tool, ok := toolOf(offered, name); ok {
			t.Add(tool, quality.Clean)
		}
	}
	for _, f := range o.Flaws {
		flawed(t, offered, f)
	}
	fromText(t, o)
}

// circles reports whether the conversation goes on without anything new.
func (s *score) circles() bool {
	n := s.info.Notes.Rounds
	return n != nil && (n.Stop == loop.Idle || n.Stop == loop.Oscillation)
}

// excuse says why an answer says nothing about how the model calls; excused is false if it does.
func (s *score) excuse(o *gateway.Outcome, e *gateway.Error, left bool) (why quality.Excuse, excused bool) {
	switch {
	case s.info.Target.Mode == gateway.Off:
		return quality.Unread, true
	case e != nil:
		if why, excused := excuseOf(e); excused {
			return why, true
		}
	case left:
		return quality.Left, true
	case o.UpstreamError:
		return quality.Upstream, true
	}
	return quality.Cut, o.WasCut()
}

// ghost reports whether a call is missing: the answer claims it, or the client or the gateway has
// demanded it.
func (s *score) ghost(o *gateway.Outcome, e *gateway.Error) bool {
	switch {
	case o.HasCall():
		return false
	case o.Guard != nil && o.Guard.Ghost, e != nil && e.Kind == gateway.Ghost && e.Cause() == gateway.Ghosts:
		return true
	}
	return s.info.Notes.Choice.Required && e == nil && len(o.Flaws) == 0
}

// excuseOf says why an error says nothing about the model's calls; excused is false if it does.
func excuseOf(e *gateway.Error) (why quality.Excuse, excused bool) {
	switch e.Kind {
	case gateway.BadCall, gateway.BadAnswer, gateway.Ghost:
		return 0, false
	case gateway.RateLimited, gateway.QuotaExceeded, gateway.Rejected, gateway.Unauthorized, gateway.Unavailable, gateway.Unusable, gateway.ToolsLost, gateway.Timeout:
		return quality.Upstream, true
	case gateway.Canceled:
		return quality.Left, true
	}
	return quality.Ours, true
}

// flawed counts a flaw of a call: against the tool if it was offered, and else against the aim.
func flawed(t *quality.Turn, offered *tools.List, f gateway.Flaw) {
	tool, known := toolOf(offered, f.Tool)
	r := quality.Invalid
	switch {
	case f.Mended:
		r = quality.Repaired
	case f.Class == repair.InvalidJSON:
		r = quality.Unparseable
	case f.Class == repair.UnknownTool:
		r, known = quality.Unknown, false
	}
	if known {
		t.Add(tool, r)
		return
	}
	if r == quality.Invalid {
		r = quality.Unparseable
	}
	t.Aim = max(t.Aim, r)
}

// fromText counts what is known of calls that were written as text: that arguments were repaired, and
// that a call was none in the end.
func fromText(t *quality.Turn, o *gateway.Outcome) {
	if o.Calls > 0 {
		for _, kind := range [...]string{repair.ArgsJSON, repair.ArgsTypes, repair.ArgsEncoding, repair.ArgsSplit, repair.ArgsRepeated} {
			switch {
			case o.Repairs[kind] == 0:
			case len(t.Calls) == 1:
				t.Add(t.Calls[0].Tool, quality.Repaired)
			default: // nobody knows of which
				t.Aim = max(t.Aim, quality.Repaired)
			}
		}
		return
	}
	for _, w := range o.Warnings {
		if len(t.Calls) == 0 && (w == "broken_call" || w == "truncated_call" || w == "call_refused") {
			t.Aim = max(t.Aim, quality.Unparseable)
		}
	}
}

// toolOf is an offered tool.
func toolOf(offered *tools.List, name string) (tool quality.Tool, ok bool) {
	if name == "" || offered.Find(name) == nil {
		return tool, false
	}
	return quality.Tool{Name: name, Schema: xxhash.Sum64(offered.Schemas[name])}, true
}
