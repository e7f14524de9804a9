package gateway

import (
	"bytes"
	"time"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/hint"
	"github.com/callgate/callgate/gateway/wire"
)

// HintKind is what a provider can be told about the beginning of a prompt, so that it finds
// that in its cache.
type HintKind int

// The kinds.
const (
	NoHints  HintKind = iota
	KeyHints          // the field prompt_cache_key, as OpenAI's API has it
	// PartMarks are marks (cache_control) on text parts of messages, as OpenRouter, LiteLLM
	// and DashScope take them.
	PartMarks
	// MemberMarks are marks beside the content of messages, and on the last tool, as the
	// adapter of Anthropic's API takes them.
	MemberMarks
)

// name is what warnings call the kind.
func (k HintKind) name() string {
	if k == KeyHints {
		return "key"
	}
	return "marks"
}

// PrefixChange is where a request is not what the one before it has led to expect.
type PrefixChange = hint.Change

// hints are what is known for them of all requests.
type hints struct {
	keys      *hint.Keys
	histories *hint.Histories
}

// newHints makes them for routes that want them; nil if none does.
func (g *Gateway) newHints() *hints {
	wanted := g.conduct.seesPrefix()
	for _, c := range g.conducts {
		wanted = wanted || c.seesPrefix()
	}
	if !wanted {
		return nil
	}
	return &hints{keys: hint.NewKeys(g.salt, g.now), histories: hint.NewHistories()}
}

// seesPrefix reports whether it matters to a route that prompts begin as those before.
func (c *conduct) seesPrefix() bool { return c.Affinity || c.CacheHints != Off }

// checkPrefix notices a client that has changed what it sent before. It looks at the
// client's own bytes.
func (a *attempts) checkPrefix() {
	if !a.conduct.seesPrefix() || !a.asked.hasMessages() {
		return
	}
	scope := []string{a.asked.Tenant, a.asked.Route, a.asked.Model}
	if a.broken = a.g.hints.histories.See(scope, a.asked.Tools(), a.asked.talk()); a.broken != nil {
		a.warn("prefix_changed:" + a.broken.String())
	}
}

// hinted is a request with what its provider is told about its beginning. A client that
// says anything about that itself is left to it, also one that says null.
func (r *Response) hinted(req *Request) *Request {
	r.of.hint = NoHints
	mode, kind := r.of.conduct.CacheHints, r.upstream.policy.Hints
	if mode == Off || kind == NoHints || r.of.unhinted || !r.upstream.hintable(r.gateway.now()) || req.isEmpty() {
		return req
	}
	var out *Request
	if kind == KeyHints {
		out = r.keyed(req, mode)
	} else {
		out = req.marked(kind, r.Summary.Model)
	}
	switch {
	case out == nil:
		return req
	case mode == Report:
		r.Summary.Warn("cache_hint:" + kind.name())
		return req
	}
	r.repaired("cache_hint")
	r.of.hint = kind
	return out
}

// keyed is a request with a key, or nil. What the key is follows from the client's own
// bytes: the date and the like do not change it.
func (r *Response) keyed(req *Request, mode Mode) *Request {
	asked := r.of.asked
	if !req.cacheKey.Empty() || !asked.hasMessages() || hint.Tokens(len(asked.Tools())+len(asked.messages.Of(asked.body))) < hint.LeastKeyed {
		return nil
	}
	out := *req
	if mode == Repair { // else it would be counted
		scope := hint.Scope{Tenant: asked.Tenant, Provider: r.upstream.name, Model: r.Summary.Model}
		out.key = r.gateway.hints.keys.Key(scope, asked.beginning())
	}
	return &out
}

// beginning is what all requests of the conversation have in common.
func (r *Request) beginning() hint.Beginning {
	talk := r.talk()
	b := hint.Beginning{Common: [][]byte{r.Tools()}}
	for _, m := range talk.Messages {
		b.First = m.At.Of(talk.Text)
		b.Common = append(b.Common, b.First)
		if m.Role == conversation.User {
			break
		}
	}
	return b
}

// marked is the request with marks, or nil: it has some already, or is too short for any.
func (r *Request) marked(kind HintKind, model string) *Request {
	if !r.hasMessages() || hint.HasKey(r.body, "cache_control") {
		return nil
	}
	form := hint.Parts
	if kind == MemberMarks {
		form = hint.Members
	}
	in := hint.Request{Tools: r.Tools(), Talk: r.talk(), Own: r.remarks}
	tools, messages := hint.Marks(in, form, hint.Minimum(model))
	edits := append(wire.Shifted(tools, r.tools.Start), wire.Shifted(messages, r.messages.Start)...)
	if len(edits) == 0 {
		return nil
	}
	return r.with(edits...)
}

// remark puts a message of the gateway's own behind the others.
func (r *Request) remark(text string, edits ...wire.Edit) *Request {
	out := r.with(append(edits, r.message("user", text))...)
	out.remarks++
	return out
}

// unhintedFor is how long a provider gets no hints when it has refused one.
const unhintedFor = 10 * time.Minute

// hintable reports whether the upstream has not refused a hint lately.
func (u *upstream) hintable(now time.Time) bool { return now.UnixNano() >= u.unhinted.Load() }

// unhint prepares the next attempt without a hint, where an upstream refuses the request
// because of it: a hint must not cost an answer. It reports whether there is one.
func (a *attempts) unhint(e *Error) bool {
	word := []byte("cache_control")
	if a.hint == KeyHints {
		word = []byte("prompt_cache_key")
	}
	if a.hint == NoHints || a.unhinted || e.Kind != Rejected || !bytes.Contains(e.said(), word) {
		return false
	}
	a.unhinted, a.hintedAt = true, a.current.upstream
	a.warn("cache_hint_refused:" + a.current.Provider)
	return true
}

// answeredUnhinted notes that the upstream which refused the request with a hint has answered
// it without: the hint was at fault, and not what a client made it say.
func (a *attempts) answeredUnhinted(u *upstream) {
	if u == a.hintedAt {
		u.unhinted.Store(a.g.now().Add(unhintedFor).UnixNano())
	}
}
