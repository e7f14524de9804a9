package amend

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/hint"
	"github.com/callgate/callgate/gateway/wire"
)

// Prefix notices a client that has changed what it sent before. It looks at the client's own
// bytes.
type Prefix struct{ Histories *hint.Histories }

// Apply implements gateway.RequestPolicy.
func (p Prefix) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	if !r.Reading.HasMessages() {
		return a, nil
	}
	if changed := p.Histories.See([]string{r.From.Tenant, r.Routing.Route, r.Model}, r.Reading.ToolsJSON(), r.Reading.Conversation()); changed != nil {
		a.Warnings = []string{"prefix_changed:" + changed.String()}
		a.Note = func(n *gateway.Notes) { n.PrefixChange = changed }
	}
	return a, nil
}

// Hint tells a provider which beginning of a prompt it is to find in its cache. A client that
// says anything about that itself is left to it, also one that says null.
type Hint struct {
	Mode gateway.Mode
	Kind gateway.HintKind
	Keys *hint.Keys
	Now  func() time.Time
	// Refusals are those of all providers.
	Refusals *Refusals
}

// Refusals are until when providers get no hints, since they have refused one.
type Refusals struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// refusedFor is how long that is.
const refusedFor = 10 * time.Minute

func (r *Refusals) add(provider string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	r.until[provider] = until // one for each of the configuration
}

// Of is a copy with those of the providers that stay.
func (r *Refusals) Of(stays func(provider string) bool) *Refusals {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &Refusals{until: map[string]time.Time{}}
	for provider, until := range r.until {
		if stays(provider) {
			out.until[provider] = until
		}
	}
	return out
}

func (r *Refusals) has(provider string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.until[provider])
}

// Apply implements gateway.RequestPolicy.
func (p Hint) Apply(_ context.Context, r *gateway.Request, at *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	if r.Reading.IsEmpty() || p.Refusals.has(at.Provider, p.Now()) || p.Kind == gateway.MemberMarks && marksItself(r) {
		return a, nil
	}
	name, word := "marks", []byte("cache_control")
	var edits []wire.Edit
	var wanted bool
	if p.Kind == gateway.KeyHints {
		name, word = "key", []byte("prompt_cache_key")
		edits, wanted = p.keyEdits(r, at)
	} else {
		edits = p.markEdits(r, at.Model)
		wanted = len(edits) > 0
	}
	switch {
	case !wanted:
		return a, nil
	case p.Mode == gateway.Report:
		a.Warnings = []string{"cache_hint:" + name}
		return a, nil
	}
	a.Edits, a.Repairs = edits, map[string]int{"cache_hint": 1}
	// A hint must not cost an answer.
	a.Refused = func(e *gateway.Error) bool { return e.Kind == gateway.Rejected && bytes.Contains(e.Refusal(), word) }
	a.Warning = "cache_hint_refused:" + at.Provider
	a.Confirmed = func() { p.Refusals.add(at.Provider, p.Now().Add(refusedFor)) }
	return a, nil
}

// marksItself reports whether a client speaks the protocol that has the marks: it has set its own,
// or wants none, and the upstream is to get its body as it is.
func marksItself(r *gateway.Request) bool { return r.Speaks("messages") }

// keyEdits is the edit that gives a request a key. What the key is follows from the client's own
// bytes: the date and the like do not change it.
func (p Hint) keyEdits(r *gateway.Request, at *gateway.AttemptInfo) (edits []wire.Edit, wanted bool) {
	asked := at.Asked
	size := len(asked.Reading.ToolsJSON()) + len(asked.Body.Places().Messages.Of(asked.Body.Bytes()))
	if !r.Body.Places().CacheKey.Empty() || !asked.Reading.HasMessages() || hint.Tokens(size) < hint.LeastKeyed {
		return nil, false
	}
	if p.Mode != gateway.Repair { // it would be counted
		return nil, true
	}
	key := p.Keys.Key(hint.Scope{Tenant: asked.From.Tenant, Provider: at.Provider, Model: at.Model}, beginning(asked))
	return []wire.Edit{r.Body.Set(wire.Span{}, "prompt_cache_key", string(wire.AppendQuoted(nil, key)))}, true
}

// beginning is what all requests of the conversation have in common.
func beginning(r *gateway.Request) hint.Beginning {
	talk := r.Reading.Conversation()
	b := hint.Beginning{Common: [][]byte{r.Reading.ToolsJSON()}}
	for _, m := range talk.Messages {
		b.First = m.At.Of(talk.Text)
		b.Common = append(b.Common, b.First)
		if m.Role == conversation.User {
			break
		}
	}
	return b
}

// markEdits are the edits that mark a request; none if it has marks already, or is too short.
func (p Hint) markEdits(r *gateway.Request, model string) []wire.Edit {
	if !r.Reading.HasMessages() || hint.HasKey(r.Body.Bytes(), "cache_control") {
		return nil
	}
	form := hint.Parts
	if p.Kind == gateway.MemberMarks {
		form = hint.Members
	}
	in := hint.Request{Tools: r.Reading.ToolsJSON(), Talk: r.Reading.Conversation(), Own: r.Body.Appended}
	tools, messages := hint.Marks(in, form, hint.Minimum(model))
	places := r.Body.Places()
	return append(wire.Shifted(tools, places.Tools.Start), wire.Shifted(messages, places.Messages.Start)...)
}
