// Package formats writes tool calls the way models do: one turn of a model, in each
// of the forms that the gateway reads. The demo provider answers with it, the
// benchmark measures with it, and tests read back what it wrote.
//
// The forms are those of the models' own chat templates.
package formats

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/callgate/callgate/gateway/wire"
)

// Turn is what a model wants to say in one answer.
type Turn struct {
	Reasoning, Content string
	Calls              []Call
}

// Call is a tool call. Its arguments keep their order.
type Call struct {
	ID   string // formats that have none leave it out
	Name string
	Args []Arg
}

// Arg is an argument, its value in JSON.
type Arg struct {
	Key   string
	Value json.RawMessage
}

// Format is a form in which models write.
type Format struct {
	Name   string // the parser that reads it
	Model  string // a model that writes so
	Start  string // how the prompt begins the reasoning, of which the model then writes only the end
	Single bool   // at most one call a turn
	IDs    bool   // calls carry their ids
	Silent bool   // no content beside calls
	Plain  bool   // no reasoning
	// Heuristic says that its text is ordinary text too, and counts only if the call
	// is of an offered tool and the answer is nothing else.
	Heuristic bool
	// Write writes the turn. It does not escape what the format cannot escape.
	Write func(Turn) string
}

// All returns the formats, in the order of the families that read them.
func All() []Format { return slices.Clone(known()) }

// known are the formats, which are made when they are first asked for.
var known = sync.OnceValue(func() []Format { //nolint:gochecknoglobals // a table
	all := append(taggedJSON(), headerJSON()...)
	all = append(all, xmlParams()...)
	all = append(all, keyValue()...)
	all = append(all, pythonic()...)
	all = append(all, braces()...)
	all = append(all, channels()...)
	return append(all, heuristic()...)
})

// Find returns the format of a name.
func Find(name string) (Format, bool) {
	for _, f := range known() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// object writes arguments as a JSON object.
func object(args []Arg) string {
	return join(args, "{", ", ", "}", func(a Arg) string { return quote(a.Key) + ": " + string(a.Value) })
}

// named writes a call as an object with a name and arguments.
func named(name, args string) func(Call) string {
	return func(c Call) string {
		return "{" + quote(name) + ": " + quote(c.Name) + ", " + quote(args) + ": " + object(c.Args) + "}"
	}
}

func join[T any](items []T, start, between, end string, write func(T) string) string {
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = write(item)
	}
	return start + strings.Join(parts, between) + end
}

// quote writes a JSON string that escapes only what JSON demands.
func quote(s string) string { return string(wire.AppendQuoted(nil, s)) }

// text is a string's own text, and any other value as JSON.
func text(v json.RawMessage) string {
	if s, ok := asString(v); ok {
		return s
	}
	return string(v)
}

func asString(v json.RawMessage) (string, bool) {
	var s string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return "", false
	}
	return s, true
}

// thinkStart is what most prompts begin the reasoning with.
const thinkStart = "<think>\n"

// think is the usual beginning of an answer with reasoning.
func think(t Turn) string {
	return wrap("<think>\n", t.Reasoning, "\n</think>\n\n") + t.Content
}

// opened is the same where the prompt has written <think>.
func opened(t Turn) string {
	return wrap("", t.Reasoning, "\n</think>\n\n") + t.Content
}

// calls writes what comes before, and then the calls if there are any.
func calls(before func(Turn) string, write func([]Call) string) func(Turn) string {
	return func(t Turn) string {
		if len(t.Calls) == 0 {
			return before(t)
		}
		return before(t) + write(t.Calls)
	}
}

// list writes what comes before, and then the calls, each by itself, between marks.
func list(before func(Turn) string, start, between, end string, write func(Call) string) func(Turn) string {
	return calls(before, func(c []Call) string { return join(c, start, between, end, write) })
}

// header writes the name of a call and its arguments as JSON, with marks around them.
func header(start, between, end string) func(Call) string {
	return func(c Call) string { return start + c.Name + between + object(c.Args) + end }
}

// params writes arguments one by one, the key and the value between marks.
func params(args []Arg, start, between, end string, value func(json.RawMessage) string) string {
	return join(args, "", "", "", func(a Arg) string { return start + a.Key + between + value(a.Value) + end })
}

// wrap is s between marks, or nothing.
func wrap(start, s, end string) string {
	if s == "" {
		return ""
	}
	return start + s + end
}

// onLine makes the calls begin a line of their own.
func onLine(before func(Turn) string) func(Turn) string {
	return func(t Turn) string {
		if len(t.Calls) == 0 {
			return before(t)
		}
		return wrap("", before(t), "\n")
	}
}
