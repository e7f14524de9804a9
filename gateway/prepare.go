package gateway

import (
	"bytes"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/loop"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/internal/span"
)

// prepare looks at a request before any upstream is asked: whether its tools can be
// called at all, whether it goes in circles, and what the route adds to it. The order
// matters: what is refused costs nothing more.
func (g *Gateway) prepare(req *Request, c *conduct) (*attempts, error) {
	a := &attempts{g: g, asked: req, req: req, conduct: c, began: time.Now()}
	if err := a.checkBinding(); err != nil {
		return nil, err
	}
	if err := a.checkRounds(); err != nil {
		return nil, err
	}
	a.addDate()
	a.readReferences()
	return a, nil
}

// changed notes a change of the request, which shows as a repair of the answer.
func (a *attempts) changed(kind string) { a.changes = append(a.changes, kind) }

// checkRounds asks the loop guard.
func (a *attempts) checkRounds() error {
	c := a.conduct
	if c.Loop == LoopOff || !a.req.mentionsTools() {
		return nil
	}
	r := loop.Check(a.req.talk(), c.LoopLimits)
	if r.Rounds == 0 {
		return nil
	}
	a.rounds = &r
	if r.Near {
		a.warn("tool_rounds")
	}
	if r.Stop == "" {
		return nil
	}
	a.warn("tool_loop:" + string(r.Stop))
	switch c.Loop {
	case LoopRefuse:
		return &Error{Kind: Looping, Param: "messages", Message: stopText(&r), Summary: &Summary{Rounds: &r, Report: a.report()}}
	case LoopAnswer:
		if a.req.OffersTools() {
			a.stopCalling(&r)
		}
	}
	return nil
}

// stopText says why there are no further rounds.
func stopText(r *Rounds) string {
	switch r.Stop {
	case loop.Limit:
		return fmt.Sprintf("The model has called tools in %d rounds since the last message of the user; the limit is %d (max_rounds).", r.Rounds, r.Limit)
	case loop.Oscillation:
		return fmt.Sprintf("The model calls the same tools in turn, the last one being %q, and nothing new comes of it (round %d).", excerpt([]byte(r.Tool)), r.Rounds)
	}
	return fmt.Sprintf("The model calls tools, the last one being %q, and nothing new comes of it (round %d).", excerpt([]byte(r.Tool)), r.Rounds)
}

// stopCalling lets the model answer, and not call a tool any more. The tools stay in
// the request, so that the upstream's cache of the conversation stays good.
func (a *attempts) stopCalling(r *Rounds) {
	note := "No further tool calls are possible for this request. Answer with what the results so far say, and say what is missing."
	if r.Stop != loop.Limit {
		note = "The last tool calls brought nothing new. " + note
	}
	req := a.req
	a.req = req.with(req.set(req.toolChoice, "tool_choice", `"none"`), req.append("user", note))
	a.changed("tool_loop")
}

// mentionsTools reports whether there can be a call or a result in the messages. It is
// a search in place of a reading: most conversations have neither.
func (r *Request) mentionsTools() bool {
	return r.hasMessages() && bytes.Contains(r.messages.Of(r.body), []byte(`"tool`))
}

// append is the edit that puts a message behind the others.
func (r *Request) append(role, text string) edit {
	end := r.messages.End - 1 // in front of the bracket
	message := quote(fmt.Appendf(nil, `,{"role":%q,"content":`, role), text)
	if span.Blank(r.body[r.messages.Start+1 : end]) {
		message = message[1:]
	}
	return edit{span.Span{Start: end, End: end}, append(message, '}')}
}

// addDate puts the date into the system prompt, behind all that stands there: the line
// is the same for a day, and what is in front of it stays in the upstream's cache when
// the next one begins.
func (a *attempts) addDate() {
	zone := a.conduct.Date
	if zone == nil || !a.req.hasMessages() {
		return
	}
	line := a.g.now().In(zone).Format("Today's date is Monday, 2 January 2006 (2006-01-02).")
	if e, ok := a.req.system(line); ok {
		a.req = a.req.with(e)
		a.changed("date_context")
	}
}

// hasMessages reports whether there is an array of messages.
func (r *Request) hasMessages() bool {
	return !r.messages.IsNull(r.body) && r.body[r.messages.Start] == '['
}

// system is the edit that puts a line behind the system prompt, or makes one of it. ok
// is false where the prompt has it already, or is in no known form.
func (r *Request) system(line string) (e edit, ok bool) {
	first := conversation.First(r.messages.Of(r.body))
	at := r.messages.Start + 1
	if first.Role != conversation.System {
		with := append(quote([]byte(`{"role":"system","content":`), line), '}')
		if !first.At.Empty() {
			with = append(with, ',')
		}
		return edit{span.Span{Start: at, End: at}, with}, true
	}
	content := span.Span{Start: r.messages.Start + first.Content.Start, End: r.messages.Start + first.Content.End}
	if first.Content.Empty() || content.IsNull(r.body) {
		return edit{}, false
	}
	end := span.Span{Start: content.End - 1, End: content.End - 1} // in front of the quote or bracket
	text := content.Of(r.body)
	quoted := quote(nil, line)
	switch {
	case bytes.Contains(text, quoted[1:len(quoted)-1]):
		return edit{}, false
	case text[0] == '"' && len(text) == len(`""`):
		return edit{end, quoted[1 : len(quoted)-1]}, true
	case text[0] == '"':
		return edit{end, append([]byte(`\n\n`), quoted[1:len(quoted)-1]...)}, true
	case text[0] == '[':
		part := append(append([]byte(`,{"type":"text","text":`), quoted...), '}')
		if span.Blank(text[1 : len(text)-1]) {
			part = part[1:]
		}
		return edit{end, part}, true
	}
	return edit{}, false
}

// readReferences finds the arguments that are declared references, and keeps the
// declarations of tools, which are ours, from the upstream.
func (a *attempts) readReferences() {
	c := a.conduct
	if c.References == Off || !a.req.OffersTools() {
		return
	}
	own := a.req.read().references
	if len(own) == 0 && len(c.ReferenceRules) == 0 {
		return
	}
	for _, problem := range a.req.read().problems {
		a.warn(problem)
	}
	rules := own[:len(own):len(own)]
	for _, rule := range c.ReferenceRules {
		rules = append(rules, rule.Typed(a.req.read().schemas[rule.Tool]))
	}
	a.references = reference.New(rules, a.req.talk())
	if strip := a.req.read().stripped; len(strip) > 0 {
		edits := make([]edit, len(strip))
		for i, e := range strip {
			edits[i] = edit{span.Span{Start: a.req.tools.Start + e.At.Start, End: a.req.tools.Start + e.At.End}, e.With}
		}
		a.req = a.req.with(edits...)
	}
}
