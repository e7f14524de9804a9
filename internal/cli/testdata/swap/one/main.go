// The parser "swap", in its version one.
package main

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/taggedjson"
)

func init() {
	sdk.Register(taggedjson.New("swap", 60, "<one>", "</one>"))
}

func main() {}
