package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"github.com/callgate/callgate/sdk/abi"
)

// Limits of a manifest.
const (
	maxManifest = 256 << 10
	maxParsers  = 128
	maxEntries  = 64  // of a list of a parser
	maxString   = 256 // bytes of a name, version, format, example or glob
	maxLiteral  = 64  // bytes of a trigger or start
)

var validName = regexp.MustCompile(`^[a-z0-9_.-]+$`)

// parseManifest reads a manifest strictly.
func parseManifest(b []byte) (abi.Manifest, error) {
	var m abi.Manifest
	if len(b) > maxManifest {
		return m, fmt.Errorf("%d bytes, at most %d are allowed", len(b), maxManifest)
	}
	if !utf8.Valid(b) { // the decoder would replace what is not
		return m, errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return m, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return m, errors.New("more after the JSON object")
	}
	return m, checkManifest(&m)
}

func checkManifest(m *abi.Manifest) error {
	if m.ABI != abi.Version {
		return fmt.Errorf("abi is %d, want %d", m.ABI, abi.Version)
	}
	if err := checkName("name", m.Name); err != nil {
		return err
	}
	if err := checkText("version", m.Version); err != nil {
		return err
	}
	if n := len(m.Parsers); n < 1 || n > maxParsers {
		return fmt.Errorf("%d parsers, want 1 to %d", n, maxParsers)
	}
	seen := map[string]bool{}
	for i := range m.Parsers {
		p := &m.Parsers[i]
		if err := checkParser(p); err != nil {
			return fmt.Errorf("parser %d (%q): %w", i, p.Name, err)
		}
		if seen[p.Name] {
			return fmt.Errorf("parser %d: name %q is used twice", i, p.Name)
		}
		seen[p.Name] = true // an alias may stand for several parsers
	}
	return nil
}

func checkParser(p *abi.Parser) error {
	errs := []error{checkName("name", p.Name), checkText("version", p.Version)}
	if p.Priority < 1 || p.Priority > 100 {
		errs = append(errs, fmt.Errorf("priority is %d, want 1 to 100", p.Priority))
	}
	for _, list := range []struct {
		name   string
		values []string
		check  func(what, s string) error
	}{
		{"aliases", p.Aliases, checkName},
		{"formats", p.Formats, checkText},
		{"example", []string{p.Example}, checkExample},
		{"models", p.Models, checkText},
		// One byte would make a region of half of all texts.
		{"triggers", p.Triggers, checkLiteral(2)},
		{"starts", p.Starts, checkLiteral(0)},
	} {
		if n := len(list.values); n > maxEntries {
			errs = append(errs, fmt.Errorf("%d %s, at most %d are allowed", n, list.name, maxEntries))
		}
		for _, s := range list.values {
			errs = append(errs, list.check(list.name, s))
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkName(what, s string) error {
	if len(s) > maxString || !validName.MatchString(s) {
		return fmt.Errorf("%s: %.60q is not 1 to %d of a-z, 0-9, _, . and -", what, s, maxString)
	}
	return nil
}

func checkText(what, s string) error {
	if len(s) < 1 || len(s) > maxString {
		return fmt.Errorf("%s: %.60q is not 1 to %d bytes", what, s, maxString)
	}
	return nil
}

func checkExample(what, s string) error {
	if s == "" {
		return nil
	}
	return checkText(what, s)
}

func checkLiteral(shortest int) func(what, s string) error {
	return func(what, s string) error {
		if len(s) < shortest || len(s) > maxLiteral {
			return fmt.Errorf("%s: %.60q is not %d to %d bytes", what, s, shortest, maxLiteral)
		}
		return nil
	}
}
