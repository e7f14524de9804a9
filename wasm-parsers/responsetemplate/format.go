// Package responsetemplate reads a model's output with the model's own
// response_template, which Hugging Face's transformers (5.13 and later) keeps in
// tokenizer_config.json. The operator gives it as JSON text in the setting
// template.
//
// A template names fields. Each is a region of the output between an opening and
// a closing marker, which are literals or regular expressions, and says how to
// read what lies between; one field without markers takes the text that is left
// over. Where the format does not say, this package decides:
//
//   - a field with a closing marker only begins with the output
//   - a field with an opening marker only ends with its JSON if it is read as a
//     whole and its content is json, else where the next region begins
//   - of the markers that begin at the same place that of the earlier field counts,
//     but a marker that begins another goes behind it
//   - a closing marker inside a JSON string is text, if the JSON can be read so
//   - fields other than thinking, reasoning, reasoning_content, tool_calls and role
//     are content; what cannot be read is content, as the model wrote it
//   - transform_each is for the items of a list, transform for the value of each
//     region; of the same names a group goes before {content}, that before a key
//   - repeats, optional and start_anchor change nothing for a gateway, which sees
//     no prompt and loses no text
//
// A stranger writes the template, so the time is linear whatever it says: the
// expressions run on a Pike machine that reads the output once, in the pieces
// that it comes in, and what has no linear-time match (lookaround, references)
// is refused with what to write instead.
package responsetemplate

import (
	"errors"
	"sync"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

const settingTemplate = "template"

// Specs are the parsers of this package.
func Specs() []sdk.Spec { return []sdk.Spec{ResponseTemplate()} }

// ResponseTemplate reads outputs with the template in its setting.
func ResponseTemplate() sdk.Spec {
	compiled := &cache{}
	return sdk.Spec{
		Parser: abi.Parser{
			Name: "response_template", Priority: 60, Framing: true, Starts: []string{""},
			Formats: []string{"what the response_template in the setting template describes"},
		},
		New: func(o sdk.Options) (sdk.Parser, error) {
			text, err := readSettings(o.Settings)
			if err != nil {
				return nil, err
			}
			t, err := compiled.compile(text)
			if err != nil {
				return nil, err
			}
			return newParser(t, o.MaxDepth), nil
		},
	}
}

func readSettings(settings []abi.Setting) (string, error) {
	value := ""
	for _, s := range settings {
		if s.Key != settingTemplate {
			return "", refuse("setting "+s.Key, s.Value, "remove it; the only key is template")
		}
		value = s.Value
	}
	if value == "" {
		return "", refuse("setting template", "", "give the response_template of the model's tokenizer_config.json as JSON")
	}
	return value, nil
}

// cache keeps the last template, as all replies have the same one.
type cache struct {
	mu   sync.Mutex
	text string
	t    *template
	err  error
}

func (c *cache) compile(text string) (*template, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text != text {
		c.t, c.err = compile(text)
		c.text = text
	}
	return c.t, c.err
}

// maxShown is how much of a value an error shows.
const maxShown = 80

func refuse(where, value, fix string) error {
	if len(value) > maxShown {
		value = value[:maxShown] + "…"
	}
	return errors.New(where + " = " + quote(value) + ": " + fix)
}

func quote(s string) string { return string(relaxed.AppendString(nil, []byte(s))) }
