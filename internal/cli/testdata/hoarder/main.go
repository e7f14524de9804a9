// Command hoarder is a plugin for tests. Its parser gives back all that it was ever fed,
// so that what one response leaves behind in an instance shows in the next.
package main

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

func init() {
	sdk.Module("hoarder", "1.0.0")
	sdk.Register(sdk.Spec{
		Parser: abi.Parser{Name: "hoarder", Priority: 50, Triggers: []string{"<hoard>"}},
		New:    func(sdk.Options) (sdk.Parser, error) { return parser{}, nil },
	})
}

func main() {}

var hoard []byte

type parser struct{}

// Feed implements sdk.Parser.
func (parser) Feed(text []byte, out *sdk.Out) {
	if hoard = append(hoard, text...); len(hoard) > 4096 {
		hoard = hoard[len(hoard)-4096:]
	}
	out.Content(hoard)
}

// Finish implements sdk.Parser.
func (parser) Finish(sdk.Reason, *sdk.Out) {}
