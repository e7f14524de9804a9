package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// CheckText says what the joined events of a region make of its text that they may not, or nil:
// text that the model did not write or that comes twice, a call of a tool that it did not name, a
// call that is cut off where nothing cut it, an argument that is there twice. The events are those
// that Check has nothing against.
func CheckText(events []sdk.Event, text string, reason sdk.Reason, tools []sdk.Tool) error {
	r := reading{text: text, reason: reason, tools: tools}
	for i, e := range events {
		if err := r.event(e); err != nil {
			return fmt.Errorf("event %d (%s): %w", i, e.Kind, err)
		}
	}
	return nil
}

// reading compares the events of a region with its text.
type reading struct {
	text   string
	reason sdk.Reason
	tools  []sdk.Tool
	said   strings.Builder // content and reasoning
	args   strings.Builder // of the open call
	mended bool            // it was
}

func (r *reading) event(e sdk.Event) error {
	switch e.Kind {
	case abi.Content, abi.Reasoning:
		r.said.WriteString(e.Text)
	case abi.CallStart:
		r.mended = false
		r.args.Reset()
		return r.name(e.Name)
	case abi.Args:
		r.args.WriteString(e.Text)
	case abi.Repair:
		r.mended = true
	case abi.CallEnd:
		return r.keys(r.args.String())
	case abi.Cut:
		if r.reason != sdk.Length {
			return errors.New("no token limit cut the output off, so the call's text is lost: give it back as malformed")
		}
	case abi.Malformed:
		return r.spoken(e.From)
	case abi.End:
		return r.spoken(e.To)
	}
	return nil
}

// escaped reports whether the text has escapes: what they stand for is not looked for.
func (r *reading) escaped() bool { return strings.Contains(r.text, `\`) }

// name looks for the tool of a call. Where nothing is offered nobody knows what it may be.
func (r *reading) name(name string) error {
	offered := func(t sdk.Tool) bool { return t.Name == name }
	if len(r.tools) == 0 || r.escaped() || within(name, r.text) || slices.ContainsFunc(r.tools, offered) {
		return nil
	}
	return fmt.Errorf("the tool %q is not in the text, nor offered", name)
}

// keys looks for one that is twice in the arguments of a call.
func (r *reading) keys(args string) error {
	key, twice := repeated(args)
	if !twice || r.mended || written(args, r.text) {
		return nil
	}
	return fmt.Errorf("the arguments have the key %q twice, which JSON parsers read differently: give such a call back as malformed", key)
}

// spoken says what is wrong with content and reasoning that come from the first bytes of the text,
// or nil.
func (r *reading) spoken(to int) error {
	said := r.said.String()
	if r.escaped() || within(said, r.text[:to]) {
		return nil
	}
	return fmt.Errorf("content and reasoning before it have text that is not in the %d bytes before it, or that comes twice: %.60q", to, said)
}

// within reports whether the bytes of s stand in text in their order, with others between them.
// White space does not count: texts are joined with it.
func within(s, text string) bool {
	for i := range len(s) {
		if chars.Space([]byte(s[i:i+1]), 0) > 0 {
			continue
		}
		at := strings.IndexByte(text, s[i])
		if at < 0 {
			return false
		}
		text = text[at+1:]
	}
	return true
}

// written reports whether the model itself wrote the arguments as this JSON, plain or within a
// string: then they pass as they are, and the gateway refuses them.
func written(args, text string) bool {
	quoted := quote(args)
	return strings.Contains(text, args) || strings.Contains(text, strings.Trim(quoted, `"`))
}

// repeated finds a key that the arguments have twice. What is in their values, which mostly pass as
// the model wrote them, is judged by the gateway.
func repeated(args string) (key string, found bool) {
	dec := json.NewDecoder(strings.NewReader(args))
	if _, err := dec.Token(); err != nil { // the brace
		return "", false
	}
	for keys := map[string]bool{}; dec.More(); keys[key] = true {
		tok, err := dec.Token()
		key, _ = tok.(string)
		if err != nil || keys[key] {
			return key, err == nil
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return "", false
		}
	}
	return "", false
}
