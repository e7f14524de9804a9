package httptool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// template is an address with places for arguments.
type template struct {
	base  *url.URL // with neither path nor query
	path  []piece
	query []parameter
}

// piece is text as it is written, or the name of an argument.
type piece struct {
	text     string
	argument bool
}

// parameter is a part of the query.
type parameter struct {
	name  string // as it is written
	value []piece
}

// parse reads an address. The scheme and the host have no places: what a model writes must not
// choose them.
func parse(text string) (template, error) {
	var t template
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return t, errors.New("it must begin with http:// or https://")
	}
	end := strings.IndexAny(rest, "/?#")
	host := rest
	if end >= 0 {
		host, rest = rest[:end], rest[end:]
	} else {
		rest = ""
	}
	base, err := url.Parse(scheme + "://" + host)
	switch {
	case strings.ContainsAny(host, "{}"):
		return t, errors.New("the host cannot have a place for an argument")
	case err != nil || base.Host == "" || base.Hostname() == "":
		return t, errors.New("its host cannot be read")
	case base.User != nil:
		return t, errors.New("it has a user or a password; use headers instead")
	case strings.Contains(rest, "#"):
		return t, errors.New("it has a fragment, which is never sent")
	}
	t.base = base
	path, query, _ := strings.Cut(rest, "?")
	if t.path, err = pieces(path); err != nil {
		return t, err
	}
	if t.query, err = parameters(query); err != nil {
		return t, err
	}
	if _, err := url.Parse(t.sample()); err != nil {
		return t, errors.New("it cannot be read")
	}
	return t, nil
}

func parameters(query string) (out []parameter, err error) {
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		if strings.ContainsAny(name, "{}") {
			return nil, errors.New("the name of a query parameter cannot be an argument; write name={argument}")
		}
		p := parameter{name: name}
		if p.value, err = pieces(value); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func pieces(text string) ([]piece, error) {
	var out []piece
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		if before != "" {
			if strings.Contains(before, "}") {
				return nil, errors.New("it has a } without a {")
			}
			out = append(out, piece{text: before})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || name == "" || strings.Contains(name, "{") {
			return nil, errors.New("a place for an argument is written {name}")
		}
		out = append(out, piece{name, true})
		text = after
	}
	return out, nil
}

func (t template) sample() string {
	var b strings.Builder
	b.WriteString(t.base.String())
	for _, p := range t.path {
		if p.argument {
			p.text = "x"
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// names are the arguments that have a place.
func (t template) names() []string {
	var out []string
	add := func(list []piece) {
		for _, p := range list {
			if p.argument {
				out = append(out, p.text)
			}
		}
	}
	add(t.path)
	for _, q := range t.query {
		add(q.value)
	}
	return out
}

// fill writes arguments into their places, and gives back those that have none.
func (t template) fill(args map[string]json.RawMessage) (address string, rest map[string]json.RawMessage, err error) {
	rest = maps.Clone(args)
	path, err := t.fillPath(args, rest)
	if err != nil {
		return "", nil, err
	}
	var query []string
	for _, q := range t.query {
		part, err := q.fill(args, rest)
		if err != nil {
			return "", nil, err
		}
		query = append(query, part...)
	}
	address = t.base.String() + path
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != t.base.Scheme || u.Host != t.base.Host || u.User != nil {
		return "", nil, errors.New("an argument would lead to another host")
	}
	return address, rest, nil
}

// fillPath fills in the path. A part of it that means another place, such as .., is refused:
// whether it is escaped is a question that servers answer in different ways.
func (t template) fillPath(args, rest map[string]json.RawMessage) (string, error) {
	var path strings.Builder
	for _, p := range t.path {
		if !p.argument {
			path.WriteString(p.text)
			continue
		}
		value, err := scalar(p.text, args[p.text])
		if err != nil {
			return "", err
		}
		path.WriteString(url.PathEscape(value))
		delete(rest, p.text)
	}
	for segment := range strings.SplitSeq(path.String(), "/") {
		plain, err := url.PathUnescape(segment)
		parts := strings.FieldsFunc(plain, func(r rune) bool { return r == '/' || r == '\\' })
		if err != nil || plain == "." || slices.Contains(parts, "..") {
			return "", errors.New("an argument would lead to another path")
		}
	}
	return path.String(), nil
}

// fill gives a part of the query: none if its argument is not given, and one for each element
// if the argument is a list and all of the value.
func (q parameter) fill(args, rest map[string]json.RawMessage) ([]string, error) {
	if len(q.value) == 1 && q.value[0].argument {
		name := q.value[0].text
		delete(rest, name)
		var elements []json.RawMessage
		if raw := args[name]; len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &elements) == nil {
			var out []string
			for _, e := range elements {
				value, err := scalar(name, e)
				if err != nil {
					return nil, err
				}
				out = append(out, q.name+"="+url.QueryEscape(value))
			}
			return out, nil
		}
	}
	var b strings.Builder
	for _, p := range q.value {
		if !p.argument {
			b.WriteString(p.text)
			continue
		}
		raw, given := args[p.text]
		delete(rest, p.text)
		if !given || string(raw) == "null" {
			return nil, nil
		}
		value, err := scalar(p.text, raw)
		if err != nil {
			return nil, err
		}
		b.WriteString(url.QueryEscape(value))
	}
	return []string{q.name + "=" + b.String()}, nil
}

// scalar is an argument as text. An empty one would change the path's meaning.
func scalar(name string, raw json.RawMessage) (string, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return "", fmt.Errorf("the argument %s is missing", name)
	case raw[0] == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", err
		}
		if text == "" {
			return "", fmt.Errorf("the argument %s is empty", name)
		}
		return text, nil
	case raw[0] == '{' || raw[0] == '[':
		return "", fmt.Errorf("the argument %s must be text, a number or a boolean", name)
	}
	return string(raw), nil
}

// members are the arguments by name.
func members(arguments json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if len(arguments) == 0 {
		return out, nil
	}
	if !jsontext.Value(arguments).IsValid() || json.Unmarshal(arguments, &out) != nil || out == nil {
		return nil, errors.New("they are not a JSON object")
	}
	return out, nil
}

// object is a JSON object of members, in the order of their names.
func object(of map[string]json.RawMessage) string {
	text, _ := json.Marshal(of) // RawMessages that were read a moment ago
	return string(text)
}

func formOf(of map[string]json.RawMessage) (string, error) {
	form := url.Values{}
	for name, raw := range of {
		var elements []json.RawMessage
		if raw[0] != '[' || json.Unmarshal(raw, &elements) != nil {
			elements = []json.RawMessage{raw}
		}
		for _, e := range elements {
			value, err := scalar(name, e)
			if string(e) == `""` {
				value, err = "", nil
			}
			if err != nil {
				return "", err
			}
			form.Add(name, value)
		}
	}
	return form.Encode(), nil
}

func names(of map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(of)) }

// pointer reads a JSON pointer (RFC 6901) into its steps.
func pointer(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	if text[0] != '/' {
		return nil, errors.New("a JSON pointer begins with /, such as /data/0")
	}
	steps := strings.Split(text[1:], "/")
	for i, s := range steps {
		if plain := strings.ReplaceAll(strings.ReplaceAll(s, "~0", ""), "~1", ""); strings.Contains(plain, "~") {
			return nil, errors.New("in a JSON pointer ~ is written ~0 and / is written ~1")
		}
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return steps, nil
}
