package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/callgate/callgate/internal/plainfile"
)

// maxTemplateFile is how large a file with a response template may be: the whole
// tokenizer_config.json of a model at most.
const maxTemplateFile = 4 << 20

// named says of a file that a configuration names, and that is not there, where it is looked for.
func named(file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %q, seen from where the gateway runs: correct the path, or leave it out", file)
	}
	return err
}

// readTemplate reads a model's response_template: from a file that is one, or from a
// tokenizer_config.json that holds it.
func readTemplate(file string) (string, error) {
	text, err := plainfile.Read(file, maxTemplateFile)
	if err != nil {
		return "", named(file, err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return "", fmt.Errorf("%s is not a JSON object: %w", file, err)
	}
	template, inside := members["response_template"]
	switch {
	case inside && len(template) > 0 && template[0] == '{':
		return string(template), nil
	case inside:
		return "", fmt.Errorf("%s: response_template is not an object", file)
	case members["fields"] == nil:
		return "", errors.New(file + " holds neither a response_template nor the fields of one")
	}
	return string(text), nil
}
