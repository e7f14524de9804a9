// Package template reads a model's output with the model's own response_template,
// which Hugging Face's transformers (5.13 and later) keeps in
// tokenizer_config.json. The operator gives it as JSON text.
//
// A template names fields. Each is a region of the output between an opening and
// a closing marker, which are literals or regular expressions, and says how to
// read what lies between; one field without an opening marker takes the text that
// is left over. The rules are those of transformers.utils.chat_parsing, but that
// nothing is an error once the template is accepted: what cannot be read is
// content, as the model wrote it.
//
// A stranger writes the template, so the time is bounded whatever template and
// text are. All expressions run on Pike machines, which follow every way to match
// at once: a character costs at most one step for each instruction. What a marker
// has read in vain is read again at most rescanTimes the text. So a text of n bytes
// takes O(n × p) steps, where p is the size of the compiled patterns that are
// looked for at the same time, and p has a limit too.
package template

import (
	"errors"
	"strings"
	"sync"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

// settingTemplate is the only setting.
const settingTemplate = "template"

// Specs are the parsers of this package.
func Specs() []sdk.Spec { return []sdk.Spec{ResponseTemplate()} }

// ResponseTemplate reads outputs with the template in the setting template.
func ResponseTemplate() sdk.Spec {
	last := &cache{}
	return sdk.Spec{
		Parser: abi.Parser{
			Name: "response_template", Priority: 60, Framing: true, Starts: []string{""},
			Formats: []string{"what the response_template in the setting template describes"},
		},
		New: func(o sdk.Options) (sdk.Parser, error) {
			source, err := readSettings(o.Settings)
			if err != nil {
				return nil, err
			}
			t, err := last.load(source)
			if err != nil {
				return nil, err
			}
			return newParser(t, o), nil
		},
	}
}

func readSettings(settings []abi.Setting) (string, error) {
	source := ""
	for _, s := range settings {
		if s.Key != settingTemplate {
			return "", refuse("setting "+s.Key, s.Value, "remove it; the only setting is template")
		}
		source = s.Value
	}
	if source == "" {
		return "", refuse("setting template", "", "give the response_template of the model's tokenizer_config.json as JSON")
	}
	return source, nil
}

// cache keeps the last template, since all replies of a model have the same one.
type cache struct {
	mu     sync.Mutex
	source string
	t      *template
	err    error
}

func (c *cache) load(source string) (*template, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.source != source {
		c.t, c.err = load(source)
		c.source = source
	}
	return c.t, c.err
}

// maxShown is how many bytes of a value an error shows.
const maxShown = 80

// refuse is an error that names a key, its value and what to do.
func refuse(where, value, fix string) error {
	if len(value) > maxShown {
		value = strings.ToValidUTF8(value[:maxShown], "") + "…"
	}
	return errors.New(where + " = " + relaxed.Quote(value) + ": " + fix)
}
