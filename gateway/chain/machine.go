package chain

import (
	"bytes"
	"context"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// machine reads text: it looks for literals, has parsers read regions, and writes what both
// come to.
type machine struct {
	parsers   parsers
	in        input
	text      writer
	reasoning reasoning
	sofar     progress
	region    *region  // what begins at the beginning of in, or nil
	thought   *thought // calls that wait for the end of the output, or nil
	tail      []byte   // an end token and what followed: not text if the output ends here
	stray     string   // the end of the region in front, which may come once more
	echo      string   // that end with the calls in front of it, which may too
	ahead     ahead    // markers that begin nothing, in front of one that may
}

// progress is what has come of an output.
type progress struct {
	start   bool    // nothing but white space since the start, or since reasoning
	begun   bool    // something else since the start
	after   bool    // nothing but white space since the reasoning
	wrapper *marker // the answer's, that is open
	example bool    // a block of code that looked like a call was none: none of the others is
	mention bool    // the text shows a chat's own markup
	invents bool    // behind the end of the model's turn there is one of somebody else
	called  bool    // nothing but white space since a call
	unread  bool    // the end of a call stands in the text, behind something that may be one
}

// end says whether the output has ended, and why.
type end struct {
	final  bool
	reason abi.Reason
}

// advance reads the text as far as it can be decided.
func (m *machine) advance(ctx context.Context, e end) {
	for more := true; more; {
		if m.region != nil {
			more = m.parse(ctx, e)
		} else {
			more = m.seek(e.final)
		}
	}
}

// seek looks for the next literal and gives out what comes before it. It reports whether there
// may be more to do.
func (m *machine) seek(final bool) bool {
	if m.stray != "" && m.repeated(final) {
		return false
	}
	if m.sofar.start && m.seekStart(final) {
		return m.region != nil
	}
	found, clear, ok := m.in.literal(final)
	if !ok {
		m.pass(clear)
		return false
	}
	literal := string(m.in.buf[found.start:found.end])
	m.pass(clear)
	m.found(literal)
	return true
}

// seekStart deals with literals that only count at the start of the output. It
// reports whether the text is dealt with: held, or taken as a region.
func (m *machine) seekStart(final bool) bool {
	text := m.in.whole(final)
	body := chars.SkipSpace(text)
	m.pass(len(text) - len(body))
	if len(body) == 0 {
		return true
	}
	plan := m.parsers.plan
	if m.reasoning.open || !m.parsers.reads() {
		m.sofar.start = false
		return false
	}
	if !final { // which parsers are asked must not depend on the cut
		for _, s := range plan.beginnings {
			if len(body) < len(s) && bytes.HasPrefix([]byte(s), body) {
				return true // a longer one may be on its way
			}
		}
	}
	if (plan.anyStart || plan.begins(body)) && m.afford() {
		m.begin("", true)
		return true
	}
	m.sofar.start = false
	return false
}

// begin begins a region.
func (m *machine) begin(found string, start bool) {
	at := &m.text.at
	around := at.fence.around()
	s := site{
		thinks: m.reasoning.open && !m.reasoning.acts(), marked: m.reasoning.opened != nil, waits: m.thought != nil, begun: m.sofar.begun, answers: m.sofar.after,
		around: around, fresh: around && at.fence.holdsOnly(), fenced: at.fenced(), begins: at.lineBlank || at.fence.closing(),
	}
	if m.parsers.plan.auto {
		s.quoted, s.apart = at.quoted(), at.endsSentence()
		s.introduced = m.sofar.mention || at.triple || at.introduces() || at.indent >= 4 && !around
	}
	m.region = newRegion(&m.parsers, s, m.in.buf, found, start)
}

// found acts on a literal at the start of the text.
func (m *machine) found(literal string) {
	k := m.parsers.plan.literals[literal]
	m.note(k)
	if at := &m.text.at; !at.fence.around() {
		if opens := m.reasoning.opening(k, at, m.text.out.trim, m.sofar.begun); opens != nil {
			m.openReasoning(literal, opens)
			return
		}
		if m.reasoning.closing(k, at.inCode()) {
			m.closeReasoning(literal)
			return
		}
	}
	switch {
	case k.lead && !m.sofar.begun && !m.reasoning.open && m.thought == nil:
		m.flushAhead()
		m.in.skip(len(literal))
		m.text.out.edge(abi.Content)
		m.text.report.warn(strayMarkup)
	case k.wraps != nil && m.sofar.after && m.sofar.wrapper == nil:
		m.flushAhead()
		m.sofar.wrapper, m.sofar.start = k.wraps, true
		m.in.skip(len(literal))
		m.text.out.edge(abi.Content)
	case k.trigger && m.mayParse(k) && m.afford():
		m.begin(literal, false)
	default:
		m.unparsed(literal, k)
	}
}

// note takes note of what a literal says of the text.
func (m *machine) note(k *meaning) {
	m.sofar.mention = m.sofar.mention || k.mention
	m.sofar.invents = m.sofar.invents || k.other && len(m.tail) > 0 || k.result && m.sofar.called
}

// mayParse reports whether a trigger may begin a region here.
func (m *machine) mayParse(k *meaning) bool {
	open := m.reasoning.open
	switch {
	case !m.parsers.reads(), open && m.parsers.opts.InReasoning == Ignore:
		return false
	case m.sofar.invents: // nobody has asked for what a model answers to a message that it has made up
		m.text.report.warn("invented_turn")
		return false
	case k.fence != "":
		return m.text.at.lineMarks && !open && !m.sofar.example && !m.text.at.fence.around()
	}
	return true
}

// afford reports whether a region may begin here after all that was read in vain. It says so
// where it may not.
func (m *machine) afford() bool {
	ok := m.parsers.effort.afford(m.in.gone)
	if !ok {
		m.text.report.warn("parse_budget")
	}
	return ok
}

// unparsed acts on a literal that begins no region.
func (m *machine) unparsed(literal string, k *meaning) {
	m.flushAhead()
	m.reasoning.mention(k)
	m.sofar.unread = m.sofar.unread || k.callEnd && m.endsUnread()
	switch {
	case k.ends != nil && k.ends == m.sofar.wrapper, k.endToken && !m.text.at.inCode():
		m.tail = append(m.tail, m.in.buf[:len(literal)]...)
		m.in.skip(len(literal))
	case k.fence != "" && m.text.at.lineMarks && !m.reasoning.open: // what begins or ends a block of code
		if m.thought != nil && m.thought.fenced {
			m.thought.closes = true
		} else if !m.text.at.fence.around() && m.thought == nil && len(m.tail) == 0 {
			m.text.block.begin()
		}
		m.pass(len(k.fence))
		m.text.at.fence.begin(k.fence)
	case k.fence != "":
		m.pass(len(k.fence))
	default:
		m.pass(len(literal))
	}
}

// pass gives the first n bytes out as content or reasoning.
func (m *machine) pass(n int) {
	if n <= 0 {
		return
	}
	m.flushAhead()
	text := m.in.buf[:n]
	if !chars.Blank(text) {
		m.say()
	}
	switch {
	case len(m.tail) > 0:
		m.tail = append(m.tail, text...)
	case m.thought != nil:
		m.thought.add(text)
		m.text.at.read(text)
	default:
		m.text.write(m.reasoning.kind(), text)
	}
	m.in.drop(n)
}

// say notes that text comes: what waited for the end of the output has waited in
// vain.
func (m *machine) say() {
	m.sofar.start, m.sofar.begun, m.sofar.after, m.sofar.called = false, true, false, false
	if t := m.thought; t != nil && !t.closes {
		m.settle(false)
	}
	m.flushTail()
}

// flushTail gives out an end token that was not the end.
func (m *machine) flushTail() {
	if len(m.tail) > 0 {
		m.settle(m.thought.standsInline()) // markup comes behind it
		m.text.write(m.reasoning.kind(), m.tail)
		m.tail = m.tail[:0]
	}
}

// settle decides about calls that wait: calls if the output ended with them,
// otherwise words of the model's.
func (m *machine) settle(ended bool) {
	t := m.thought
	if t == nil {
		return
	}
	m.thought = nil
	if !ended {
		m.text.put(m.reasoning.kind(), t.raw) // what stands behind the calls was read as it came
		return
	}
	m.reasoning.open = false
	m.text.out.edge(abi.Content)
	if t.strays {
		m.text.report.warn(strayMarkup)
	}
	for _, c := range t.calls {
		for i := range c.events {
			m.text.give(&c.events[i], c.parser)
		}
	}
	if t.fenced || t.inline {
		m.text.write(abi.Content, t.after)
	}
}

// behind goes on behind a marker of reasoning. Calls that wait stand in front of it.
func (m *machine) behind(literal string) {
	m.flushAhead()
	m.flushTail()
	m.settle(m.thought.standsInline())
	m.in.skip(len(literal))
}

func (m *machine) openReasoning(literal string, k *marker) {
	m.behind(literal)
	m.sofar.begun = true
	m.text.report.Reasoned = true
	if !m.reasoning.open {
		m.reasoning.begin(k)
		m.text.at.newLine()
		m.text.out.edge(abi.Reasoning)
	}
}

func (m *machine) closeReasoning(literal string) {
	m.behind(literal)
	switch r := &m.reasoning; {
	case r.open:
		r.leave()
		m.text.report.Reasoned = true
	case r.begins == Auto && m.text.report.Calls == 0:
		r.begins = Closed
		m.text.report.Reasoned = true
		m.text.out.wasReasoning()
		m.text.left.forget()
		m.text.report.warn("reasoning_start_missing")
	default:
		m.text.report.warn("reasoning_end_stray")
		m.text.made.again = m.text.report.Calls > 0
	}
	m.sofar.start, m.sofar.after, m.sofar.begun = true, true, true
	m.text.at.newLine()
	m.text.out.edge(abi.Content)
}

// parse carries the region on. It reports whether the region is done with.
func (m *machine) parse(ctx context.Context, e end) bool {
	r := m.region
	out, became := r.read(ctx, &m.parsers, m.in.buf, e)
	for i := range out {
		m.show(&out[i])
	}
	if became.kind == undecided || became.kind == noneReads && m.waits(r, e.final) {
		return false
	}
	if !r.called && became.kind != mayCount {
		m.parsers.effort.ended(r.cost)
	}
	to := min(became.to, len(m.in.buf))
	if read := max(to, r.declined); read > 0 {
		m.parsers.last = read
	}
	switch became.kind {
	case wasRead:
		m.wasRead(r, to)
	case mayCount:
		m.calledIn(r, m.in.buf[:to])
		became.calls.strays = len(m.ahead.text) > 0
		m.thought = m.thought.join(became.calls, append(m.tail, m.ahead.take()...), m.in.buf[:to])
		m.tail = m.tail[:0]
		m.leave(to)
	case cutOff:
		m.dropAhead()
		m.markup()
		m.leave(len(m.in.buf))
	case isQuoted: // all of it: a marker inside of it does not begin another
		m.close()
		m.sofar.start = false
		m.pass(to)
	case givenBack:
		m.givenBack(r, became.from, to)
	case noneReads:
		if !m.repeats(r, e) {
			m.decline(ctx, e)
		}
	}
	return true
}

// givenBack gives out bytes of a region that its parser gave back, behind what it has read.
func (m *machine) givenBack(r *region, from, to int) {
	if m.text.void() || r.called && beginsMarkup(m.in.buf[min(from, to):to]) {
		m.text.report.warn(BrokenCall)
	}
	if r.shown {
		m.text.report.readBy(r.reading.judge.candidate.Name)
	}
	m.close()
	m.in.drop(from)
	m.sofar.start, m.sofar.begun = false, true
	m.pass(to - from)
}

// wasRead goes on behind a region that was read.
func (m *machine) wasRead(r *region, to int) {
	m.dropAhead()
	if !r.shown || r.kind != 0 {
		m.markup()
	}
	m.text.report.readBy(r.reading.judge.candidate.Name)
	if r.called {
		m.calledIn(r, m.in.buf[:to])
	}
	m.leave(to)
}

// markup notes that markup was read, and that content follows.
func (m *machine) markup() {
	m.tail = m.tail[:0]
	m.text.out.edge(abi.Content)
}

// close ends the region.
func (m *machine) close() {
	m.region.close()
	m.region = nil
	m.in.rescan()
}

// leave goes on behind a region that was read.
func (m *machine) leave(to int) {
	m.close()
	m.sofar.start, m.sofar.begun, m.sofar.after = false, true, false
	m.in.drop(to)
}

// decline gives out a region that no candidate wants.
func (m *machine) decline(ctx context.Context, e end) {
	r, text := m.region, m.in.buf
	if m.broken(r, e) {
		m.text.report.warn(BrokenCall)
	}
	n := min(max(r.declined, r.literal), len(text))
	m.close()
	m.sofar.start = false
	if r.found == "" {
		return // it began with the output, not with markup: it is read again for that
	}
	asked, k := r.declined > 0, m.parsers.plan.literals[r.found]
	m.sofar.example = m.sofar.example || asked && k.fence != ""
	if k.fence != "" || k.endToken || k.ends != nil {
		m.unparsed(r.found, k) // a block of code after all, or an end; what is behind it is read anew
		return
	}
	if asked && !m.reasoning.open {
		content, ok, err := m.parsers.fallback(ctx, text[:n], m.text.at.fenced())
		if err != nil {
			m.text.report.warn(m.parsers.failed(Fallback, err).Name)
		}
		if ok {
			m.flushAhead()
			m.say()
			m.in.drop(n)
			m.text.write(abi.Content, content)
			return
		}
	}
	m.pass(n)
}

// show gives an event of the region out, which nothing can take back any more.
func (m *machine) show(e *abi.Event) {
	r := m.region
	if e.Kind == warning {
		r.warned = true
		m.text.report.warn(e.Name)
		return
	}
	candidate := r.reading.judge.candidate
	if !r.shown {
		r.shown = true
		m.tail = m.tail[:0]
		m.settle(m.thought.standsInline()) // markup comes behind it
		if m.reasoning.open && (candidate.Framing || m.reasoning.acts() || m.parsers.opts.InReasoning == Ends) {
			m.reasoning.leave()
			m.reasoning.begins = Closed
		}
	}
	switch e.Kind {
	case abi.Content, abi.Reasoning:
		m.dropAhead()
		if r.kind != e.Kind {
			m.text.out.edge(e.Kind)
		}
		r.kind = e.Kind
	case abi.CallEnd:
		m.dropAhead()
		r.kind, r.called = 0, true
	}
	m.text.give(e, candidate.Name)
}
