package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/history"
)

// A second reading of conversations, by encoding/json, which knows nothing of spans.

type object map[string]json.RawMessage

func asObject(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// text is a string, or "" for null and for a missing one. ok is false for others.
func (o object) text(key string) (s string, ok bool) {
	if o[key] == nil {
		return "", true
	}
	return s, json.Unmarshal(o[key], &s) == nil
}

func (o object) isResult() bool {
	role, _ := o.text("role")
	_, ok := o.text("tool_call_id")
	return ok && role == "tool"
}

func (o object) calls() (calls []object) {
	var list []json.RawMessage
	if role, _ := o.text("role"); role != "assistant" || json.Unmarshal(o["tool_calls"], &list) != nil {
		return nil
	}
	for _, raw := range list {
		c := asObject(raw)
		id, ok := c.text("id")
		if ok && c != nil && (id != "" || asObject(c["function"]) != nil || asObject(c["custom"]) != nil) {
			calls = append(calls, c)
		}
	}
	return calls
}

func (o object) name() string {
	called := asObject(o["function"])
	if o["function"] == nil {
		called = asObject(o["custom"])
	}
	name, _ := called.text("name")
	return name
}

func split(messages []byte) (list []json.RawMessage) {
	if json.Unmarshal(messages, &list) != nil {
		return nil
	}
	return list
}

// check says what an upstream with these needs would complain about.
func check(messages []byte, needs history.Needs) error {
	if !jsontext.Value(messages).IsValid() {
		return fmt.Errorf("not valid: %s", messages)
	}
	var waiting []string // ids of the turn's calls without a result
	seen := map[string]bool{}
	n := 0
	for i, raw := range split(messages) {
		m := asObject(raw)
		if needs.Pairs && m.isResult() {
			id, _ := m.text("tool_call_id")
			at := slices.Index(waiting, id)
			if at < 0 || id == "" {
				return fmt.Errorf("message %d: the result %q has no call", i, id)
			}
			waiting = slices.Delete(waiting, at, at+1)
			continue
		}
		if len(waiting) > 0 {
			return fmt.Errorf("message %d: no results for %q", i, waiting)
		}
		for _, c := range m.calls() {
			id, _ := c.text("id")
			if err := checkCall(c, n, seen, needs); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
			seen[id] = true
			n++
			if needs.Pairs {
				waiting = append(waiting, id)
			}
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("no results for %q", waiting)
	}
	return nil
}

func checkCall(c object, n int, seen map[string]bool, needs history.Needs) error {
	id, _ := c.text("id")
	if f := asObject(c["function"]); needs.Arguments && f != nil {
		text, ok := f.text("arguments")
		if !ok || !jsontext.Value(text).IsValid() || asObject(json.RawMessage(text)) == nil {
			return fmt.Errorf("call %d has the arguments %s", n, f["arguments"])
		}
	}
	if id == "" && (needs.Pairs || needs.IDs != history.AnyID) {
		return fmt.Errorf("call %d has no id", n)
	}
	word := func(s string, extra string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(extra, r)
		})
	}
	fits := true
	switch needs.IDs {
	case history.KimiID:
		if c.name() == "" {
			return nil
		}
		fits = id == fmt.Sprintf("functions.%s:%d", c.name(), n)
	case history.AnthropicID:
		fits = word(id, "_-") && len(id) <= 64
	case history.ShortID:
		fits = len(id) <= 40
	case history.MistralID:
		fits = word(id, "") && len(id) == 9
	}
	if !fits || needs.IDs > history.KimiID && seen[id] {
		return fmt.Errorf("call %d has the id %q", n, id)
	}
	return nil
}

// checkRepair says what is wrong with a repair of messages, which must be valid.
func checkRepair(messages []byte, needs history.Needs) error {
	edits, repairs, _ := history.Repair(conversation.Read(messages), needs, mend)
	from, total := 0, 0
	for _, e := range edits {
		if e.At.Start < from || e.At.End < e.At.Start || e.At.End > len(messages) {
			return fmt.Errorf("edit at %v, behind %d", e.At, from)
		}
		from = e.At.End
	}
	for _, n := range repairs {
		total += n
	}
	if (len(edits) == 0) != (total == 0) {
		return fmt.Errorf("%d edits for %v", len(edits), repairs)
	}
	out := apply(messages, edits)
	if again, _, _ := history.Repair(conversation.Read(out), needs, mend); len(again) > 0 {
		return fmt.Errorf("repaired again: %s", apply(out, again))
	}
	if !bytes.Contains(messages, []byte(`"tool`)) {
		return nil
	}
	if err := check(out, needs); err != nil {
		return fmt.Errorf("%w in %s", err, out)
	}
	return checkKept(split(messages), split(out), repairs)
}

// checkKept says which message is not there any more, or stands elsewhere. A result
// may be a message of the user.
func checkKept(before, after []json.RawMessage, repairs map[string]int) error {
	if want := len(before) + repairs[history.KindResult]; len(after) != want {
		return fmt.Errorf("got %d messages, want %d", len(after), want)
	}
	var results []string
	rest := after
	for i, raw := range before {
		m := asObject(raw)
		if m.isResult() {
			content, _ := m.text("content")
			results = append(results, content)
			continue
		}
		at := slices.IndexFunc(rest, func(r json.RawMessage) bool {
			return bytes.Equal(r, raw) || len(m.calls()) > 0 && len(asObject(r).calls()) == len(m.calls())
		})
		if at < 0 {
			return fmt.Errorf("message %d is lost: %s", i, raw)
		}
		rest = rest[at+1:]
	}
	for _, content := range results {
		at := slices.IndexFunc(after, func(r json.RawMessage) bool {
			got, _ := asObject(r).text("content")
			return strings.HasSuffix(got, content)
		})
		if at < 0 {
			return fmt.Errorf("the result %q is lost", content)
		}
	}
	return nil
}
