package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// decode reads JSON with the digits of its numbers as they are: 1.0 is not 1.
func decode(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is something behind the value")
	}
	return v, nil
}

// decodeObject is decode for an object.
func decodeObject(b []byte) (map[string]any, error) {
	v, err := decode(b)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not an object: %.80s", b)
	}
	return o, nil
}

// without takes members out of an object, those that every server chooses itself.
func without(v any, keys ...string) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	o = maps.Clone(o)
	for _, k := range keys {
		delete(o, k)
	}
	return o
}

// finding is a place where two JSON values differ.
type finding struct {
	kind kind
	text string
}

// kind says how they differ.
type kind int

const (
	isChanged kind = iota // another value, or none
	isSpelled             // the same number in other digits, or nothing in place of null
	isAdded               // a member that is not wanted
)

// differ says where two JSON values differ, at most once for each member.
func differ(at string, want, got any) []finding {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		return differObjects(at, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			break
		}
		var out []finding
		for i := range w {
			out = append(out, differ(fmt.Sprintf("%s[%d]", at, i), w[i], g[i])...)
		}
		return out
	case json.Number:
		g, ok := got.(json.Number)
		switch {
		case !ok:
		case w == g:
			return nil
		case sameNumber(string(w), string(g)):
			return []finding{{isSpelled, fmt.Sprintf("%s: got %s, want %s", at, g, w)}}
		}
	default:
		if want == got {
			return nil
		}
	}
	return []finding{{isChanged, fmt.Sprintf("%s: got %s, want %s", at, show(got), show(want))}}
}

func differObjects(at string, want, got map[string]any) []finding {
	var out []finding
	for _, k := range slices.Sorted(maps.Keys(want)) {
		v, ok := got[k]
		if !ok && want[k] == nil {
			out = append(out, finding{isSpelled, fmt.Sprintf("%s.%s: is missing, want null", at, k)})
			continue
		}
		if !ok {
			out = append(out, finding{isChanged, fmt.Sprintf("%s.%s: is missing, want %s", at, k, show(want[k]))})
			continue
		}
		out = append(out, differ(at+"."+k, want[k], v)...)
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			out = append(out, finding{isAdded, fmt.Sprintf("%s.%s: got %s, want no such member", at, k, show(got[k]))})
		}
	}
	return out
}

// sameNumber reports whether two numbers of JSON are the same value: 1.0 is 1, and 1e2 is 100.
func sameNumber(a, b string) bool {
	x, y := plainNumber(a), plainNumber(b)
	return x == y
}

// number is a number as its digits without zeros at either end, and the power of ten of the
// last one.
type number struct {
	minus  bool
	digits string
	power  int
}

func plainNumber(text string) (n number) {
	text, n.minus = strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	n.power, _ = strconv.Atoi(strings.TrimPrefix(exponent, "+")) // nobody writes one that is too long, and means it
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n.power -= len(fraction)
	n.digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(n.digits, "0")
	n.power += len(n.digits) - len(short)
	if n.digits = short; short == "" {
		return number{}
	}
	return n
}

// show is a value as JSON, cut to a length that a message can carry.
func show(v any) string {
	const limit = 300
	s := encode(v, "")
	if len(s) > limit {
		return fmt.Sprintf("%s… (%d bytes)", s[:limit], len(s))
	}
	return s
}

// quote is s as a JSON string with <, > and & as they are.
func quote(s string) string { return encode(s, "") }

// encode is a value that JSON has made, or a type of this package's, as JSON with <, > and &
// as they are; on several lines if there is an indent.
func encode(v any, indent string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return quote(err.Error())
	}
	return strings.TrimSpace(b.String())
}

// lines are the lines of a file that are not blank, without the space around them.
func lines(b []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}

// sortedKeys are the keys of a map, in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
