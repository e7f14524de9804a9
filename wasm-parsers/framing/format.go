// Package framing reads formats whose markup frames the whole output: every piece
// of it, reasoning, answer or call, is a message of its own, such as
//
//	<|channel|>analysis<|message|>Need the weather.<|end|><|start|>assistant
//	<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>
//
// One engine reads them all. A format is a table of markers, which says where each
// of them is markup and what it begins, and, for the formats that need it, how a
// header is read and how a call is written. A region goes on to the end of the output.
package framing

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// place is where a marker stands. A marker that is no markup where it stands is text.
type place uint8

const (
	between  place = 1 << iota // outside of the messages
	inHeader                   // in the header of a message
	inText                     // in the text of a message
	inCall                     // outside of the values of a message that calls
	inBad                      // in a message whose call turned out to be none; no marker is only there

	anywhere = between | inHeader | inText | inCall
)

// action is what a marker does.
type action uint8

const (
	skips    action = iota // ends what came before it, and no more
	heads                  // begins a header
	endsHead               // ends a header, which says what follows
	answers                // text of the answer follows
	thinks                 // text of the reasoning follows
	calls                  // calls follow
	nests                  // begins a body that another parser reads
)

// marker is a literal of a format.
type marker struct {
	text string
	does action
	in   place // where it is markup
}

// body is how a format writes a call.
type body uint8

const (
	argsJSON  body = iota // an object of arguments, the header names the function
	callsJSON             // an object that holds name and arguments, or a list of them
	nested                // another parser's, which begins with the marker that nests
)

// kind is what a message holds.
type kind uint8

const (
	isContent kind = iota
	isReasoning
	isCall
)

// message is what a header says.
type message struct {
	kind     kind
	name, id string // of a call
	broken   bool   // it calls, and what it calls cannot be read
}

// format is what tells one member of the family from another. Of the markers that
// stand in one place none begins another.
type format struct {
	markers  []marker
	read     func(header []byte) message // header begins with its marker, if that is not missing
	braced   bool                        // the brace of the arguments ends a header that calls
	headText bool                        // a header that is not ended is text
	said     func(header []byte) []byte  // the text in one that is not ended, if some may be there
	bareHead bool                        // a region that begins with no marker begins with a header
	inline   *marker                     // begins a header in text too, whose message has no end: to=NAME<|message|>
	body     body
	keys     callobject.Keys                       // of callsJSON
	nested   func(sdk.Options) (sdk.Parser, error) // of nested, a sdk.Reusable
}

// Specs are the parsers of the family.
func Specs() []sdk.Spec {
	return []sdk.Spec{Harmony(), Cohere(), KimiK3(), Muse(), Inkling(), SolarOpen()}
}

func spec(p abi.Parser, f *format, canParse func([]byte) sdk.Verdict) sdk.Spec {
	p.Framing = true
	return region.Spec(p, canParse, func() sdk.Reusable { return &parser{format: f} })
}

// marker tells which marker of the place b begins with, if it does.
func (f *format) marker(b []byte, where place) (*marker, sdk.Verdict) {
	verdict := sdk.No
	for i := range f.markers {
		m := &f.markers[i]
		if m.in&where == 0 || len(b) > 1 && m.text[1] != b[1] {
			continue
		}
		switch markup.Match(b, m.text) {
		case sdk.Yes:
			return m, sdk.Yes
		case sdk.Maybe:
			verdict = sdk.Maybe
		}
	}
	return nil, verdict
}

// word is the front of b up to white space or markup.
func word(b []byte) []byte {
	for i, c := range b {
		if c == '<' || chars.IsSpace(c) {
			return b[:i]
		}
	}
	return b
}

// validName tells whether a name that stands in the text, not in a string, may be
// a function's.
func validName(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c == '<' || c == '>' || c == 0x7f {
			return false
		}
	}
	return chars.HasWord(name) && len(name) <= callobject.MaxName
}
