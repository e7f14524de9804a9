package responses

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

// addReasoning translates what the model has thought, sealed or in words.
func (t *translation) addReasoning(item object, place string) error {
	closed := wire.Unquote(item.get("encrypted_content"))
	text, thoughts, calls, ok := t.unseal(closed)
	if !ok {
		if strings.HasPrefix(closed, sealed) { // for another tenant or model
			t.remarks.warn("item_dropped", "reasoning")
			return nil
		}
		var err error
		if text, err = reasoningText(item, place); err != nil {
			return err
		}
		switch { // what is closed only the upstream can read that made it; what it says in words goes on
		case closed == "":
		case len(text) == 0:
			t.remarks.warn("item_dropped", "reasoning")
		default:
			t.remarks.warn("item_dropped", "encrypted_content")
		}
	}
	for _, detail := range calls {
		id, _ := t.extras.Take(detail)
		t.open.take(id, t.extras)
	}
	if len(text) == 0 && len(thoughts) == 0 {
		return nil
	}
	m := t.assistant(item)
	if len(thoughts) > 0 && len(m.thoughts) > 0 && !m.isOf(item) {
		t.open = nil
		m = t.assistant(item)
	}
	m.reasoning = append(m.reasoning, text...)
	for name, list := range thoughts {
		if m.thoughts == nil {
			m.thoughts = map[string][]byte{}
		}
		if name == thoughtMembers[0] {
			m.thoughts[name] = appendDetails(m.thoughts[name], list)
		} else {
			m.thoughts[name] = appendElements(m.thoughts[name], list)
		}
	}
	return nil
}

// appendDetails appends entries of reasoning_details to others. OpenRouter may give a signature when the text has begun
// already, which is an item after that of the thoughts it is of (@openrouter/ai-sdk-provider, chat/index.ts): who has
// signed them refuses them apart.
func appendDetails(list, more []byte) []byte {
	more = slices.Concat([]byte{'['}, more, []byte{']'})
	wire.Elements(more, 0, func(_ int, v wire.Span) bool {
		one := object(v.Of(more))
		if at := unsigned(list, one); at >= 0 {
			list = slices.Concat(list[:at], []byte(`,"signature":`), one.get("signature"), list[at:])
		} else {
			list = appendElements(list, one)
		}
		return true
	})
	return list
}

// unsigned is the place at the end of the entry that a signature alone is of, or -1.
func unsigned(list []byte, signature object) int {
	const thought = `"reasoning.text"`
	if string(signature.get("type")) != thought || !isString(signature.get("signature")) || len(signature.get("text")) > len(`""`) {
		return -1
	}
	at, all := -1, slices.Concat([]byte{'['}, list, []byte{']'})
	wire.Elements(all, 0, func(_ int, v wire.Span) bool {
		one := object(v.Of(all))
		if string(one.get("type")) == thought && string(one.get("index")) == string(signature.get("index")) {
			if at = -1; len(one.get("text")) > len(`""`) && one.get("signature") == nil {
				at = v.End - len("}") - len("[")
			}
		}
		return true
	})
	return at
}

// take has a call of the message that is open have what belongs to it, which came behind it.
func (m *message) take(id string, extras protocol.Extras) {
	if m == nil {
		return
	}
	for i := range m.calls {
		if c := &m.calls[i]; c.extra == nil && wire.Unquote(c.id) == id {
			c.extra = extras[id]
			delete(extras, id)
		}
	}
}

// isOf reports whether an item is a part of the answer that the message is made of.
func (m *message) isOf(item object) bool {
	return m.group != "" && strings.Contains(wire.Unquote(item.get("id")), m.group)
}

// unseal opens reasoning: its text, as it stands between quotes, the elements of the members that
// belong to it, and what belongs to calls.
func (t *translation) unseal(closed string) (text []byte, thoughts map[string][]byte, calls [][]byte, ok bool) {
	opened, err := t.vault.open(closed)
	if err != nil {
		return nil, nil, nil, false
	}
	o := object(opened)
	if v := o.get("text"); isString(v) {
		text = inner(v)
	}
	for _, name := range thoughtMembers {
		if v := o.get(name); isArray(v) && !isEmptyValue(v) {
			if thoughts == nil {
				thoughts = map[string][]byte{}
			}
			if thoughts[name] = bytes.TrimSpace(inner(v)); name == thoughtMembers[0] {
				thoughts[name], calls = ofCalls(v)
			}
			if len(thoughts[name]) == 0 {
				delete(thoughts, name)
			}
		}
	}
	return text, thoughts, calls, true
}

// ofCalls takes out of a list of reasoning_details what belongs to calls.
func ofCalls(list []byte) (others []byte, calls [][]byte) {
	wire.Elements(list, 0, func(_ int, v wire.Span) bool {
		if one := v.Of(list); protocol.IsDetailOfCall(one) {
			calls = append(calls, one)
		} else {
			others = appendElements(others, one)
		}
		return true
	})
	return others, calls
}

// reasoningText is reasoning in words, as it stands between quotes: what was thought, or else
// its summary, which says the same in fewer words.
func reasoningText(item object, place string) (text []byte, err error) {
	for _, list := range [...]string{"content", "summary"} {
		v := item.get(list)
		if v != nil && v[0] != '[' {
			return nil, invalid(place+"."+list, "%s.%s must be an array.", place, list)
		}
		wire.Elements(v, 0, func(_ int, at wire.Span) bool {
			if s := object(at.Of(v)).get("text"); isString(s) {
				if len(text) > 0 {
					text = append(text, separator...)
				}
				text = append(text, inner(s)...)
			}
			return true
		})
		if len(text) > 0 {
			break
		}
	}
	return text, nil
}

// addCompaction translates a summary of what was said before.
func (t *translation) addCompaction(item object, place string) error {
	closed := wire.Unquote(item.get("encrypted_content"))
	opened, err := t.vault.open(closed)
	text := object(opened).get("text")
	if err != nil || !isString(text) {
		e := invalid(place+".encrypted_content", "%s.encrypted_content was not made by this gateway for this model and key, so that nobody can read it.", place)
		if closed == "" || strings.HasPrefix(closed, sealed) {
			return e
		}
		t.remarks.needsOwn(e) // an upstream of the API may have made it
		return nil
	}
	t.leading, t.open = false, nil
	m := &message{role: user}
	m.content.addText(text)
	t.list = append(t.list, m)
	return nil
}
