// Package fallback is the parser that reads everything as the answer's text. It
// takes what no other parser wants.
package fallback

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Fallback has no triggers: the gateway gives it text itself.
func Fallback() sdk.Spec {
	return sdk.Spec{
		Parser: abi.Parser{Name: "fallback", Priority: 1, Formats: []string{"plain text"}, Streams: true},
		New:    func(sdk.Options) (sdk.Parser, error) { return &parser{}, nil },
	}
}

// parser counts what it was fed.
type parser struct{ pos int }

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	out.Content(text)
	p.pos += len(text)
}

// Finish implements sdk.Parser.
func (p *parser) Finish(_ sdk.Reason, out *sdk.Out) { out.End(p.pos) }
