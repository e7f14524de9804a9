// The parser "swap", in its version two.
package main

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
)

func init() {
	sdk.Register(taggedjson.New("swap", 60, "<two>", "</two>"))
}

func main() {}
