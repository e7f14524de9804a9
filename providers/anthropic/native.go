package anthropic

import (
	"errors"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// messagesProtocol is the name of the Messages API as a client's protocol.
const messagesProtocol = "messages"

// ask is the request as it goes upstream: that of a client of the Messages API as it is, and any
// other one translated.
func (p *Provider) ask(model string, req *gateway.Request) (*asked, error) {
	if body, changes := req.Native(messagesProtocol); body != nil && canSay(changes) {
		if err := claim(req, body); err != nil {
			return nil, err
		}
		return native(change(body, changes), model), nil
	}
	if e := req.Foreign(); e != nil { // it was edited, and what it needs was lost by that
		return nil, e
	}
	body := req.Chat()
	if err := claim(req, body); err != nil {
		return nil, err
	}
	return translate(body, model, p.maxTokens)
}

// claim takes the memory for a body that is written anew.
func claim(req *gateway.Request, body []byte) error {
	err := req.Room.Grow(inflight.Anew * int64(len(body)))
	if err == nil {
		return nil
	}
	return gateway.NoRoom(err, "The request, written anew for the provider's API, needs more memory than one may have (limits.memory).")
}

// native is a request of the Messages API under the upstream's name of the model. All else of it
// stays: signatures, cache_control, tools of Anthropic's own. Thoughts of another model, which
// the gateway has sealed, are left out, since Anthropic refuses a signature that is not its own.
func native(body []byte, model string) *asked {
	a := &asked{model: model, usage: true, native: true}
	var edits []wire.Edit
	whole := wire.Span{Start: 0, End: len(body)}
	if at := wire.Find(body, whole, "model"); string(at.Of(body)) != string(quote(model)) {
		edits = append(edits, wire.Edit{At: at, With: quote(model)})
	}
	at := wire.Find(body, whole, "messages")
	if messages, inLoop, changed := withoutSeals(body[at.Start:at.End]); changed {
		a.warnings.drop("messages.thinking")
		edits = append(edits, wire.Edit{At: at, With: messages})
		if inLoop && text(get(get(body, "thinking"), "type")) == "enabled" {
			// A loop of tools that did not begin with thinking cannot go on with it.
			a.warnings.drop("thinking")
			body = wire.Splice(body, edits)
			edits = wire.Remove(body, "thinking", "context_management")
		}
	}
	a.body = wire.Lay(body, edits)
	return a
}

// withoutSeals are the messages without the thoughts that the gateway has sealed. A message
// that holds nothing else is left out. inLoop says that some stood in the loop of tools at the
// conversation's end.
func withoutSeals(messages value) (out value, inLoop, changed bool) {
	if !hasSeals(messages) { // most have none, and are not copied
		return nil, false, false
	}
	kept := make(list, 0, len(messages))
	_ = elements(messages, func(_ int, m value) error {
		content := get(m, "content")
		if !isArray(content) {
			inLoop = inLoop && text(get(m, "role")) != "user"
			kept.add(m)
			return nil
		}
		var blocks list
		removed, talks := false, false
		_ = elements(content, func(_ int, b value) error {
			kind := text(get(b, "type"))
			talks = talks || kind == "text" && text(get(m, "role")) == "user"
			if isSealedBlock(b) {
				removed = true
				return nil
			}
			blocks.add(b)
			return nil
		})
		inLoop = inLoop && !talks || removed
		if !removed {
			kept.add(m)
			return nil
		}
		changed = true
		if len(blocks) > 0 {
			at := wire.Find(m, wire.Span{Start: 0, End: len(m)}, "content")
			kept.add(slices.Concat(m[:at.Start], blocks.array(), m[at.End:]))
		}
		return nil
	})
	return kept.array(), inLoop, changed
}

// hasSeals reports whether there are thoughts that the gateway has sealed.
func hasSeals(messages value) (found bool) {
	_ = elements(messages, func(_ int, m value) error {
		return elements(get(m, "content"), func(_ int, b value) error {
			if isSealedBlock(b) {
				found = true
				return errFound
			}
			return nil
		})
	})
	return found
}

// errFound ends a search.
var errFound = errors.New("found")

// isSealedBlock reports whether a block is a thought that the gateway has sealed, or what it holds of another provider's.
func isSealedBlock(b value) bool {
	switch text(get(b, "type")) {
	case "thinking":
		return isSealed(text(get(b, "signature")))
	case "redacted_thinking":
		return gateway.IsSealed(text(get(b, "data")))
	}
	return false
}

// isSealed reports whether a signature is one that the gateway gave to thoughts which had none,
// or none at all.
func isSealed(signature string) bool { return signature == "" || gateway.IsSealed(signature) }
