package config

import (
	"errors"
	"fmt"
	"strings"
)

// maxExpansion bounds all that the variables of one file expand to.
const maxExpansion = 1 << 20

// expander replaces variables in the values of a file.
type expander struct {
	env  func(string) (string, bool)
	left int
}

func newExpander(env func(string) (string, bool)) *expander {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	return &expander{env: env, left: maxExpansion}
}

// expand replaces ${NAME} and ${NAME:-default} in text; $${ stands for ${. It
// works on a value that the YAML parser has read already, so that a variable's
// quotes and newlines are text and nothing else. The errors hold no values.
func (e *expander) expand(text string) (out string, expanded bool, err error) {
	var b strings.Builder
	rest := text
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			b.WriteString(rest)
			return b.String(), expanded, nil
		}
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			b.WriteString(literal + "${")
			rest = after
			continue
		}
		b.WriteString(before)
		inner, tail, closed := strings.Cut(after, "}")
		if !closed {
			return "", false, errors.New(`${ without }; write ${NAME}, or $${ for the two characters "${"`)
		}
		value, err := e.lookup(inner)
		if err != nil {
			return "", false, err
		}
		b.WriteString(value)
		rest, expanded = tail, true
	}
}

// lookup returns the value for what stands between the braces.
func (e *expander) lookup(inner string) (string, error) {
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	if !isVariable(name) {
		return "", errors.New(`${ } without the name of a variable in it; write ${NAME} or ${NAME:-default}, or $${ for the two characters "${"`)
	}
	if strings.Contains(fallback, "${") { // it would end at the first brace, and the second would be text
		return "", fmt.Errorf("the default of ${%s:-…} has a variable in it, and none is expanded there; write the default itself", name)
	}
	value, ok := e.env(name)
	if value == "" && hasFallback {
		value, ok = fallback, true
	}
	if !ok {
		return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	if e.left -= len(value); e.left < 0 {
		return "", errors.New("the variables of the file expand to more than 1MiB")
	}
	return value, nil
}

func isVariable(name string) bool {
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return name != "" && (name[0] < '0' || name[0] > '9')
}
