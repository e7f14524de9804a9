package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	var said strings.Builder // content and reasoning
	var call sdk.Event
	var args strings.Builder
	mended := false
	for i, e := range events {
		var err error
		switch e.Kind {
		case abi.Content, abi.Reasoning:
			said.WriteString(e.Text)
		case abi.CallStart:
			call, mended = e, false
			args.Reset()
			// Where nothing is offered, nobody knows what it may be; one that is escaped is not looked for.
			offered := func(t sdk.Tool) bool { return t.Name == call.Name }
			if len(tools) > 0 && !strings.Contains(text, `\`) && !within(call.Name, text) && !slices.ContainsFunc(tools, offered) {
				err = fmt.Errorf("the tool %q is not in the text, nor offered", call.Name)
			}
		case abi.Args:
			args.WriteString(e.Text)
		case abi.Repair:
			mended = true
		case abi.CallEnd:
			if key, twice := repeated(args.String()); twice && !mended && !written(args.String(), text) {
				err = fmt.Errorf("the arguments have the key %q twice, which JSON parsers read differently: give such a call back as malformed", key)
			}
		case abi.Cut:
			if reason != sdk.Length {
				err = errors.New("no token limit cut the output off, so the call's text is lost: give it back as malformed")
			}
		case abi.Malformed:
			err = spoken(said.String(), text[:e.From])
		case abi.End:
			err = spoken(said.String(), text[:e.To])
		}
		if err != nil {
			return fmt.Errorf("event %d (%s): %w", i, e.Kind, err)
		}
	}
	return nil
}

// spoken says what is wrong with content and reasoning that come from a text, or nil.
func spoken(said, text string) error {
	if within(said, text) {
		return nil
	}
	return fmt.Errorf("content and reasoning before it have text that is not in the %d bytes before it, or that comes twice: %.60q", len(text), said)
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

// repeated finds a key that an object of a JSON text has twice.
func repeated(text string) (key string, found bool) {
	type level struct {
		keys  map[string]bool // nil in an array
		value bool            // a key was read, its value comes
	}
	var levels []level
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return "", false
		}
		if n := len(levels) - 1; n >= 0 && levels[n].keys != nil && tok != json.Delim('}') {
			if l := &levels[n]; l.value {
				l.value = false
			} else {
				name, _ := tok.(string) // a key is one
				if l.keys[name] {
					return name, true
				}
				l.keys[name], l.value = true, true
			}
		}
		switch tok {
		case json.Delim('{'):
			levels = append(levels, level{keys: map[string]bool{}})
		case json.Delim('['):
			levels = append(levels, level{})
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:len(levels)-1]
		}
	}
}
