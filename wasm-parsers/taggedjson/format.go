// Package taggedjson reads tool calls that are JSON between two markers, such as
//
//	<tool_call>
//	{"name": "get_weather", "arguments": {"city": "Oslo"}}
//	</tool_call>
//
// The body is one object, an array of objects, or several objects with white space
// or a comma between them. Arguments stream as they are written; their last brace
// waits until the call is sure: until the end marker, or, in a format without one,
// until the JSON is complete.
package taggedjson

import (
	"slices"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// format is what tells one family member from another.
type format struct {
	forms []form // in the order in which they are tried
	keys  callobject.Keys
	// keyed means that a call is an object with one member, whose key is the
	// function's name and whose value is its arguments.
	keyed bool
	// lateID means that the id stands behind the arguments. Short arguments wait
	// for it, so that the call can begin with it.
	lateID bool
	// named means that the function's name stands in front of its arguments,
	// which are the body: get_weather{"city": "Oslo"}.
	named bool
	// oneLine means that each call is a line. Short arguments wait for its end.
	oneLine   bool
	separator string // between the name and the arguments
}

// form is one way of marking calls in a format. Where the opening of one begins
// that of another, the longer one is tried first.
type form struct {
	open  []string // the literals that begin a region, with white space between them
	close string   // ends it; if empty the region ends with its JSON
	after []string // literals that belong to the region if they follow its end
	body  body
	// atStart means that the region begins at the start of the output only.
	atStart bool
	// loose means that the markers are ordinary text too, so that only a call of
	// an offered tool that has arguments is one.
	loose bool
}

// body is what may stand between the markers.
type body uint8

const (
	anyBody    body = iota // objects, or an array of them
	listBody               // the same, and an empty array says that nothing is called
	arrayBody              // an array, also an empty one
	callsBody              // an array that is not empty
	objectBody             // objects
)

// maxSpace is how much white space may stand between the literals that open a
// region, and between its end and what follows that.
const maxSpace = 64

// begin looks for the opening of a form at the front of b. With Yes it gives the
// form and the opening's length, with No the place of the first byte that no form
// could read.
func (f *format) begin(b []byte) (*form, int, sdk.Verdict) {
	far := 0
	for i := range f.forms {
		n, verdict := f.forms[i].begin(b)
		switch verdict {
		case sdk.Yes:
			return &f.forms[i], n, sdk.Yes
		case sdk.Maybe:
			return nil, n, sdk.Maybe
		case sdk.No:
			far = max(far, n)
		}
	}
	return nil, far, sdk.No
}

func (f *form) begin(b []byte) (int, sdk.Verdict) {
	at := 0
	for i, literal := range f.open {
		for space := 0; i > 0 && at < len(b) && chars.IsSpace(b[at]); space++ {
			if space == maxSpace {
				return at, sdk.No
			}
			at++
		}
		for j := range len(literal) {
			switch {
			case at == len(b):
				return at, sdk.Maybe
			case b[at] != literal[j]:
				return at, sdk.No
			}
			at++
		}
	}
	return at, sdk.Yes
}

// canParse wants the opening of a form and then the first bracket of its body. An
// array must hold an object or nothing: other formats write Python there.
func (f *format) canParse(head []byte) sdk.Verdict {
	form, n, verdict := f.begin(head)
	if verdict != sdk.Yes {
		return verdict
	}
	rest := chars.SkipSpace(head[n:])
	if len(rest) == 0 {
		return sdk.Maybe
	}
	switch rest[0] {
	case '{':
		return yes(form.mayBeObject())
	case '[':
		if rest = chars.SkipSpace(rest[1:]); len(rest) == 0 && form.body != objectBody {
			return sdk.Maybe
		}
		return yes(len(rest) > 0 && (rest[0] == '{' && form.body != objectBody || rest[0] == ']' && form.mayBeEmpty()))
	}
	return sdk.No
}

func (f *form) mayBeObject() bool { return f.body != arrayBody && f.body != callsBody }

func (f *form) mayBeEmpty() bool { return f.body == listBody || f.body == arrayBody }

func yes(b bool) sdk.Verdict {
	if b {
		return sdk.Yes
	}
	return sdk.No
}

// spec makes a parser of a format. What begins its regions is taken from the forms,
// if p does not say it.
func spec(p abi.Parser, f format) sdk.Spec {
	if f.keys.Name == nil {
		f.keys = callobject.Hermes()
		f.keys.Args = append(f.keys.Args, "args") // which small models shorten the word to
	}
	if p.Triggers == nil {
		p.Triggers, p.Starts = f.literals(false), f.literals(true)
	}
	return region.Spec(p, f.canParse, func() sdk.Reusable { return &parser{format: &f} })
}

// literals are those that begin the forms that are read anywhere, or at the start.
func (f *format) literals(atStart bool) []string {
	var literals []string
	for i := range f.forms {
		if form := &f.forms[i]; form.atStart == atStart && !slices.Contains(literals, form.open[0]) {
			literals = append(literals, form.open[0])
		}
	}
	return literals
}
