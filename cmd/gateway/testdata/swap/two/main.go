// The parser "swap", in its version two.
package main

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
)

func init() {
	sdk.Module("swap", "1.0.0")
	sdk.Register(taggedjson.New("swap", 60, "<two>", "</two>"))
}

func main() {}
